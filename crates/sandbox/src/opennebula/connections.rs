//! The connections of oned, which are few: what does not fit waits outside.
//!
//! The real server takes 15 connections, ends each after 30 calls, and hangs up on one that is silent for 15
//! seconds. A client that opens one for each call, or keeps too many, meets its limits here.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::get;
use axum::serve::{IncomingStream, Listener};
use axum::{Json, Router};
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

use crate::connection::{Connection, CuttingListener, CuttingStream};

const OPEN_MAX: usize = 15;
const CALLS_PER_CONNECTION_MAX: usize = 30;
const IDLE_MAX: Duration = Duration::from_secs(15);

/// How many connections there are and were.
#[derive(Debug)]
pub(crate) struct Connections {
    room: Arc<Semaphore>,
    counts: Mutex<ConnectionCounts>,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
struct ConnectionCounts {
    open: usize,
    /// The most that were open at once.
    peak: usize,
    accepted: u64,
}

impl Default for Connections {
    fn default() -> Self {
        Connections { room: Arc::new(Semaphore::new(OPEN_MAX)), counts: Mutex::default() }
    }
}

impl Connections {
    fn count(&self, change: impl FnOnce(&mut ConnectionCounts)) -> ConnectionCounts {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut counts);
        *counts
    }
}

pub(super) fn routes(connections: Arc<Connections>) -> Router {
    Router::new().route("/opennebula/connections", get(show)).with_state(connections)
}

async fn show(State(connections): State<Arc<Connections>>) -> Json<ConnectionCounts> {
    Json(connections.count(|_| {}))
}

/// Takes a connection only when there is room for it.
pub(crate) struct CountingListener {
    listener: CuttingListener,
    connections: Arc<Connections>,
}

impl CountingListener {
    pub(crate) fn new(listener: CuttingListener, connections: Arc<Connections>) -> Self {
        CountingListener { listener, connections }
    }
}

impl Listener for CountingListener {
    type Io = CountedStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (CountedStream, SocketAddr) {
        let room = Arc::clone(&self.connections.room).acquire_owned().await;
        let room = room.expect("the semaphore is never closed");
        let (stream, addr) = self.listener.accept().await;
        self.connections.count(|counts| {
            counts.open += 1;
            counts.accepted += 1;
            counts.peak = counts.peak.max(counts.open);
        });
        let line = ConnectionCalls {
            connection: stream.connection(),
            calls: Arc::default(),
            at_work: Arc::default(),
        };
        let seat = Seat { connections: Arc::clone(&self.connections), _room: room };
        let idle = Box::pin(tokio::time::sleep(IDLE_MAX));
        (CountedStream { stream, line, idle, _seat: seat }, addr)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// One of the places; dropping it makes room for the next.
struct Seat {
    connections: Arc<Connections>,
    _room: OwnedSemaphorePermit,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.connections.count(|counts| counts.open -= 1);
    }
}

/// What the calls of one connection share.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionCalls {
    connection: Connection,
    calls: Arc<AtomicUsize>,
    at_work: Arc<AtomicUsize>,
}

impl Connected<IncomingStream<'_, CountingListener>> for ConnectionCalls {
    fn connect_info(stream: IncomingStream<'_, CountingListener>) -> Self {
        stream.io().line.clone()
    }
}

/// The middleware around all calls: the last call of a connection ends it.
pub(super) async fn count_call(
    ConnectInfo(line): ConnectInfo<ConnectionCalls>,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(ConnectInfo(line.connection.clone()));
    line.at_work.fetch_add(1, Ordering::AcqRel);
    let mut response = next.run(request).await;
    line.at_work.fetch_sub(1, Ordering::AcqRel);
    if line.calls.fetch_add(1, Ordering::AcqRel) + 1 >= CALLS_PER_CONNECTION_MAX {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The head of an answer as oned's web server writes it: it has its own way with capital letters, and says no length
/// before a page. Blanks stand where the length was, so that the head stays as long as it is.
fn head_of_abyss(answer: &[u8]) -> Option<Vec<u8>> {
    let head = str::from_utf8(answer.get(..find(answer, b"\r\n\r\n")?)?).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?;
    let is_page = ["404", "405", "411"].iter().any(|page| status.starts_with(page));
    let mut written = String::with_capacity(head.len());
    for (position, line) in head.split("\r\n").enumerate() {
        match line.strip_prefix("content-length") {
            Some(_) if is_page => written.extend(std::iter::repeat_n(' ', line.len() + 2)),
            Some(rest) => written.extend(["\r\nContent-length", rest]),
            None if position == 0 => written += line,
            None => {
                let line = line
                    .strip_prefix("content-type")
                    .map_or(line.to_owned(), |rest| format!("Content-type{rest}"));
                written.extend(["\r\n", &line]);
            }
        }
    }
    Some(written.into_bytes())
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

pub(crate) struct CountedStream {
    stream: CuttingStream,
    line: ConnectionCalls,
    idle: Pin<Box<Sleep>>,
    _seat: Seat,
}

impl CountedStream {
    fn stay_awake(&mut self) {
        self.idle.as_mut().reset(Instant::now() + IDLE_MAX);
    }
}

impl AsyncRead for CountedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if read.is_ready() {
            self.stay_awake();
            return read;
        }
        while self.idle.as_mut().poll(cx).is_ready() {
            if self.line.at_work.load(Ordering::Acquire) == 0 {
                // As if the other side had hung up.
                return Poll::Ready(Ok(()));
            }
            self.stay_awake();
        }
        Poll::Pending
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.stay_awake();
        match head_of_abyss(buf) {
            Some(head) => Pin::new(&mut self.stream).poll_write(cx, &head),
            None => Pin::new(&mut self.stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
