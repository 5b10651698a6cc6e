//! Our own external systems on loopback: they speak the real protocols, keep a ledger of what they did, and break on
//! demand.
//!
//! Everything is reached over sockets, by the same drivers as in production: `OpenNebula` has two of its own, on
//! the next ports, and all else shares the first. The ledger shows what really happened in the world, so that a
//! test or a curious person can compare it with what the engine believes.

mod answer;
mod aws;
mod azure;
mod clock;
mod cluster;
mod connection;
mod controls;
mod delays;
mod director;
mod faults;
mod google;
mod graphql;
mod greeter;
mod guests;
mod hex;
mod identity;
mod identity_header;
mod identity_provider;
mod image_builder;
mod inbox;
mod infrastructure_manager;
mod jwt;
mod kafka;
mod ledger;
mod loopback;
mod opennebula;
mod ports;
mod provisioner;
mod rbac;
mod script;
mod sources;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::info;

use crate::answer::CallError;
use crate::aws::Aws;
use crate::azure::Azure;
use crate::clock::Clock;
use crate::cluster::Clusters;
use crate::connection::{Connection, CuttingListener};
use crate::director::Director;
use crate::faults::Faults;
use crate::google::Google;
use crate::identity::SandboxIdentity;
use crate::identity_provider::IdentityProvider;
use crate::image_builder::ImageBuilder;
use crate::inbox::Inboxes;
use crate::infrastructure_manager::InfrastructureManager;
use crate::kafka::Kafka;
use crate::ledger::Ledger;
use crate::loopback::Network;
use crate::opennebula::OpenNebula;
use crate::provisioner::Provisioner;
use crate::rbac::Rbac;
use crate::sources::Sources;

/// Calls that are under way get this long to finish when the sandbox stops.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// A running sandbox. Dropping it stops it too, without waiting for calls that are under way.
#[derive(Debug)]
pub struct Sandbox {
    addr: SocketAddr,
    kafka: Arc<Kafka>,
    shutdown: DropGuard,
    servers: JoinSet<io::Result<()>>,
}

