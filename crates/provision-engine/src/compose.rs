//! Puts the program together. The only file that knows everybody: the configuration, the database, the keys,
//! the drivers, the engine and the doors.

mod database;
mod identity;
mod key_ring;
mod launch;
mod nobody;
mod rehearsal;
mod runtimes;
mod serverless;
mod small_file;
mod upkeep;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use axum::Router;
use console::{Console, ConsoleSettings};
use doors::launch::Networks;
use doors::sandbox_access::end_sandbox_access;
use doors::{Bearers, CodeFlow, DoorSettings, Doors, Inside, Meter, SignInLimits, wire};
use drivers::greeter::{Greeter, HttpGreeter};
use engine::secret::{KeyRing, Sealer, SharedRing};
use engine::store::{MemoryStore, Store};
use engine::{AccessStore, Clock, Engine, EngineBuilder, PeopleStore, RetryPolicy, Settings, WallClock};
use sandbox::Sandbox;
use tokio_util::sync::CancellationToken;
use tracing::info;
use workflows::Drivers;
use workflows::launch::Launches;
use workflows::notice::Notices;
use workflows::runtime::Runtimes;
use workflows::runtime::accounts::Accounts;
use workflows::runtime::catalog::Catalog;
use workflows::serverless::Serverless;

use crate::config::{Config, Origin};

pub(crate) use database::{Database, DatabaseReader, migrate};
pub(crate) use key_ring::{Keys, known_ring};
pub(crate) use launch::{Cloud, Events};
use nobody::{NobodyGreets, NobodyProvisions};
pub(crate) use rehearsal::rehearse;
pub(crate) use serverless::Nebula;

/// A whole engine with its doors, not yet started.
pub struct House {
    pub engine: Engine,
    pub access: Arc<dyn AccessStore>,
    pub(crate) people: Arc<dyn PeopleStore>,
    pub(crate) ring: SharedRing,
    pub(crate) keys: Keys,
    /// The far sides that live in this process.
    pub sandbox: Option<Sandbox>,
    /// Where the far sides are that have no address of their own, for people.
    pub sandbox_url: Option<String>,
    pub(crate) nebula: Nebula,
    pub cloud: Cloud,
    /// How people sign in at an identity provider, where there is one.
    code_flow: Option<Arc<CodeFlow>>,
    catalog: Arc<Catalog>,
    bearers: Option<Arc<dyn Bearers>>,
}

/// What came through the sandbox of an earlier start ends before this start serves anything.
async fn end_access_of_sandbox(access: &dyn AccessStore, people: &dyn PeopleStore) -> Result<()> {
    let ended = end_sandbox_access(access, people, WallClock.now());
    let ended = ended.await.context("cannot end access of the sandbox")?;
    if !ended.last_admins.is_empty() {
        bail!(
            "{} came through the sign-in of the sandbox, and no other admin is left; delete it from the table tokens or users \
             of the database, then start again",
            ended.last_admins.join(", ")
        );
    }
    if ended.removed > 0 {
        info!(ended = ended.removed, "removed sessions, tokens and users of an earlier sandbox");
    }
    Ok(())
}

impl House {
    /// Opens everything that the configuration names. The caller holds the lock of the data directory.
    pub async fn open(config: &Config, meter: &Arc<Meter>) -> Result<House> {
        let Database { store, access, people, sealed } = Database::open(&config.store).await?;
        let keys = Keys::new(config, &access, &sealed);
        let ring = SharedRing::new(keys.open().await?);
        end_access_of_sandbox(&*access, &*people).await?;
        let (url, sandbox) = far_side(config).await?;
        let nebula = Nebula::open(config, url.as_deref())?;
        let cloud = Cloud::open(config, url.as_deref(), &store, &ring).await?;
        let drivers = drivers(config, url.as_deref(), &store, &nebula, &cloud)?;
        let (catalog, bearers) = (Arc::clone(&drivers.runtimes.catalog), identity::bearers(config)?);
        let code_flow = identity::code_flow(config, url.as_deref())?;
        let builder = Engine::builder(store, Arc::new(WallClock), ring.clone())
            .settings(settings(config))
            .limits(config.engine.limits.by_name.clone(), config.engine.limits.default)
            .observer(Arc::clone(meter) as Arc<_>);
        let engine = workflows::register(builder, &drivers).build();
        let sandbox_url = url;
        Ok(House {
            engine,
            access,
            people,
            ring,
            keys,
            sandbox,
            sandbox_url,
            nebula,
            cloud,
            code_flow,
            catalog,
            bearers,
        })
    }

    /// The doors in front of the engine. When `closing` is cancelled, event streams end.
    pub fn doors(
        &self,
        config: &Config,
        meter: &Arc<Meter>,
        closing: &CancellationToken,
    ) -> Result<(Router, Inside)> {
        Ok(doors::open(Doors {
            engine: self.engine.clone(),
            access: Arc::clone(&self.access),
            people: Arc::clone(&self.people),
            meter: Arc::clone(meter),
            settings: DoorSettings {
                body_limit_bytes: config.server.body_limit_bytes,
                request_timeout: config.server.request_timeout.get(),
                body_timeout: config.server.body_timeout.get(),
                public_metrics: config.server.public_metrics,
                sign_in: SignInLimits { attempts: config.console.attempts, lock: config.console.lock.get() },
                osb: runtimes::osb(config),
                ..DoorSettings::default()
            },
            catalog: Some(Arc::clone(&self.catalog)),
            bearers: self.bearers.clone(),
            serverless: self.nebula.door(config)?,
            launch: self.cloud.door(config)?,
            upkeep: upkeep::of(self, config)?,
            closing: closing.clone(),
        }))
    }

