//! Serverless runtimes on OpenNebula.

mod cli;
pub(crate) mod client;
mod compose;
mod engine_conf;
mod orphans;
mod settings;

use std::sync::Arc;

use ::config::file::BaseFile;
use anyhow::Result;
use async_trait::async_trait;
use doors::Doors;
use engine::EngineBuilder;
use workflows::Drivers;
use workflows::serverless::{create, delete, update};

use super::no_drivers;
use app::commands::Commands;
use app::compose::Systems;
use app::config::Config;
use app::logs;
use app::product::{Background, Platform, Product, Serving, Welcome};
use engine_conf::EngineConf;

pub(crate) use compose::Nebula;
pub(crate) use orphans::read_one_auth;
pub(crate) use settings::Settings;

/// The product is its connection to OpenNebula.
pub(crate) type Serverless = Nebula;

fn register(engine: EngineBuilder, drivers: &Drivers) -> EngineBuilder {
    engine.workflow(create::plan(drivers)).workflow(update::plan(drivers)).workflow(delete::plan(drivers))
}

#[async_trait]
impl Product for Nebula {
    type Settings = Settings;

    fn base_file() -> Option<BaseFile> {
        Some(BaseFile {
            variable: "PROVISION_ENGINE_ENGINE_CONF",
            installed: "/etc/provision-engine/engine.conf",
            lay_over: |layers, path, text| Arc::new(EngineConf::lay_over(layers, path, text)),
        })
    }

    async fn open(settings: &Settings, platform: &Platform<'_>) -> Result<Nebula> {
        Nebula::connect(settings, platform.sandbox)
    }

    fn unconnected_workflows(engine: EngineBuilder) -> EngineBuilder {
        register(engine, &no_drivers())
    }

    fn commands(commands: &mut Commands) {
        commands.add_async("serverless", cli::run);
    }

    fn workflows(&self, engine: EngineBuilder) -> EngineBuilder {
        register(engine, &Drivers { serverless: Arc::clone(&self.serverless), ..no_drivers() })
    }

    fn api(&self, config: &Config, doors: &mut Doors) -> Result<()> {
        doors.serverless = self.door(config)?;
        Ok(())
    }

    fn systems(&self, systems: &mut Systems<'_>) {
        let settings = systems.config.section::<Settings>();
        for (name, url) in [("OpenNebula", &self.oned), ("OneFlow", &self.oneflow)] {
            let system = systems.web(name, settings.enabled.then(|| url.clone()));
            // An OpenNebula that the configuration names has to be there.
            if settings.enabled && settings.oned.is_some() {
                systems.require(system);
            }
        }
    }

    fn background(&self, background: &Background<'_>) {
        let (nebula, watch) = (self.clone(), background.config.section::<Settings>().orphans.clone());
        background.spawn(|engine, closing| orphans::keep_looking(engine, nebula, watch, closing));
    }

    async fn serving(&self, at: &Serving) -> Result<()> {
        logs::announce(at.listen, &self.oned, &self.oneflow);
        Ok(())
    }

    fn welcome(&self, welcome: &mut Welcome<'_>) {
        let settings = welcome.config.section::<Settings>();
        let is_named = settings.oned.is_some() || welcome.config.base_file.is_some();
        if settings.enabled && is_named && !welcome.has_sandbox {
            welcome.command(2, "serverless list");
        }
    }
}
