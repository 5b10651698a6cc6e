//! The ways that notices go.

use std::time::Duration;

use drivers::DriverError;
use drivers::kafka::{KafkaOptions, Producer};
use drivers::webhook::Webhook;
use engine::RetryPolicy;

/// Where the hosted platform takes notifications.
pub const NOTIFICATIONS_TOPIC: &str = "platform.notifications.ingress";
/// Where the hosted platform takes the state of sources.
pub const SOURCES_STATUS_TOPIC: &str = "platform.sources.status";

/// A receiver that is away for a night still hears it the next day.
const RETRIES: RetryPolicy = RetryPolicy {
    first: Duration::from_secs(1),
    max: Duration::from_mins(5),
    budget: Duration::from_hours(24),
};
const SANDBOX_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct Notices {
    pub producer: Option<Producer>,
    /// Where launches are told.
    pub topic: String,
    /// Where the state of sources is told.
    pub status_topic: String,
    pub webhook: Option<Webhook>,
    /// How long a delivery is tried.
    pub retries: RetryPolicy,
}

impl Notices {
    /// Nobody is told anything.
    pub fn none() -> Notices {
        Notices {
            producer: None,
            topic: NOTIFICATIONS_TOPIC.into(),
            status_topic: SOURCES_STATUS_TOPIC.into(),
            webhook: None,
            retries: RETRIES,
        }
    }

    /// Into the inbox `notices` of the sandbox.
    pub fn beside(sandbox_url: &str) -> Result<Notices, DriverError> {
        let webhook = Webhook::new(&format!("{sandbox_url}/inbox/notices"), None, SANDBOX_TIMEOUT)?;
        Ok(Notices { webhook: Some(webhook), ..Notices::none() })
    }

    /// To Kafka as well.
    pub fn and_kafka(self, options: &KafkaOptions) -> Result<Notices, DriverError> {
        Ok(Notices { producer: Some(Producer::new(options)?), ..self })
    }
}
