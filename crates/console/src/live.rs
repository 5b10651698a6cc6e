//! Pages that stay true: whenever something happens, the part of the page that it changes is written again and
//! sent to the browser.

use std::convert::Infallible;
use std::future::ready;
use std::time::Duration;

use askama::Template;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use engine::{OperationId, Timestamp};
use futures_util::stream::{once, unfold};
use server::{StreamSeat, WatcherSlot};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::page_error::PageError;
use crate::shared::ConsoleState;
use crate::shell::html;
use crate::signed_in::{SignedIn, look_up};

const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// A stream closes after this time and the browser comes back.
const LIFE: Duration = Duration::from_mins(15);
/// The user who is signed out sees nothing new after this time.
const CHECKED: Duration = Duration::from_secs(5);
/// Without events the page looks this often: other nodes do not ring here, and time goes by.
const LOOK: Duration = Duration::from_secs(1);
/// Of many things that happen at once, one picture is sent.
const CALM: Duration = Duration::from_millis(50);
const CALM_ALL: Duration = Duration::from_millis(500);

/// A part of a page.
pub struct Picture {
    /// Empty where nothing changed.
    pub html: String,
    /// Nothing will change any more.
    pub is_last: bool,
}

impl Picture {
    /// Of something that may change again.
    pub fn of(part: &impl Template) -> Picture {
        Picture { html: part.render().unwrap_or_default(), is_last: false }
    }
}

/// An open page, and what its stream keeps from one update to the next.
pub trait OpenPage: Send + 'static {
    /// Draws the part of the page that changes.
    fn draw(&mut self) -> impl Future<Output = Result<Picture, PageError>> + Send;
}

/// The changing part alone, for pages that ask for it once in a while.
pub fn part(drawn: Result<impl Template, PageError>) -> Response {
    match drawn {
        Ok(part) => html(StatusCode::OK, &part),
        Err(page_error) => page_error.part(),
    }
}

/// What wakes a stream.
#[derive(Debug, Clone, Copy)]
pub enum LiveTopic {
    /// Events of one operation.
    Operation(OperationId),
    /// Events of all operations.
    Everything,
}

enum WakeUp {
    One(WatcherSlot),
    /// With the place that it takes among all streams.
    All(
        broadcast::Receiver<(OperationId, u32)>,
        #[expect(dead_code, reason = "given back when it is dropped")] StreamSeat,
    ),
}

impl WakeUp {
    async fn rings(&mut self) {
        match self {
            WakeUp::One(watch) => watch.rings().await,
            WakeUp::All(updates, _) => {
                if let Err(RecvError::Closed) = updates.recv().await {
                    std::future::pending::<()>().await;
                }
            }
        }
    }

    fn calm(&self) -> Duration {
        match self {
            WakeUp::One(_) => CALM,
            WakeUp::All(..) => CALM_ALL,
        }
    }

    /// Whatever rang until now is in the picture that is drawn next.
    fn mute(&mut self) {
        if let WakeUp::All(updates, _) = self {
            *updates = updates.resubscribe();
        }
    }
}

struct Stream<Page> {
    shared: ConsoleState,
    digest: String,
    wake_up: WakeUp,
    page: Page,
    sent: Option<String>,
    closes_at: Timestamp,
    checked_at: Timestamp,
    is_over: bool,
}

/// Answers with a stream of pictures, each only when it differs from the one before.
pub fn stream(signed_in: &SignedIn, about: LiveTopic, page: impl OpenPage) -> Response {
    let (inside, principal) = (&signed_in.shared.inside, &signed_in.principal);
    let wake_up = match about {
        LiveTopic::Operation(id) => inside.watch(id, principal).map(WakeUp::One),
        LiveTopic::Everything => {
            inside.seat(principal).map(|seat| WakeUp::All(inside.engine().event_feed().watch(), seat))
        }
    };
    let Ok(wake_up) = wake_up else { return StatusCode::SERVICE_UNAVAILABLE.into_response() };
    let now = signed_in.shared.inside.engine().now();
    let stream = Stream {
        shared: ConsoleState::clone(&signed_in.shared),
        digest: signed_in.digest.clone(),
        wake_up,
        page,
        sent: None,
        closes_at: now.plus(LIFE),
        checked_at: now,
        is_over: false,
    };
    let events = unfold(stream, |mut stream| async move {
        let event = stream.next().await?;
        Some((Ok::<Event, Infallible>(event), stream))
    });
    let sse = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE).text("alive"));
    ([(X_ACCEL_BUFFERING, HeaderValue::from_static("no"))], sse).into_response()
}

/// To a browser that is not signed in any more: a stream cannot be answered with a status that scripts see.
pub(crate) fn signed_out() -> Response {
    Sse::new(once(ready(Ok::<Event, Infallible>(gone())))).into_response()
}

fn gone() -> Event {
    Event::default().event("signed-out").data("bye")
}

impl<Page: OpenPage> Stream<Page> {
    async fn next(&mut self) -> Option<Event> {
        if self.is_over {
            return None;
        }
        loop {
            if self.sent.is_some() && !self.rest().await {
                return None;
            }
            if !self.may_go_on().await {
                self.is_over = true;
                return Some(gone());
            }
            // What cannot be drawn now is drawn later; the page stays as it is.
            let Ok(picture) = self.page.draw().await else {
                self.sent.get_or_insert_default();
                continue;
            };
            if !picture.html.is_empty() && self.sent.as_ref() != Some(&picture.html) {
                let event = Event::default().data(self.shared.base.page(picture.html.clone()));
                self.sent = Some(picture.html);
                return Some(event);
            }
            self.sent.get_or_insert_default();
            if picture.is_last {
                self.is_over = true;
                return Some(Event::default().event("end").data("bye"));
            }
        }
    }

    /// Waits for news; `false` when there will be none.
    async fn rest(&mut self) -> bool {
        if self.shared.inside.engine().now() >= self.closes_at {
            return false;
        }
        let closing = self.shared.inside.closing().clone();
        tokio::select! {
            biased;
            () = closing.cancelled() => return false,
            () = self.wake_up.rings() => {}
            () = tokio::time::sleep(LOOK) => return true,
        }
        tokio::time::sleep(self.wake_up.calm()).await;
        self.wake_up.mute();
        true
    }

    async fn may_go_on(&mut self) -> bool {
        let now = self.shared.inside.engine().now();
        if now.since(self.checked_at) < CHECKED {
            return true;
        }
        self.checked_at = now;
        // A database that does not answer does not end a session.
        !matches!(look_up(&self.shared, &self.digest).await, Ok(None))
    }
}
