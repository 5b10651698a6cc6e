//! Runtimes: clusters that platforms ask for through the Open Service Broker API.

use std::sync::Arc;

use crate::Clients;
use crate::api::RuntimesApi;
use crate::api::osb::OsbSettings;
use crate::backend::{BackendKind, Backends};
use crate::model::PROVISION;
use crate::workflows;
use crate::workflows::provision::Provision;
use anyhow::{Context, Result};
use async_trait::async_trait;
use console::Pages;
use engine::secret::ExposeSecret;
use engine::{EngineBuilder, Role, Workflow};
use server::Endpoints;

use app::commands::Commands;
use app::compose::Systems;
use app::config::Config;
use app::paths::replace_file;
use app::product::{Background, DryRun, Platform, Product, Start, Welcome};

use crate::compose;
use crate::settings::Settings;

pub struct Runtimes {
    clients: Clients,
    /// Whether instances may have Infrastructure Manager as their back end.
    uses_manager: bool,
}

#[async_trait]
impl Product for Runtimes {
    type Settings = Settings;

    fn removed_settings() -> &'static [&'static str] {
        &["runtime.hello_world"]
    }

    async fn open(settings: &Settings, platform: &Platform<'_>) -> Result<Runtimes> {
        let is_manager = |kind: &BackendKind| *kind == BackendKind::InfrastructureManager;
        let is_chosen =
            is_manager(&settings.runtime.backend) || settings.runtime.backends.values().any(is_manager);
        let manager = &settings.infrastructure_manager;
        let uses_manager = is_chosen || manager.kubeconfig.is_some();
        let sandbox = platform.sandbox.filter(|_| uses_manager);
        let base = Clients {
            provisioner: compose::provisioner(&settings.provisioner, platform.sandbox)?,
            director: compose::director(settings, platform.sandbox)?,
            runtime_resources: compose::runtime_resources(manager, sandbox).await?,
            ..compose::unconnected()
        };
        let clients = compose::configured(settings, platform.store, base)?;
        Ok(Runtimes { clients, uses_manager })
    }

    fn unconnected_workflows(engine: EngineBuilder) -> EngineBuilder {
        workflows::register(engine, &compose::unconnected())
    }

    fn commands(commands: &mut Commands) {
        commands.add_async("catalog", crate::cli::catalog::run);
        commands.add_async("instances", crate::cli::instances::run);
        commands.add_async("upgrades", crate::cli::upgrades::run);
        commands.resource(|given| Some(crate::model::instance::InstanceRecord::resource(given)));
        commands.complete("PLAN", |global, _| Box::pin(crate::cli::catalog::complete(global)));
        commands.complete("INSTANCE", |global, _| Box::pin(crate::cli::instances::complete(global)));
    }

    fn workflows(&self, engine: EngineBuilder) -> EngineBuilder {
        workflows::register(engine, &self.clients)
    }

    fn dry_run() -> Option<DryRun> {
        Some(DryRun {
            workflow: PROVISION,
            run: |config, params| Box::pin(crate::dry_run::dry_run(config.section::<Settings>(), params)),
        })
    }

    fn api(&self, config: &Config) -> Result<Option<Arc<dyn Endpoints>>> {
        // Longer than any operation may take: a platform that gave up earlier would delete what is nearly done.
        let polling_max = Provision::DEADLINE.min(config.engine.operation_deadline.get()) * 5 / 4;
        let osb = OsbSettings { polling_max, ..config.section::<Settings>().osb };
        let runtimes = Arc::clone(&self.clients.runtimes);
        Ok(Some(Arc::new(RuntimesApi {
            catalog: Arc::clone(&runtimes.catalog),
            osb,
            runtimes,
            backends: Some(Backends::new(&self.clients)),
        })))
    }

    fn pages(&self, pages: &mut Pages) {
        crate::console::pages(pages);
    }

    fn systems(&self, systems: &mut Systems<'_>) {
        let own = systems.config.section::<Settings>().provisioner.url.as_ref();
        systems.web("Provisioner", systems.url(own, "/provisioner/graphql"));
    }

    /// Writes credentials for a platform into a data directory that is new, or where no platform could get in
    /// otherwise. An owner who has removed the file does not get it back.
    async fn prepare(&self, start: &Start<'_>) -> Result<()> {
        let path = start.dir.broker_credentials();
        let tokens = start.access.tokens().await.context("cannot list tokens")?;
        let has_one = tokens.iter().any(|row| row.role == Role::Broker);
        if path.exists() || (has_one && !start.is_new) {
            return Ok(());
        }
        let made = start.issue("broker", Role::Broker, 1).await;
        let (name, token) = made.context("cannot make credentials for the broker")?;
        let line = format!("{name}:{}\n", token.expose_secret());
        replace_file(&path, line.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
    }

    fn background(&self, background: &Background<'_>) {
        let every = background.config.section::<Settings>().runtime.expiry_check.get();
        background
            .spawn(|engine, closing| crate::api::operators::sweep::keep_sweeping(engine, every, closing));
        let every = background.config.section::<Settings>().runtime.upgrade_check.get();
        let runtimes = Arc::clone(&self.clients.runtimes);
        background.spawn(|engine, closing| {
            workflows::orchestration::keep_advancing(engine, runtimes, every, closing)
        });
        if let Some(resources) = self.clients.runtime_resources.clone().filter(|_| self.uses_manager) {
            background
                .spawn(|engine, closing| crate::backend::watch::keep_watching(engine, resources, closing));
        }
    }

    fn welcome(&self, welcome: &mut Welcome<'_>) {
        let is_named = welcome.config.external_systems().any(|path| path.starts_with("drivers."));
        if welcome.has_sandbox || is_named {
            let credentials = welcome.dir.broker_credentials();
            let text = format!("{}/v2, user and password in {}", welcome.url, credentials.display());
            welcome.fact("broker", &text);
            welcome.command(
                1,
                "instances create --plan azure --param name=first --param region=westeurope --wait",
            );
        }
    }
}
