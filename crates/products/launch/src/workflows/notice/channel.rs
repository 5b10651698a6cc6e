//! The ways that notices go: to Kafka, and to the service that asked for them.

use std::fmt::Debug;

use engine::Timestamp;
use engine::prelude::*;
use http_client::DriverError;
use kafka::{KafkaOptions, Producer};
use webhook::Webhook;

use super::message::{document, message};
use super::params::{Notice, NoticeSubject};

/// Where the hosted platform takes notifications.
pub const NOTIFICATIONS_TOPIC: &str = "platform.notifications.ingress";
/// Where the hosted platform takes the state of sources.
pub const SOURCES_STATUS_TOPIC: &str = "platform.sources.status";

/// A way that notices go. Its names are saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    Kafka,
    Webhook,
}

impl Target {
    /// In the order of their steps.
    pub(crate) const ALL: [Target; 2] = [Target::Kafka, Target::Webhook];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Target::Kafka => "kafka",
            Target::Webhook => "webhook",
        }
    }

    /// The step that goes this way.
    pub(crate) fn step(self) -> &'static str {
        match self {
            Target::Kafka => "to_kafka",
            Target::Webhook => "to_webhook",
        }
    }

    /// Only the hosted platform, behind Kafka, wants to know about sources.
    pub(crate) fn tells(self, about: &NoticeSubject) -> bool {
        self == Target::Kafka || matches!(about, NoticeSubject::Launch { .. })
    }
}

#[async_trait]
pub trait Channel: Debug + Send + Sync {
    fn target(&self) -> Target;

    /// What its step does, for people.
    fn title(&self) -> &'static str;

    /// Returns when the receiver has it.
    async fn deliver(&self, notice: &Notice, now: Timestamp) -> Result<(), Halt>;
}

#[derive(Debug)]
pub struct Kafka {
    pub producer: Producer,
    /// Where launches are told.
    pub topic: String,
    /// Where the state of sources is told.
    pub status_topic: String,
}

impl Kafka {
    /// With the topics of the hosted platform.
    pub fn new(options: &KafkaOptions) -> Result<Kafka, DriverError> {
        let (topic, status_topic) = (NOTIFICATIONS_TOPIC.into(), SOURCES_STATUS_TOPIC.into());
        Ok(Kafka { producer: Producer::new(options)?, topic, status_topic })
    }
}

#[async_trait]
impl Channel for Kafka {
    fn target(&self) -> Target {
        Target::Kafka
    }

    fn title(&self) -> &'static str {
        "Handing the notice to Kafka"
    }

    async fn deliver(&self, notice: &Notice, _now: Timestamp) -> Result<(), Halt> {
        let message = message(notice, self).map_err(|cause| Halt::Fail { cause: cause.into() })?;
        Ok(self.producer.send(message).await?)
    }
}

#[async_trait]
impl Channel for Webhook {
    fn target(&self) -> Target {
        Target::Webhook
    }

    fn title(&self) -> &'static str {
        "Posting the notice"
    }

    async fn deliver(&self, notice: &Notice, now: Timestamp) -> Result<(), Halt> {
        let body = document(notice).map_err(|cause| Halt::Fail { cause: cause.into() })?;
        Ok(self.send(&notice.id.to_string(), &body, now).await?)
    }
}
