//! Puts the program together. The only file that knows everybody: the configuration, the database, the keys,
//! the drivers, the engine and the doors.

mod database;
mod key_ring;
mod nobody;

use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use doors::{DoorSettings, Doors, Meter, wire};
use drivers::greeter::{Greeter, HttpGreeter};
use engine::secret::{KeyRing, SharedRing};
use engine::store::MemoryStore;
use engine::{AccessStore, Engine, EngineBuilder, RetryPolicy, Settings, WallClock};
use sandbox::Sandbox;
use tokio_util::sync::CancellationToken;
use workflows::Drivers;

use crate::config::{Config, Origin};

pub(crate) use database::{Database, migrate};
pub(crate) use key_ring::Keys;
use nobody::NobodyGreets;

/// A whole engine with its doors, not yet started.
pub(crate) struct House {
    pub(crate) engine: Engine,
    pub(crate) access: Arc<dyn AccessStore>,
    pub(crate) ring: SharedRing,
    pub(crate) keys: Keys,
    /// The far sides that live in this process.
    pub(crate) sandbox: Option<Sandbox>,
    /// Where the greeter is, for people.
    pub(crate) greeter: Option<String>,
}

impl House {
    /// Opens everything that the configuration names. The caller holds the lock of the data directory.
    pub(crate) async fn open(config: &Config, meter: &Arc<Meter>) -> Result<House> {
        let Database { store, access } = Database::open(&config.store).await?;
        let keys = Keys::new(config, &access);
        let ring = SharedRing::new(keys.open().await?);
        let (url, sandbox) = far_side(config).await?;
        let drivers = Drivers { greeter: greeter(config, url.as_deref())? };
        let builder = Engine::builder(store, Arc::new(WallClock), ring.clone())
            .settings(settings(config))
            .limits(config.engine.limits.by_name.clone(), config.engine.limits.default)
            .observer(Arc::clone(meter) as Arc<_>);
        let engine = workflows::register(builder, &drivers).build();
        Ok(House { engine, access, ring, keys, sandbox, greeter: url })
    }

    /// The doors in front of the engine. When `closing` is cancelled, event streams end.
    pub(crate) fn doors(&self, config: &Config, meter: &Arc<Meter>, closing: &CancellationToken) -> Router {
        doors::router(Doors {
            engine: self.engine.clone(),
            access: Arc::clone(&self.access),
            meter: Arc::clone(meter),
            settings: DoorSettings {
                body_limit_bytes: config.server.body_limit_bytes,
                request_timeout: config.server.request_timeout.get(),
                public_metrics: config.server.public_metrics,
                ..DoorSettings::default()
            },
            closing: closing.clone(),
        })
    }
}

/// Every workflow of this release, without a server, a database or a far side.
pub(crate) fn workflows() -> Vec<wire::Workflow> {
    let bare = Engine::builder(Arc::new(MemoryStore::new()), Arc::new(WallClock), unused_ring());
    unconnected(bare).workflows().into_iter().map(wire::Workflow::from).collect()
}

/// An engine that can look into this database but not work.
pub(crate) fn looker(database: Database) -> Engine {
    unconnected(Engine::builder(database.store, Arc::new(WallClock), unused_ring()))
}

fn unconnected(builder: EngineBuilder) -> Engine {
    let greeter: Arc<dyn Greeter> = Arc::new(NobodyGreets::default());
    workflows::register(builder, &Drivers { greeter }).build()
}

/// For engines that never seal or open anything.
fn unused_ring() -> SharedRing {
    SharedRing::new(KeyRing::generate())
}

fn settings(config: &Config) -> Settings {
    let crate::config::Engine { max_running, step_limit, operation_deadline, retry, retention, .. } =
        &config.engine;
    Settings {
        max_running: *max_running,
        step_limit: step_limit.get(),
        retries: RetryPolicy { first: retry.first.get(), max: retry.max.get(), budget: retry.budget.get() },
        lease: config.store.lease.get(),
        poll: config.store.poll.get(),
        deadline_max: operation_deadline.get(),
        retention: retention.get(),
    }
}

/// Where the greeter is: its own URL, a sandbox somewhere, or a sandbox in this process.
async fn far_side(config: &Config) -> Result<(Option<String>, Option<Sandbox>)> {
    if let Some(url) = &config.drivers.greeter.url {
        return Ok((Some(url.as_str().to_owned()), None));
    }
    // Naming a sandbox means using it, unless somebody wrote that it is not to be used.
    let is_silent = config.origins().of("sandbox.enabled").is_none_or(|origin| *origin == Origin::Default);
    match &config.sandbox.url {
        Some(url) if config.sandbox.enabled || is_silent => Ok((Some(url.as_str().to_owned()), None)),
        None if config.sandbox.enabled || (is_silent && is_bare(config)) => {
            let sandbox =
                Sandbox::start(([127, 0, 0, 1], 0).into()).await.context("cannot start the sandbox")?;
            Ok((Some(sandbox.url()), Some(sandbox)))
        }
        _ => Ok((None, None)),
    }
}

/// Nobody has configured anything: whoever starts this wants to see it work. With a database that others share,
/// a far side of our own would be one of several, so there nothing is assumed.
fn is_bare(config: &Config) -> bool {
    config.file.is_none() && matches!(config.store.database, crate::config::Database::Sqlite(_))
}

fn greeter(config: &Config, url: Option<&str>) -> Result<Arc<dyn Greeter>> {
    let timeout = config.drivers.greeter.timeout.get();
    match url {
        Some(url) => Ok(Arc::new(HttpGreeter::new(url, timeout).context("cannot use the greeter")?)),
        None => Ok(Arc::new(NobodyGreets::default())),
    }
}
