//! The demo: a workflow that asks a greeter over HTTP.

mod no_greeter;
mod settings;

use std::sync::Arc;

use ::config::HttpUrl;
use anyhow::{Context, Result};
use async_trait::async_trait;
use drivers::greeter::{Greeter, HttpGreeter};
use engine::EngineBuilder;
use workflows::Drivers;
use workflows::demo::hello;

use super::no_drivers;
use app::product::{Platform, Product, Welcome};
pub(crate) use no_greeter::NoGreeter;
pub(crate) use settings::Settings;

pub(crate) struct Demo {
    greeter: Arc<dyn Greeter>,
}

#[async_trait]
impl Product for Demo {
    type Settings = Settings;

    async fn open(settings: &Settings, platform: &Platform<'_>) -> Result<Demo> {
        let own = settings.url.as_ref().map(HttpUrl::as_str);
        let greeter: Arc<dyn Greeter> = match own.or(platform.sandbox) {
            Some(url) => {
                Arc::new(HttpGreeter::new(url, settings.timeout.get()).context("cannot use the greeter")?)
            }
            None => Arc::new(NoGreeter::default()),
        };
        Ok(Demo { greeter })
    }

    fn unconnected_workflows(engine: EngineBuilder) -> EngineBuilder {
        engine.workflow(hello::plan(&no_drivers()))
    }

    fn workflows(&self, engine: EngineBuilder) -> EngineBuilder {
        engine.workflow(hello::plan(&Drivers { greeter: Arc::clone(&self.greeter), ..no_drivers() }))
    }

    fn welcome(&self, welcome: &mut Welcome<'_>) {
        if welcome.has_sandbox {
            welcome.command(9, "operations submit demo.hello --param name=Ada --watch");
        }
    }
}
