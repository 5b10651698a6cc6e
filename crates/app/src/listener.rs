//! The one accept loop of the server. Its limits keep slow, idle and many clients from stopping it.

mod connections;
mod descriptors;
mod requests;
mod tls;
mod watched;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::config;
use connections::{Connections, OpenConnection};
pub use descriptors::raise_limit;
use requests::Requests;
pub use tls::Tls;
use watched::TimedStream;

/// How often connections are checked against their time limits.
const CHECK: Duration = Duration::from_millis(250);
/// After an accept that failed, such as for lack of descriptors.
const PAUSE: Duration = Duration::from_millis(100);
/// Connections that were told to close and still hold their descriptor; they take part of the reserve.
const CLOSING_MAX: usize = 32;

/// What clients may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenerLimits {
    /// Open connections of all clients.
    pub connections: usize,
    /// Open connections of one address.
    pub per_address: usize,
    /// From the first byte of a request, or from the connection, to the end of the header.
    pub header: Duration,
    /// From the end of the header to the end of the body.
    pub body: Duration,
    /// Between two requests.
    pub idle: Duration,
}

impl ListenerLimits {
    /// As configured, as far as the descriptors of this process allow it.
    pub fn of(server: &config::ServerSettings) -> ListenerLimits {
        let connections = server.connections.min(descriptors::for_connections());
        ListenerLimits {
            connections,
            // One address never takes the places of all others.
            per_address: server.connections_per_address.min((connections * 3 / 4).max(1)),
            header: server.header_timeout.get(),
            body: server.body_timeout.get(),
            idle: server.idle_timeout.get(),
        }
    }

    /// For the commands of this machine, which are few.
    pub(crate) fn for_commands(self) -> ListenerLimits {
        ListenerLimits {
            connections: self.connections.min(64),
            per_address: self.connections.min(64),
            ..self
        }
    }
}

/// Serves until `closing` is cancelled, and then until the requests that have begun are answered.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ListenerLimits,
    tls: Option<Arc<Tls>>,
    closing: CancellationToken,
) {
    let connections = Arc::new(Connections::new(limits));
    let tasks = TaskTracker::new();
    let slots = Arc::new(Semaphore::new(limits.connections + CLOSING_MAX));
    let mut checks = interval(CHECK);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let accepted = tokio::select! {
            () = closing.cancelled() => break,
            _ = checks.tick() => {
                connections.end_overdue();
                continue;
            }
            accepted = accept(&listener, &slots) => accepted,
        };
        let (stream, peer, slot) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(%error, "accepting a connection failed, retrying");
                sleep(PAUSE).await;
                continue;
            }
        };
        let Some(open) = connections.admit(peer.ip()) else { continue };
        let requests = Requests::new(router.clone(), peer, open.state(), limits.body);
        let served = serve_one(stream, tls.clone(), open, requests, closing.clone());
        tasks.spawn(async move {
            served.await;
            drop(slot);
        });
    }
    drop(listener);
    tasks.close();
    tokio::select! {
        () = tasks.wait() => {}
        // Slow clients do not get more time because the server stops.
        () = async { loop { checks.tick().await; connections.end_overdue(); } } => {}
    }
}

/// A slot first, so that the loop never holds more descriptors than it may.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    // Small answers must not wait for more; a socket that cannot do that is still good.
    let _ = stream.set_nodelay(true);
    Ok((stream, peer, slot))
}

async fn serve_one(
    stream: TcpStream,
    tls: Option<Arc<Tls>>,
    open: OpenConnection,
    requests: Requests,
    closing: CancellationToken,
) {
    let stream = TimedStream::new(stream, open.state());
    let exchange = async {
        let Some(tls) = tls else { return exchange(stream, &open, requests, closing).await };
        // A handshake has the time of a header. One that fails is an error of the client.
        if let Ok(stream) = tls.acceptor().accept(stream).await {
            let has_certificate = stream.get_ref().1.peer_certificates().is_some();
            let requests = requests.over_tls(tls.client_certificates(), has_certificate);
            exchange(stream, &open, requests, closing).await;
        }
    };
    tokio::select! {
        () = open.ended() => {}
        () = exchange => {}
    }
}

/// Requests and responses until one side closes. Errors are those of the client.
async fn exchange<S>(stream: S, open: &OpenConnection, requests: Requests, closing: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let http = auto::Builder::new(TokioExecutor::new()).http1_only();
    let mut connection =
        pin!(http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(requests)));
    tokio::select! {
        _ = connection.as_mut() => return,
        () = closing.cancelled() => {}
    }
    if open.state().is_between_requests() {
        return;
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

#[cfg(test)]
mod tests;
