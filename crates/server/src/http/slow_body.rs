//! A deadline for the body of a request. The listener sets it on every request, so every API and the console have it.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use http_body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// The body did not arrive before its deadline.
#[derive(Debug, thiserror::Error)]
#[error("the body did not arrive in time")]
pub struct SlowBody;

/// The same body, which fails with [`SlowBody`] when its end has not arrived within `limit` from now.
pub fn body_within(limit: Duration, body: Body) -> Body {
    if body.is_end_stream() {
        return body;
    }
    Body::new(Timed { body, deadline: Box::pin(sleep(limit)) })
}

/// Whether reading a body failed because of its deadline.
pub fn is_slow_body(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<SlowBody>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Whether a handler waits for more of the body of its request.
#[derive(Debug, Clone, Default)]
pub(crate) struct BodyWait(Arc<AtomicBool>);

impl BodyWait {
    /// Of a request that timed out: whether the server waited for the client.
    pub(crate) fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The same request, which tells whether its handler waits for the client.
pub(crate) fn watch_body(request: Request) -> (Request, BodyWait) {
    let wait = BodyWait::default();
    let is_on = Arc::clone(&wait.0);
    (request.map(|body| Body::new(TimedBody { body, is_on })), wait)
}

struct TimedBody {
    body: Body,
    is_on: Arc<AtomicBool>,
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        self.is_on.store(polled.is_pending(), Ordering::Relaxed);
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

struct Timed {
    body: Body,
    deadline: Pin<Box<Sleep>>,
}

impl HttpBody for Timed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // A client that sends a byte now and then is late too, so the deadline comes first.
        if self.deadline.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(axum::Error::new(SlowBody))));
        }
        Poll::Ready(ready!(Pin::new(&mut self.body).poll_frame(context)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
