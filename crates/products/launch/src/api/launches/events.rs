//! `GET /launches/{id}/events`

use std::convert::Infallible;
use std::time::Duration;

use api::Code;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use engine::Timestamp;
use futures_util::stream::{Stream, unfold};

use super::super::LaunchState;
use super::super::principal::TenantPrincipal;
use super::super::query::Name;
use super::super::rights::Verb;
use super::find::{LaunchDetail, find};
use crate::api::error;
use crate::api::types;
use server::NoSeat;
use server::http::{Failure, OperationEvents};

/// Tells a proxy to pass events on at once.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// A stream closes after this time and its client comes back, with rights that are looked up again.
const LIFE: Duration = Duration::from_secs(15 * 60);

/// What happens to a launch, as it happens.
///
/// Server-sent events: `id` is a number that goes up, `event` is the state, `data` is the launch as `GET` shows it.
/// Nothing is missed by who comes back with `Last-Event-ID`, because every event says all there is. The last one is
/// called `end`; a stream that closes without it is to be opened again.
#[utoipa::path(
    get, path = "/launches/{id}/events", tag = "launches", operation_id = "stream_launch",
    params(("id" = String, Path, description = "The id or the number of the launch."),
           ("Last-Event-ID" = Option<u32>, Header, description = "The last event that the client has.")),
    responses((status = OK, body = types::Launch, content_type = "text/event-stream", description = "A stream."))
)]
pub(in crate::api) async fn stream_launch(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(name): Name,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Failure> {
    let found = find(&shared, &principal, &name, Verb::Read).await?;
    let operation = found.view.operation.ok_or_else(|| error::not_found("launch"))?;
    let full = |why| match why {
        NoSeat::Server => error::unavailable("there are too many streams"),
        NoSeat::Principal { most } => {
            error::unavailable(format!("you have {most} event streams open, which is the most: close one"))
        }
    };
    let watch = shared.app.watchers.watch(operation, &principal.principal).map_err(full)?;
    let told = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let closes_at = shared.app.engine.now().plus(LIFE);
    let updates = OperationEvents::new(&shared.app, Some(watch));
    let reader = LaunchReader { shared, principal, name, updates, told, closes_at };
    let sse = Sse::new(reader.stream()).keep_alive(KeepAlive::new().interval(KEEP_ALIVE).text("alive"));
    Ok(([(X_ACCEL_BUFFERING, HeaderValue::from_static("no"))], sse))
}

/// One reader of one launch.
struct LaunchReader {
    shared: LaunchState,
    principal: TenantPrincipal,
    name: String,
    updates: OperationEvents,
    /// The number of the last event that was sent.
    told: Option<u32>,
    closes_at: Timestamp,
}

impl LaunchReader {
    fn stream(self) -> impl Stream<Item = Result<Event, Infallible>> {
        unfold(Some(self), |reader| async move {
            let mut reader = reader?;
            let (event, is_last) = reader.next().await?;
            Some((Ok(event), (!is_last).then_some(reader)))
        })
    }

    async fn next(&mut self) -> Option<(Event, bool)> {
        loop {
            match find(&self.shared, &self.principal, &self.name, Verb::Read).await {
                Ok(found) if self.told != Some(found.seq) => {
                    self.told = Some(found.seq);
                    return Some((frame(&found, found.view.stage.as_str()), false));
                }
                Ok(found) if found.view.stage.is_over() => return Some((frame(&found, "end"), true)),
                // A database that does not answer will answer again; what is gone stays gone.
                Err(failure) if failure.code() == Some(Code::NotFound) => return None,
                Ok(_) | Err(_) => {}
            }
            if self.shared.app.engine.now() >= self.closes_at
                || self.updates.next_while_open().await.is_none()
            {
                return None;
            }
        }
    }
}

fn frame(found: &LaunchDetail, name: &str) -> Event {
    let data = serde_json::to_string(&types::Launch::from(&found.view)).unwrap_or_default();
    Event::default().id(found.seq.to_string()).event(name).data(data)
}
