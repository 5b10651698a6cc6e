//! `GET /operations/{id}/events`

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use engine::{Body, Capability, OperationId, Phase, Timestamp};
use futures_util::stream::{Stream, unfold};
use tracing::warn;

use super::inspect;
use crate::app_state::Shared;
use crate::error;
use crate::http::{Failure, OperationEvents};
use crate::principal::Principal;
use crate::query::{Id, Query, not_allowed};
use crate::wire::{self, ToWire};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Tells a proxy to pass events on at once.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Events read at a time.
const PAGE: usize = 100;
/// A stream closes after this time and its client comes back, with a token that is checked again.
const LIFE: Duration = Duration::from_secs(15 * 60);
/// So many looks without news before it is checked that the operation still exists.
const QUIET_MAX: u32 = 60;

/// What happens to an operation, as it happens.
///
/// Server-sent events: `id` is the number of the event, `event` its kind, `data` the same as in the journal.
/// Starts after `Last-Event-ID` or `after`, so that a client which was cut off misses nothing. The last event
/// has the kind `end`; a stream that closes without it is to be opened again.
#[utoipa::path(
    get, path = "/operations/{id}/events", tag = "operations", operation_id = "stream_events",
    params(("id" = uuid::Uuid, Path, description = "The id of the operation."),
           ("after" = Option<u32>, Query, description = "Only events with a number above this one."),
           ("Last-Event-ID" = Option<u32>, Header, description = "The same; it wins over `after`.")),
    responses(
        (status = OK, body = wire::JournalEntry, content_type = "text/event-stream",
         description = "A stream of events."),
        (status = NOT_FOUND, description = "There is none: `operation-not-found`."),
        (status = SERVICE_UNAVAILABLE,
         description = "`too-many-streams`, or no database: `database-unavailable`."),
    )
)]
pub(crate) async fn stream_events(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    mut query: Query,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Failure> {
    let after = query.number("after", 0..=u32::MAX)?;
    query.finish()?;
    let after = last_event_id(&headers)?.or(after).unwrap_or(0);
    // The seat comes first: whatever happens after we looked rings the bell.
    let watch = app.watchers.watch(id, &principal).map_err(error::too_many_streams)?;
    let phase = inspect(&app, &principal, Capability::Read, id).await?.shown.summary.phase;
    let closes_at = app.engine.now().plus(LIFE);
    let updates = OperationEvents::new(&app, Some(watch));
    let reader =
        JournalReader { app, id, after, ready: VecDeque::new(), phase, updates, closes_at, quiet: 0 };
    let sse = Sse::new(reader.stream()).keep_alive(KeepAlive::new().interval(KEEP_ALIVE).text("alive"));
    Ok(([(X_ACCEL_BUFFERING, HeaderValue::from_static("no"))], sse))
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<u32>, Failure> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    let refused = || not_allowed("Last-Event-ID", text, "the number of an event");
    text.parse().map(Some).map_err(|_| refused())
}

/// One reader of one journal.
struct JournalReader {
    app: Shared,
    id: OperationId,
    /// The number of the last event that was read.
    after: u32,
    ready: VecDeque<Event>,
    /// As far as the events that were read tell.
    phase: Phase,
    updates: OperationEvents,
    closes_at: Timestamp,
    quiet: u32,
}

/// What comes next in a stream.
enum Next {
    Event(Event),
    /// The last one.
    End(Event),
    /// The client is to come back.
    Close,
}

impl JournalReader {
    fn stream(self) -> impl Stream<Item = Result<Event, Infallible>> {
        unfold(Some(self), |reader| async move {
            let mut reader = reader?;
            match reader.next().await {
                Next::Event(event) => Some((Ok(event), Some(reader))),
                Next::End(event) => Some((Ok(event), None)),
                Next::Close => None,
            }
        })
    }

    async fn next(&mut self) -> Next {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Next::Event(event);
            }
            match self.read().await {
                Ok(true) => self.quiet = 0,
                Ok(false) if self.phase.is_final() && self.is_over().await => {
                    return Next::End(end(self.phase));
                }
                Ok(false) => {
                    if self.app.engine.now() >= self.closes_at || !self.rest().await {
                        return Next::Close;
                    }
                }
                // The client has nothing to do about it: the database will answer again.
                Err(error) => {
                    warn!(operation.id = %self.id, %error, "event stream paused: the database does not answer");
                    if !self.rest().await {
                        return Next::Close;
                    }
                }
            }
        }
    }

    /// Takes over what is new; `false` when there is nothing.
    async fn read(&mut self) -> Result<bool, engine::store::StoreError> {
        let events = self.app.engine.journal(self.id, self.after, PAGE).await?;
        for event in &events {
            self.after = event.seq;
            self.phase = match &event.body {
                Body::Finished { phase, .. } => *phase,
                // Whatever happens after the end starts it again.
                _ if self.phase.is_final() => Phase::Pending,
                _ => self.phase,
            };
            self.ready.push_back(frame(event));
        }
        Ok(!events.is_empty())
    }

    /// Whether the end in the journal still holds: an operator may have started the operation again, which is in
    /// its row before it is in its journal.
    async fn is_over(&mut self) -> bool {
        match self.app.engine.inspect(self.id).await {
            Ok(Some(inspection)) => inspection.shown.summary.phase.is_final(),
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Waits for news; `false` when there will be none.
    async fn rest(&mut self) -> bool {
        match self.updates.next_while_open().await {
            None => return false,
            Some(true) => return true,
            Some(false) => {}
        }
        self.quiet += 1;
        if self.quiet < QUIET_MAX {
            return true;
        }
        self.quiet = 0;
        // The journal of a forgotten operation is silent for ever.
        match self.app.engine.inspect(self.id).await {
            Ok(None) => false,
            Ok(Some(inspection)) => {
                if inspection.shown.summary.phase.is_final() {
                    self.phase = inspection.shown.summary.phase;
                }
                true
            }
            Err(_) => true,
        }
    }
}

fn frame(event: &engine::Event) -> Event {
    let entry = event.to_wire();
    let data = serde_json::to_string(&entry).unwrap_or_default();
    Event::default().id(event.seq.to_string()).event(event.body.kind()).data(data)
}

fn end(phase: Phase) -> Event {
    let data = serde_json::to_string(&wire::End { phase: phase.to_wire() }).unwrap_or_default();
    Event::default().event("end").data(data)
}
