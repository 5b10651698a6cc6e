//! Long polling of a launch.

use std::time::Duration;

use axum::Json;
use axum::http::header::{CACHE_CONTROL, ETAG};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::super::etag::has;
use super::super::principal::TenantPrincipal;
use super::super::query::QueryParams;
use super::super::rights::Verb;
use super::super::{LaunchShared, LaunchState};
use super::find::{LaunchDetail, find};
use crate::api::error;
use server::http::{Failure, OperationEvents};

const WAIT_MAX: Duration = Duration::from_secs(60);
/// A request that waits is answered this long before its time is over.
const MARGIN: Duration = Duration::from_secs(2);

/// Looks at a launch until it differs from what the client has, or the time of `wait` is over.
pub(in crate::api) async fn look(
    shared: &LaunchState,
    principal: &TenantPrincipal,
    name: &str,
    asked: &QueryParams,
    headers: &HeaderMap,
) -> Result<(LaunchDetail, bool), Failure> {
    let until = Instant::now() + patience(shared, asked)?;
    loop {
        let found = find(shared, principal, name, Verb::Read).await?;
        let is_known = has(headers, &found.etag());
        if !is_known || Instant::now() >= until || found.view.stage.is_over() {
            return Ok((found, is_known));
        }
        let mut updates = OperationEvents::of(&shared.app, found.view.operation);
        if let Ok(None) = timeout_at(until, updates.next_while_open()).await {
            return Ok((found, true));
        }
    }
}

/// `wait=30s`, or a number of seconds. It needs `If-None-Match`: without it there is nothing to differ from.
fn patience(shared: &LaunchShared, asked: &QueryParams) -> Result<Duration, Failure> {
    let Some(text) = asked.text("wait")? else { return Ok(Duration::ZERO) };
    let seconds: u64 = text
        .strip_suffix('s')
        .unwrap_or(text)
        .parse()
        .map_err(|_| error::invalid("wait", "it must be a number of seconds, such as 30s"))?;
    let most = WAIT_MAX.min(shared.app.settings.request_timeout.saturating_sub(MARGIN));
    Ok(Duration::from_secs(seconds).min(most))
}

pub(in crate::api) fn answer(found: &LaunchDetail, is_known: bool, body: impl Serialize) -> Response {
    let etag = HeaderValue::from_str(&found.etag()).unwrap_or(HeaderValue::from_static(""));
    let headers = [(ETAG, etag), (CACHE_CONTROL, HeaderValue::from_static("no-cache"))];
    if is_known {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, Json(body)).into_response()
}
