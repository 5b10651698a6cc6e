//! Our own far sides on loopback: they speak the real protocols, keep a ledger of what they did, and break on
//! demand.
//!
//! Everything is reached over one socket, by the same drivers as in production. The ledger shows what really
//! happened in the world, so that a test or a curious person can compare it with what the engine believes.

mod answer;
mod clock;
mod cluster;
mod connection;
mod director;
mod faults;
mod graphql;
mod greeter;
mod identity;
mod jwt;
mod ledger;
mod provisioner;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::info;

use crate::answer::Refusal;
use crate::clock::Clock;
use crate::cluster::Clusters;
use crate::connection::{Connection, CuttingListener};
use crate::director::Director;
use crate::faults::Faults;
use crate::identity::Identity;
use crate::ledger::Ledger;
use crate::provisioner::Provisioner;

/// Calls that are under way get this long to finish when the sandbox stops.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// A running sandbox. Dropping it stops it too, without waiting for calls that are under way.
#[derive(Debug)]
pub struct Sandbox {
    addr: SocketAddr,
    shutdown: DropGuard,
    server: JoinHandle<io::Result<()>>,
}

impl Sandbox {
    /// Binds and serves at once. Port 0 takes any free port.
    ///
    /// Only a loopback address is accepted: a far side that obeys everybody must not be on a network.
    pub async fn start(listen: SocketAddr) -> io::Result<Sandbox> {
        if !listen.ip().is_loopback() {
            let why = format!("the sandbox only listens on loopback, not on {}", listen.ip());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let listener = TcpListener::bind(listen).await?;
        let addr = listener.local_addr()?;
        let token = CancellationToken::new();
        let stopped = token.clone().cancelled_owned();
        let world = World::new(&format!("http://{addr}"));
        let service = router(&world).into_make_service_with_connect_info::<Connection>();
        let serving = axum::serve(CuttingListener::new(listener), service).with_graceful_shutdown(stopped);
        let server = tokio::spawn(serving.into_future());
        info!(%addr, "sandbox listens");
        Ok(Sandbox { addr, shutdown: token.drop_guard(), server })
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The base URL of every far side, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Takes no new calls, lets running ones finish within a few seconds, and returns when the port is free.
    pub async fn stop(self) {
        let Sandbox { shutdown, mut server, .. } = self;
        drop(shutdown);
        if tokio::time::timeout(STOP_LIMIT, &mut server).await.is_err() {
            server.abort();
        }
    }

    /// Serves until `shutdown` is ready, then stops.
    pub async fn run_until(mut self, shutdown: impl Future) {
        tokio::select! {
            _ = shutdown => self.stop().await,
            _ = &mut self.server => {}
        }
    }
}

/// What all far sides share.
#[derive(Debug, Clone)]
struct World {
    clock: Arc<Clock>,
    ledger: Arc<Ledger>,
    faults: Arc<Faults>,
    identity: Arc<Identity>,
    director: Arc<Director>,
    clusters: Arc<Clusters>,
    provisioner: Arc<Provisioner>,
}

impl World {
    fn new(base_url: &str) -> Self {
        let (clock, ledger, director) =
            (Arc::<Clock>::default(), Arc::<Ledger>::default(), Arc::<Director>::default());
        let clusters = Arc::new(Clusters::new(base_url, Arc::clone(&ledger)));
        let provisioner = Provisioner::new(
            Arc::clone(&clock),
            Arc::clone(&ledger),
            Arc::clone(&director),
            Arc::clone(&clusters),
        );
        World {
            clock,
            ledger,
            faults: Arc::default(),
            identity: Arc::new(Identity::new(base_url)),
            director,
            clusters,
            provisioner: Arc::new(provisioner),
        }
    }
}

fn router(world: &World) -> Router {
    Router::new()
        .merge(greeter::routes(world))
        .merge(provisioner::routes(world))
        .merge(director::routes(world))
        .merge(identity::routes(world))
        .merge(cluster::routes(world))
        .merge(ledger::routes(world))
        .merge(faults::routes(Arc::clone(&world.faults)))
        .merge(clock::routes(Arc::clone(&world.clock)))
        .route("/healthz", get(|| async { axum::Json(json!({"status": "ok"})) }))
        .fallback(|| async { Refusal::new(StatusCode::NOT_FOUND, "there is nothing at this path") })
        .method_not_allowed_fallback(|| async {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not know this method")
        })
        .layer(answer::body_limit())
}
