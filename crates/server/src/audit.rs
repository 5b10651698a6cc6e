//! The audit log: every call that changes something, or tries to, writes a row.

use axum::extract::State;
use axum::response::Response;
use axum::{Extension, Json};
use engine::AuditRow;
use tokio::time::timeout;
use tracing::error;

use crate::app_state::{AppState, Shared};
use crate::http::Failure;
use crate::paging::{cursor_after, parse_cursor};
use crate::query::Query;
use crate::wire::{self, ToWire};

const LIMIT_DEFAULT: u16 = 100;
const LIMIT_MAX: u16 = 1000;
const TARGET_CHARS_MAX: usize = 200;

/// A call that changes something, as far as it is known before it is made.
pub struct AuditEntry {
    pub who: String,
    pub action: &'static str,
    pub path: String,
    pub request: String,
}

/// What a change was about. Handlers put it into their answer, for the audit log alone.
#[derive(Debug, Clone)]
pub struct AuditTarget(String);

/// Names what was changed.
pub fn about(target: &impl ToString) -> Extension<AuditTarget> {
    Extension(AuditTarget(target.to_string()))
}

impl AuditEntry {
    /// The row for how it ended.
    pub fn ended(self, app: &AppState, response: &Response, code: Option<String>) -> AuditRow {
        let status = response.status().as_u16();
        let result = code.map_or_else(|| status.to_string(), |code| format!("{status} {code}"));
        let target =
            response.extensions().get::<AuditTarget>().map_or(self.path.as_str(), |target| &target.0);
        let target = readable(target);
        let action = self.action.to_owned();
        AuditRow { at: app.engine.now(), who: self.who, action, target, result, request: self.request }
    }
}

/// Writes the row. The answer stands even if that fails: what happened has happened, and the log says so.
pub async fn write(app: &AppState, row: impl Into<Option<AuditRow>>) {
    let Some(row) = row.into() else { return };
    match timeout(app.settings.request_timeout, app.access.audit(&row)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => error!(%error, ?row, "writing the audit log failed"),
        Err(_) => error!(?row, "writing the audit log timed out"),
    }
}

/// Whatever a client put into a path, the log stays readable and the database accepts it.
fn readable(target: &str) -> String {
    target.chars().take(TARGET_CHARS_MAX).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Who changed what.
///
/// Newest first. Refused calls are listed too; calls without a valid token are only in the log.
#[utoipa::path(
    get, path = "/audit", tag = "access", operation_id = "audit",
    params(
        ("limit" = Option<u16>, Query, minimum = 1, maximum = 1000, description = "100 without it."),
        ("cursor" = Option<String>, Query, description = "The `next` of the page before."),
    ),
    responses((status = OK, body = wire::AuditLog, description = "A page of rows."))
)]
pub async fn audit_log(State(app): State<Shared>, mut query: Query) -> Result<Json<wire::AuditLog>, Failure> {
    let limit = query.number("limit", 1..=LIMIT_MAX)?.unwrap_or(LIMIT_DEFAULT);
    let below = query.text("cursor")?.as_deref().map(parse_cursor::<i64>).transpose()?;
    query.finish()?;
    let rows = app.access.audit_page(below, usize::from(limit)).await?;
    let is_full = rows.len() == usize::from(limit);
    let next = rows.last().filter(|_| is_full).map(|(number, _)| cursor_after(*number));
    let items = rows.into_iter().map(|(_, row)| row.to_wire()).collect();
    Ok(Json(wire::AuditLog { items, next }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_short_and_has_no_control_characters() {
        assert_eq!(readable("a\0b\nc"), "a\u{fffd}b\u{fffd}c");
        assert_eq!(readable(&"ä".repeat(500)).chars().count(), TARGET_CHARS_MAX);
    }
}
