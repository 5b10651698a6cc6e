//! The time of the external systems: the wall clock, and how far an operator turned it ahead.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::answer::{CallError, JsonBody};

/// Ten years; more makes no sense and could leave the range of dates.
const AHEAD_MS_MAX: u64 = 10 * 366 * 24 * 3600 * 1000;

/// An external system has a clock of its own, as it would have in production.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    ahead_ms: AtomicU64,
}

impl Clock {
    pub(crate) fn now(&self) -> OffsetDateTime {
        OffsetDateTime::now_utc() + Duration::from_millis(self.ahead_ms.load(Ordering::Relaxed))
    }

    pub(crate) fn advance(&self, by: Duration) {
        let by_ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        let turned = |ahead_ms: u64| Some(ahead_ms.saturating_add(by_ms).min(AHEAD_MS_MAX));
        // Always some, so it always turns.
        let _ = self.ahead_ms.fetch_update(Ordering::Relaxed, Ordering::Relaxed, turned);
    }

    fn body(&self) -> Json<Value> {
        let now = self.now().format(&Rfc3339).unwrap_or_default();
        Json(json!({"now": now, "ahead_ms": self.ahead_ms.load(Ordering::Relaxed)}))
    }
}

pub(crate) fn routes(clock: Arc<Clock>) -> Router {
    Router::new().route("/clock", get(show).post(advance)).with_state(clock)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AdvanceBody {
    advance_ms: u64,
}

async fn show(State(clock): State<Arc<Clock>>) -> Json<Value> {
    clock.body()
}

async fn advance(
    State(clock): State<Arc<Clock>>,
    JsonBody(body): JsonBody<AdvanceBody>,
) -> Result<Json<Value>, CallError> {
    if body.advance_ms > AHEAD_MS_MAX {
        return Err(CallError::bad_request(format!("advance_ms must be at most {AHEAD_MS_MAX}")));
    }
    clock.advance(Duration::from_millis(body.advance_ms));
    Ok(clock.body())
}
