//! Serverless runtimes on OpenNebula.

use std::sync::Arc;

use crate::api::ServerlessApi;
use crate::model;
use crate::workflows;
use ::config::file::BaseFile;
use anyhow::Result;
use async_trait::async_trait;
use console::Pages;
use engine::EngineBuilder;
use server::Endpoints;

use crate::engine_conf::EngineConf;
use app::commands::Commands;
use app::compose::Systems;
use app::config::Config;
use app::logs;
use app::product::{Background, Platform, Product, Serving, Welcome};

use crate::compose::Nebula;
use crate::settings::Settings;

/// The product is its connection to OpenNebula.
pub type Serverless = Nebula;

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
        workflows::register(engine, &Arc::new(model::Serverless::unconnected()))
    }

    fn commands(commands: &mut Commands) {
        commands.add_async("serverless", crate::cli::run);
        commands.resource(|given| given.parse::<i32>().ok().map(|id| format!("serverless:{id}")));
    }

    fn workflows(&self, engine: EngineBuilder) -> EngineBuilder {
        workflows::register(engine, &self.serverless)
    }

    fn api(&self, config: &Config) -> Result<Option<Arc<dyn Endpoints>>> {
        Ok(Some(Arc::new(ServerlessApi(self.api_parts(config)?))))
    }

    fn pages(&self, pages: &mut Pages) {
        crate::console::pages(pages);
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
        background.spawn(|engine, closing| crate::orphans::keep_looking(engine, nebula, watch, closing));
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