    /// The pages for people, beside the doors. `None` where nobody wants them.
    pub fn console(&self, config: &Config, inside: Inside, meter: &Arc<Meter>) -> Option<Router> {
        let given = &config.console;
        // Whoever gave a network that is none was told when the launch API was put together.
        let proxies = Networks::parse(config.identity.trusted_proxies.iter().map(String::as_str));
        let settings = ConsoleSettings {
            public_url: given.public_url.as_ref().map(|url| url.as_str().to_owned()),
            idle: given.idle.get(),
            session: given.session.get(),
            proxies: proxies.unwrap_or_default(),
            is_sandbox: self.sandbox_url.is_some(),
        };
        given.enabled.then(|| {
            console::router(Console {
                inside,
                people: Arc::clone(&self.people),
                meter: Arc::clone(meter),
                code_flow: self.code_flow.clone(),
                settings,
            })
        })
    }
}

/// Every workflow of this release, without a server, a database or a far side.
pub(crate) fn workflows() -> Vec<wire::Workflow> {
    without_database().workflows().into_iter().map(wire::Workflow::from).collect()
}

/// An engine that knows every workflow of this release, and neither a database nor a far side.
pub(crate) fn without_database() -> Engine {
    unconnected(Engine::builder(Arc::new(MemoryStore::new()), Arc::new(WallClock), unused_ring()))
}

/// An engine that can look into this database but not work.
pub(crate) fn looker(database: Database) -> Engine {
    unconnected(Engine::builder(database.store, Arc::new(WallClock), unused_ring()))
}

/// What opens values that were sealed for a resource.
pub(crate) fn opener(ring: &SharedRing, tenant: &str, resource: &str) -> Sealer {
    Engine::builder(Arc::new(MemoryStore::new()), Arc::new(WallClock), ring.clone())
        .build()
        .sealer(tenant, resource)
}

fn unconnected(builder: EngineBuilder) -> Engine {
    workflows::register(builder, &no_drivers()).build()
}

/// Everything that steps need, none of it connected to anything.
fn no_drivers() -> Drivers {
    Drivers {
        greeter: Arc::new(NobodyGreets::default()),
        runtimes: Arc::new(Runtimes::default()),
        provisioner: Arc::new(NobodyProvisions),
        director: None,
        clusters: runtimes::clusters(Duration::from_secs(1)),
        accounts: Accounts::new(Accounts::shared_by_all(), Arc::new(MemoryStore::new())),
        override_sources: Vec::new(),
        external: Arc::default(),
        serverless: Arc::new(Serverless::unconnected()),
        launches: Arc::new(Launches::unconnected()),
        notices: Arc::new(Notices::none()),
    }
}

/// Everything that steps need, as it is configured. `sandbox` stands in for far sides without an address.
fn drivers(
    config: &Config,
    sandbox: Option<&str>,
    store: &Arc<dyn Store>,
    nebula: &Nebula,
    cloud: &Cloud,
) -> Result<Drivers> {
    let clusters = runtimes::clusters(config.drivers.kubernetes_timeout.get());
    let greeter_url = config.drivers.greeter.url.as_ref().map(|url| url.as_str().to_owned());
    let greeter_url = greeter_url.or_else(|| sandbox.map(str::to_owned));
    let drivers = Drivers {
        greeter: greeter(config, greeter_url.as_deref())?,
        runtimes: Arc::new(runtimes::runtimes(config)?),
        provisioner: runtimes::provisioner(&config.drivers.provisioner, sandbox)?,
        director: runtimes::director(&config.drivers, sandbox)?,
        accounts: runtimes::accounts(config, Arc::clone(store))?,
        override_sources: runtimes::override_sources(config, &clusters)?,
        external: Arc::default(),
        clusters,
        serverless: Arc::clone(&nebula.serverless),
        launches: Arc::clone(&cloud.launches),
        notices: Arc::clone(&cloud.notices),
    };
    runtimes::with_external_steps(config, drivers)
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

/// Where the far sides are that have no address of their own: a sandbox somewhere, or one in this process.
async fn far_side(config: &Config) -> Result<(Option<String>, Option<Sandbox>)> {
    if !uses_sandbox(config) {
        return Ok((None, None));
    }
    if let Some(url) = &config.sandbox.url {
        return Ok((Some(url.as_str().to_owned()), None));
    }
    let sandbox = Sandbox::start(([127, 0, 0, 1], 0).into()).await.context("cannot start the sandbox")?;
    Ok((Some(sandbox.url()), Some(sandbox)))
}

/// By a flag of the command line, or without any configuration unless that says no.
fn uses_sandbox(config: &Config) -> bool {
    let is_silent = config.origins().of("sandbox.enabled").is_none_or(|origin| *origin == Origin::Default);
    let is_bare =
        config.file.is_none() && config.engine_conf.is_none() && config.external_systems().next().is_none();
    config.sandbox.enabled || (is_silent && (config.sandbox.url.is_some() || is_bare))
}

fn greeter(config: &Config, url: Option<&str>) -> Result<Arc<dyn Greeter>> {
    let timeout = config.drivers.greeter.timeout.get();
    match url {
        Some(url) => Ok(Arc::new(HttpGreeter::new(url, timeout).context("cannot use the greeter")?)),
        None => Ok(Arc::new(NobodyGreets::default())),
    }
}
