//! Launches: from an image build to instances in the account of a cloud.

mod cli;
mod client;
mod compose;
mod image_events;
mod kafka;
mod settings;

use std::sync::Arc;

use anyhow::{Context, Result};
use async_trait::async_trait;
use doors::Doors;
use engine::EngineBuilder;
use workflows::launch::{self, Launches};
use workflows::notice::{self, Notices};
use workflows::{pubkey_deletion, source_check, termination};

use app::commands::Commands;
use app::compose::Systems;
use app::config::Config;
use app::product::{Background, Platform, Product, Serving};
use kafka::Brokers;

pub(crate) use compose::Cloud;
pub(crate) use settings::Settings;

/// The product is its connection to the clouds.
pub(crate) type Launch = Cloud;

fn register(engine: EngineBuilder, launches: &Arc<Launches>, notices: &Arc<Notices>) -> EngineBuilder {
    engine
        .workflow(launch::plan(launches))
        .workflow(notice::plan(notices))
        .workflow(pubkey_deletion::plan(launches))
        .workflow(source_check::plan(launches))
        .workflow(termination::plan(launches))
}

#[async_trait]
impl Product for Cloud {
    type Settings = Settings;

    async fn open(settings: &Settings, platform: &Platform<'_>) -> Result<Cloud> {
        Cloud::connect(settings, platform).await
    }

    fn unconnected_workflows(engine: EngineBuilder) -> EngineBuilder {
        register(engine, &Arc::new(Launches::unconnected()), &Arc::new(Notices::none()))
    }

    fn commands(commands: &mut Commands) {
        commands.add_async("launch", cli::launch::run);
        commands.add_async("launches", cli::launches::run);
        commands.add_async("images", cli::images::run);
        commands.add_async("inventory", cli::inventory::run);
        commands.add_async("pubkeys", cli::pubkeys::run);
        commands.add_async("sources", cli::sources::run);
        commands.add_async("instance-types", cli::instance_types::run);
    }

    fn workflows(&self, engine: EngineBuilder) -> EngineBuilder {
        register(engine, &self.launches, &self.notices)
    }

    fn api(&self, config: &Config, doors: &mut Doors) -> Result<()> {
        doors.launch = self.door(config)?;
        Ok(())
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
            background.spawn(|engine, closing| image_events::keep_listening(engine, events, closing));
        }
        background.spawn(image_events::keep_telling);
    }

    async fn serving(&self, at: &Serving) -> Result<()> {
        self.introduce(&at.local_url).await.context("cannot introduce this engine to the sandbox")
    }
}
