//! Puts a server together: the configuration, the database, the keys, the engine, the products and the APIs.

mod database;
mod diagnostics;
mod identity;
mod key_ring;
mod small_file;

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use axum::Router;
use console::{Console, ConsoleSettings, Pages};
use declared::files::Folder;
use declared::{Declarations, Reach, StepClient};
use engine::secret::{Sealer, SharedRing};
use engine::store::MemoryStore;
use engine::{AccessStore, Clock, Engine, PeopleStore, RetryPolicy, Settings, WallClock};
use sandbox::Sandbox;
use server::sandbox_access::end_sandbox_access;
use server::{Bearers, CodeFlow, Inside, Meter, Server, ServerSettings, SignInLimits, StreamLimits};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::info;

use crate::app::App;
use crate::config::{self, Config, Origin};
use crate::product::{Background, Platform, Product, Serving};

pub use database::{Database, DatabaseReader, migrate};
pub use diagnostics::Systems;
pub use diagnostics::since;
pub use key_ring::{LoadedKeys, known_ring};
pub use small_file::{read, secret};

/// An engine with its products, not yet started.
pub struct ComposedEngine {
    pub engine: Engine,
    pub access: Arc<dyn AccessStore>,
    pub people: Arc<dyn PeopleStore>,
    pub ring: SharedRing,
    pub keys: LoadedKeys,
    /// The sandbox that runs in this process.
    pub sandbox: Option<Sandbox>,
    /// The address of the sandbox, which stands in for external systems without an address.
    pub sandbox_url: Option<String>,
    pub products: Vec<Arc<dyn Product>>,
    /// Workflows that are declared at run time.
    pub declarations: Arc<Declarations>,
    /// Asks for all files of workflows to be read again.
    pub read_files: Arc<Notify>,
    /// How people sign in at an identity provider, where there is one.
    code_flow: Option<Arc<CodeFlow>>,
    bearers: Option<Arc<dyn Bearers>>,
    /// Background tasks.
    tasks: TaskTracker,
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

impl ComposedEngine {
    /// Opens everything that the configuration names. The caller holds the lock of the data directory.
    pub async fn open(app: &App, config: &Config, meter: &Arc<Meter>) -> Result<ComposedEngine> {
        let Database { store, access, people, sealed } = Database::open(&config.store).await?;
        let keys = LoadedKeys::new(config, &access, &sealed);
        let ring = SharedRing::new(keys.open().await?);
        end_access_of_sandbox(&*access, &*people).await?;
        let (sandbox_url, sandbox) = open_sandbox(config).await?;
        let url = sandbox_url.as_deref();
        let platform = Platform { config, sandbox: url, store: &store, ring: &ring };
        let products = app.open(&platform).await?;
        let (bearers, code_flow) = (identity::bearers(config)?, identity::code_flow(config, url)?);
        let builder = Engine::builder(store, Arc::new(WallClock), ring.clone())
            .settings(settings(config))
            .limits(config.engine.limits.by_name.clone(), config.engine.limits.default)
            .observer(Arc::clone(meter) as Arc<_>);
        let engine = products.iter().fold(builder, |builder, product| product.workflows(builder)).build();
        let declarations = declarations(config, &engine).await?;
        let read_files = Arc::default();
        Ok(ComposedEngine {
            engine,
            access,
            people,
            ring,
            keys,
            sandbox,
            sandbox_url,
            products,
            declarations,
            read_files,
            code_flow,
            bearers,
            tasks: TaskTracker::new(),
        })
    }

    /// Starts the background tasks of all products. They end when `closing` is cancelled.
    pub fn background(&self, config: &Config, closing: &CancellationToken) {
        let background = Background { config, engine: &self.engine, closing, tasks: &self.tasks };
        for product in &self.products {
            product.background(&background);
        }
        let declarations = || Arc::clone(&self.declarations);
        self.tasks.spawn(declarations().follow(closing.clone()));
        let folder = Folder::new(config.workflows.dir.clone());
        let folder = match config.store.database {
            config::Database::Postgres(_) => folder.of_replica(),
            config::Database::Sqlite(_) => folder,
        };
        self.tasks.spawn(folder.watch(declarations(), Arc::clone(&self.read_files), closing.clone()));
    }

