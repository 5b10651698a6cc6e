//! Launches: from an image build to instances in the account of a cloud.

use std::sync::Arc;

use crate::api::LaunchApi;
use crate::model::Launches;
use crate::model::record::LaunchRecord;
use crate::workflows;
use crate::workflows::notice::Notices;
use anyhow::{Context, Result};
use async_trait::async_trait;
use console::Pages;
use engine::EngineBuilder;
use server::Endpoints;

use crate::brokers::Brokers;
use app::commands::Commands;
use app::compose::Systems;
use app::config::Config;
use app::product::{Background, Platform, Product, Serving};

use crate::compose::CloudClients;
use crate::settings::Settings;

/// The product is its connection to the clouds.
pub type LaunchProduct = CloudClients;

#[async_trait]
impl Product for CloudClients {
    type Settings = Settings;

    async fn open(settings: &Settings, platform: &Platform<'_>) -> Result<CloudClients> {
        CloudClients::connect(settings, platform).await
    }

    fn unconnected_workflows(engine: EngineBuilder) -> EngineBuilder {
        workflows::register(engine, &Arc::new(Launches::unconnected()), &Notices::none())
    }

    fn commands(commands: &mut Commands) {
        commands.add_async("launch", crate::cli::launch::run);
        commands.add_async("launches", crate::cli::launches::run);
        commands.add_async("images", crate::cli::images::run);
        commands.add_async("inventory", crate::cli::inventory::run);
        commands.add_async("pubkeys", crate::cli::public_keys::run);
        commands.add_async("sources", crate::cli::sources::run);
        commands.add_async("instance-types", crate::cli::instance_types::run);
        commands.resource(|given| Some(LaunchRecord::resource(given.parse().ok()?)));
        commands.complete("LAUNCH", |global, _| Box::pin(crate::cli::launches::complete(global)));
    }

    fn workflows(&self, engine: EngineBuilder) -> EngineBuilder {
        workflows::register(engine, &self.launches, &self.notices)
    }

    fn api(&self, config: &Config) -> Result<Option<Arc<dyn Endpoints>>> {
        Ok(Some(Arc::new(LaunchApi(self.api_parts(config)?))))
    }

    fn pages(&self, pages: &mut Pages) {
        crate::console::pages(pages);
    }

    fn systems(&self, systems: &mut Systems<'_>) {
        let Settings { aws, image_builder, sources, .. } = systems.config.section::<Settings>();
        let builder = systems.url(image_builder.as_ref(), "/api/image-builder/v1");
        let [ec2, sts] = match (aws.enabled, systems.sandbox) {
            (true, _) => [&aws.ec2, &aws.sts].map(|url| Some(url.replace("{region}", &aws.region))),
            (false, Some(url)) => {
                [format!("{url}/aws/ec2/{}", aws.region), format!("{url}/aws/sts")].map(Some)
            }
            (false, None) => [None, None],
        };
        systems.web("Image Builder", builder.map(|url| format!("{}/ready", url.trim_end_matches('/'))));
        systems.web("EC2", ec2);
        systems.web("STS", sts);
        systems.web("Sources", sources.as_ref().map(|url| url.as_str().to_owned()));
        let addresses = self.events.as_ref().map(|events| events.kafka.brokers.clone());
        systems.add(Arc::new(Brokers { addresses }));
    }

    fn background(&self, background: &Background<'_>) {
        if let Some(events) = self.events.clone() {
            background.spawn(|engine, closing| crate::image_events::keep_listening(engine, events, closing));
        }
        background.spawn(crate::image_events::keep_telling);
    }

    async fn serving(&self, at: &Serving) -> Result<()> {
        self.introduce(&at.local_url).await.context("cannot register this engine in the sandbox")
    }
}
