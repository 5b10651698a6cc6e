//! The demo: a workflow that asks a greeter over HTTP.

use std::sync::Arc;

use crate::workflows;
use ::config::HttpUrl;
use ::greeter::{Greeter, HttpGreeter};
use anyhow::{Context, Result};
use async_trait::async_trait;
use engine::EngineBuilder;

use crate::no_greeter::NoGreeter;
use crate::settings::Settings;
use app::product::{Platform, Product, Welcome};

pub struct Demo {
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
        workflows::register(engine, &(Arc::new(NoGreeter::default()) as Arc<dyn Greeter>))
    }

    fn workflows(&self, engine: EngineBuilder) -> EngineBuilder {
        workflows::register(engine, &self.greeter)
    }

    fn welcome(&self, welcome: &mut Welcome<'_>) {
        if welcome.has_sandbox {
            welcome.command(9, "operations submit demo.hello --param name=Ada --watch");
        }
    }
}