impl Sandbox {
    /// Binds and serves at once. It takes this port and the two next to it; port 0 takes any three free ones.
    ///
    /// Only a loopback address is accepted: an external system that obeys everybody must not be on a network.
    pub async fn start(listen: SocketAddr) -> io::Result<Sandbox> {
        if !listen.ip().is_loopback() {
            let why = format!("the sandbox only listens on loopback, not on {}", listen.ip());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let [listener, oned, oneflow] = ports::bind(listen).await?;
        let addr = listener.local_addr()?;
        let token = CancellationToken::new();
        let world = SandboxShared::new(addr);
        let mut servers = JoinSet::new();
        let service = router(&world).into_make_service_with_connect_info::<Connection>();
        let stopped = token.clone().cancelled_owned();
        let serving = axum::serve(CuttingListener::new(listener), service).with_graceful_shutdown(stopped);
        servers.spawn(serving.into_future());
        let listeners = [oned, oneflow].map(CuttingListener::new);
        world.opennebula.serve(&mut servers, listeners, &world.faults, &token);
        world.aws.serve(&mut servers, &token);
        world.azure.serve(&mut servers, &token);
        world.google.serve(&mut servers, &token);
        world.infrastructure_manager.serve(&mut servers, &token);
        let building = Arc::clone(&world.image_builder).run(token.clone());
        servers.spawn(async {
            building.await;
            Ok(())
        });
        info!(%addr, "sandbox listens");
        Ok(Sandbox { addr, kafka: world.kafka, shutdown: token.drop_guard(), servers })
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The base URL of every external system, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Where oned of `OpenNebula` takes XML-RPC.
    pub fn oned_url(&self) -> String {
        format!("http://{}/RPC2", self.neighbour(1))
    }

    /// The base URL of `OneFlow`, without a slash at the end.
    pub fn oneflow_url(&self) -> String {
        format!("http://{}", self.neighbour(2))
    }

    /// Where clients of Kafka find the brokers, which are started when a client first asks.
    pub fn kafka(&self) -> String {
        let found = self.kafka.bootstrap();
        found.expect("brokers need nothing but memory and a free port on loopback").to_owned()
    }

    fn neighbour(&self, distance: u16) -> SocketAddr {
        SocketAddr::new(self.addr.ip(), self.addr.port() + distance)
    }

    /// Takes no new calls, lets running ones finish within a few seconds, and returns when the ports are free.
    pub async fn stop(self) {
        let Sandbox { shutdown, mut servers, .. } = self;
        drop(shutdown);
        let ended = async { while servers.join_next().await.is_some() {} };
        if tokio::time::timeout(STOP_LIMIT, ended).await.is_err() {
            servers.shutdown().await;
        }
    }

    /// Serves until `shutdown` is ready, then stops.
    pub async fn run_until(mut self, shutdown: impl Future) {
        tokio::select! {
            _ = shutdown => self.stop().await,
            _ = self.servers.join_next() => {}
        }
    }
}

/// What all external systems share.
#[derive(Debug, Clone)]
struct SandboxShared {
    clock: Arc<Clock>,
    ledger: Arc<Ledger>,
    faults: Arc<Faults>,
    identity: Arc<SandboxIdentity>,
    identity_provider: Arc<IdentityProvider>,
    director: Arc<Director>,
    clusters: Arc<Clusters>,
    provisioner: Arc<Provisioner>,
    infrastructure_manager: Arc<InfrastructureManager>,
    opennebula: OpenNebula,
    kafka: Arc<Kafka>,
    inboxes: Arc<Inboxes>,
    aws: Aws,
    azure: Azure,
    google: Google,
    sources: Arc<Sources>,
    rbac: Arc<Rbac>,
    image_builder: Arc<ImageBuilder>,
}

impl SandboxShared {
    fn new(addr: SocketAddr) -> Self {
        let base_url = &format!("http://{addr}");
        let (clock, ledger, director) =
            (Arc::<Clock>::default(), Arc::<Ledger>::default(), Arc::<Director>::default());
        let clusters = Arc::new(Clusters::new(base_url, Arc::clone(&ledger)));
        let provisioner = Provisioner::new(
            Arc::clone(&clock),
            Arc::clone(&ledger),
            Arc::clone(&director),
            Arc::clone(&clusters),
        );
        let infrastructure_manager = InfrastructureManager::new(
            base_url,
            Arc::clone(&clock),
            Arc::clone(&ledger),
            Arc::clone(&clusters),
        );
        let network = Arc::new(Network::new(addr.port()));
        let opennebula = OpenNebula::new(Arc::clone(&clock), Arc::clone(&ledger), Arc::clone(&network));
        let aws = Aws::new(Arc::clone(&clock), Arc::clone(&ledger), Arc::clone(&network));
        let azure = Azure::new(addr, Arc::clone(&clock), Arc::clone(&ledger), Arc::clone(&network));
        let google = Google::new(Arc::clone(&clock), Arc::clone(&ledger), network);
        let (kafka, sources) = (Arc::<Kafka>::default(), Arc::<Sources>::default());
        let image_builder = ImageBuilder::new(
            Arc::clone(&clock),
            Arc::clone(&ledger),
            Arc::clone(&sources),
            Arc::clone(aws.images()),
            azure.clone(),
            Arc::clone(&kafka),
        );
        SandboxShared {
            identity_provider: Arc::new(IdentityProvider::new(base_url, Arc::clone(&clock))),
            clock,
            ledger,
            faults: Arc::default(),
            identity: Arc::new(SandboxIdentity::new(base_url)),
            director,
            clusters,
            provisioner: Arc::new(provisioner),
            infrastructure_manager: Arc::new(infrastructure_manager),
            opennebula,
            kafka,
            inboxes: Arc::default(),
            aws,
            azure,
            google,
            sources,
            rbac: Arc::default(),
            image_builder: Arc::new(image_builder),
        }
    }

    /// Lets everything happen whose time has come.
    fn settle(&self) {
        self.provisioner.settle();
        self.infrastructure_manager.settle();
        self.opennebula.settle();
        self.aws.settle();
        self.azure.settle();
        self.google.settle();
        self.image_builder.settle();
    }
}

fn router(world: &SandboxShared) -> Router {
    Router::new()
        .merge(greeter::routes(world))
        .merge(provisioner::routes(world))
        .merge(director::routes(world))
        .merge(identity::routes(world))
        .merge(identity_provider::routes(world))
        .merge(cluster::routes(world))
        .merge(infrastructure_manager::routes(world))
        .merge(world.opennebula.routes())
        .merge(world.aws.routes(&world.faults))
        .merge(world.azure.routes(&world.faults))
        .merge(world.google.routes(&world.faults))
        .merge(image_builder::routes(world))
        .merge(sources::routes(world))
        .merge(rbac::routes(world))
        .merge(kafka::routes(world))
        .merge(inbox::routes(world))
        .merge(ledger::routes(world))
        .merge(faults::routes(&world.faults))
        .merge(clock::routes(Arc::clone(&world.clock)))
        .route("/healthz", get(|| async { axum::Json(json!({"status": "ok"})) }))
        .fallback(|| async { CallError::new(StatusCode::NOT_FOUND, "there is nothing at this path") })
        .method_not_allowed_fallback(|| async {
            CallError::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not know this method")
        })
        .layer(answer::body_limit())
}