    /// Waits for the background tasks after `closing` was cancelled. They hold clients.
    pub async fn background_ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Tells all products where this server listens.
    pub async fn serving(&self, at: &Serving) -> Result<()> {
        self.declarations.front().listens_at(&at.local_url);
        for product in &self.products {
            product.serving(at).await?;
        }
        Ok(())
    }

    /// The HTTP APIs. When `closing` is cancelled, event streams end.
    pub fn apis(
        &self,
        config: &Config,
        meter: &Arc<Meter>,
        closing: &CancellationToken,
    ) -> Result<(Router, Inside)> {
        let endpoints = self.products.iter().filter_map(|product| product.api(config).transpose());
        let server = Server {
            engine: self.engine.clone(),
            access: Arc::clone(&self.access),
            people: Arc::clone(&self.people),
            meter: Arc::clone(meter),
            settings: ServerSettings {
                body_limit_bytes: config.server.body_limit_bytes,
                request_timeout: config.server.request_timeout.get(),
                body_timeout: config.server.body_timeout.get(),
                streams: StreamLimits {
                    all: config.server.streams,
                    per_principal: config.server.streams_per_principal,
                },
                public_metrics: config.server.public_metrics,
                sign_in: SignInLimits { attempts: config.console.attempts, lock: config.console.lock.get() },
                ..ServerSettings::default()
            },
            bearers: self.bearers.clone(),
            endpoints: endpoints.collect::<Result<_>>()?,
            workflows: Some(Arc::clone(&self.declarations)),
            diagnostics: diagnostics::of(self, config)?,
            closing: closing.clone(),
        };
        Ok(server::open(server))
    }

    /// The console. `None` where `console.enabled` is false.
    pub fn console(&self, config: &Config, inside: Inside) -> Option<Router> {
        let given = &config.console;
        let settings = ConsoleSettings {
            public_url: given.public_url.as_ref().map(|url| url.as_str().to_owned()),
            idle: given.idle.get(),
            session: given.session.get(),
            proxies: config.identity.trusted_proxies.clone(),
            is_sandbox: self.sandbox_url.is_some(),
            program: ::config::program(),
        };
        let mut pages = Pages::default();
        for product in &self.products {
            product.pages(&mut pages);
        }
        given.enabled.then(|| {
            console::router(Console {
                inside,
                people: Arc::clone(&self.people),
                code_flow: self.code_flow.clone(),
                settings,
                pages,
            })
        })
    }
}

/// What the database has, before the first operation goes on.
async fn declarations(config: &Config, engine: &Engine) -> Result<Arc<Declarations>> {
    let reach = Reach {
        allow_http: config.workflows.allow_http,
        allow_link_local: config.workflows.allow_link_local,
    };
    let client = StepClient::new(reach).context("cannot make the client of declared steps")?;
    let declarations = Declarations::new(engine.clone(), client);
    let public_url = config.workflows.public_url.as_ref().or(config.console.public_url.as_ref());
    if let Some(url) = public_url {
        declarations.front().listens_at(url.as_str());
    }
    declarations.read_changes().await.context("cannot read the declared workflows")?;
    Ok(declarations)
}

/// What opens values that were sealed for a resource.
pub fn opener(ring: &SharedRing, tenant: &str, resource: &str) -> Sealer {
    Engine::builder(Arc::new(MemoryStore::new()), Arc::new(WallClock), ring.clone())
        .build()
        .sealer(tenant, resource)
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

/// The sandbox of `sandbox.url`, or one in this process.
async fn open_sandbox(config: &Config) -> Result<(Option<String>, Option<Sandbox>)> {
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
        config.file.is_none() && config.base_file.is_none() && config.external_systems().next().is_none();
    config.sandbox.enabled || (is_silent && (config.sandbox.url.is_some() || is_bare))
}
