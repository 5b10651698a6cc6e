//! Kept connections, for which the web server of OneFlow 6.8 is ready later than its answers say.
//!
//! Thin answers from a worker thread and makes the connection ready for the next request only after the answer is
//! on its way. A request that comes in between gets an error, or its answer or the rest of it never comes. Puma, on
//! which 7.4 runs, is always ready.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, SERVER};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::serve::IncomingStream;
use futures_util::{StreamExt, stream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::connection::{Connection, CuttingListener};
use crate::opennebula::release::Release;
use crate::opennebula::world::Nebula;

const CLOSE: HeaderValue = HeaderValue::from_static("close");
const KEEP_ALIVE: HeaderValue = HeaderValue::from_static("keep-alive");

/// What the requests of one connection share.
#[derive(Debug, Clone)]
pub(crate) struct IdleConnection {
    connection: Connection,
    ready_at: Arc<Mutex<Option<Instant>>>,
}

impl Connected<IncomingStream<'_, CuttingListener>> for IdleConnection {
    fn connect_info(stream: IncomingStream<'_, CuttingListener>) -> Self {
        IdleConnection { connection: stream.io().connection(), ready_at: Arc::default() }
    }
}

impl IdleConnection {
    fn is_ready(&self) -> bool {
        self.ready_at().is_none_or(|ready_at| ready_at <= Instant::now())
    }

    fn ready_at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.ready_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What becomes of a request that came too early, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EarlyRequest {
    /// Refused, and not carried out.
    Refused,
    /// Carried out, and never answered.
    NotAnswered,
    /// Carried out, and half of the answer never comes.
    HalfAnswered,
}

impl EarlyRequest {
    fn of(number: usize) -> Self {
        [EarlyRequest::Refused, EarlyRequest::NotAnswered, EarlyRequest::HalfAnswered][number % 3]
    }
}

/// The web server in front of all paths.
#[derive(Debug, Clone)]
pub(super) struct WebServer {
    nebula: Arc<Nebula>,
    early: Arc<AtomicUsize>,
    /// Nothing that hangs outlives the sandbox.
    stop: CancellationToken,
}

impl WebServer {
    pub(super) fn new(nebula: Arc<Nebula>, stop: CancellationToken) -> Self {
        WebServer { nebula, early: Arc::default(), stop }
    }
}

/// The outermost middleware.
pub(super) async fn keep(
    State(server): State<WebServer>,
    ConnectInfo(kept): ConnectInfo<IdleConnection>,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(ConnectInfo(kept.connection.clone()));
    let is_to_close = asks_to_close(request.version(), request.headers());
    if !is_to_close && !kept.is_ready() {
        let early = EarlyRequest::of(server.early.fetch_add(1, Ordering::Relaxed));
        return server.fail(early, &kept.connection, request, next).await;
    }
    let mut response = next.run(request).await;
    let (release, ready_ms) = {
        let nebula_state = server.nebula.nebula_state();
        (nebula_state.release, nebula_state.delay_times.kept_ready_ms)
    };
    if release == Release::Seven {
        return response;
    }
    // Thin keeps a connection only after an answer with a length.
    let is_kept = !is_to_close && response.status() != StatusCode::NO_CONTENT;
    response.headers_mut().insert(CONNECTION, if is_kept { KEEP_ALIVE } else { CLOSE });
    response.headers_mut().insert(SERVER, HeaderValue::from_static("thin"));
    *kept.ready_at() = Some(Instant::now() + Duration::from_millis(ready_ms));
    response
}

impl WebServer {
    async fn fail(
        &self,
        early: EarlyRequest,
        connection: &Connection,
        request: Request,
        next: Next,
    ) -> Response {
        if early == EarlyRequest::Refused {
            let headers = [(CONNECTION, CLOSE), (CONTENT_TYPE, HeaderValue::from_static("text/plain"))];
            return (StatusCode::BAD_REQUEST, headers, "Bad Request").into_response();
        }
        let response = next.run(request).await;
        if early == EarlyRequest::NotAnswered {
            self.stop.cancelled().await;
            connection.cut();
            return response;
        }
        self.cut_in_half(response).await
    }

    async fn cut_in_half(&self, response: Response) -> Response {
        let (mut parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
        parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        let stopped = self.stop.clone();
        let never = async move {
            stopped.cancelled().await;
            Err(io::Error::from(io::ErrorKind::ConnectionReset))
        };
        let half = Ok::<Bytes, io::Error>(body.slice(..body.len() / 2));
        let halves = stream::once(async { half }).chain(stream::once(never));
        Response::from_parts(parts, Body::from_stream(halves))
    }
}

fn asks_to_close(version: Version, headers: &HeaderMap) -> bool {
    let says = |word: &str| {
        headers
            .get(CONNECTION)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word)))
    };
    says("close") || (version == Version::HTTP_10 && !says("keep-alive"))
}
