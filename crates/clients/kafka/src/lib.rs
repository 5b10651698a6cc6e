//! Kafka: what is sent is acknowledged by all replicas, and what comes in comes again until a consumer says that it
//! is done.
//!
//! Neither side keeps a promise of "exactly once". A message that is sent again carries the same id in its headers,
//! and the consumer that receives one asks whether it was there before.

mod client_log;
mod consumer;
mod producer;
mod progress;
mod security;
mod watch;

use http_client::{DriverError, ExternalSystem};
use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;

pub use self::consumer::{Consumer, PayloadError, Received};
pub use self::producer::{Message, Producer};
pub use self::security::{Sasl, Security};

pub(crate) const SYSTEM: ExternalSystem = ExternalSystem("kafka");

/// What brokers take unless they were told otherwise. A longer message is neither sent nor handed out.
pub const MESSAGE_BYTES_MAX: usize = 1_000_000;
/// Where messages go that no consumer can read: the topic, and this after it.
pub const DEAD_LETTER_SUFFIX: &str = ".dead-letter";

/// As long as Kafka lets the name of a topic be.
const TOPIC_CHARS_MAX: usize = 249;
const GROUP_CHARS_MAX: usize = 255;
const BROKERS_CHARS_MAX: usize = 2000;
/// How often the client says which brokers it is connected to.
const STATISTICS_MS: &str = "5000";

/// Where the brokers are, and for whom we read.
#[derive(Debug, Clone, Default)]
pub struct KafkaOptions {
    /// One or more `host:port`, with commas between them. Others of the cluster are found through these.
    pub brokers: String,
    /// Consumers of the same group share the messages of a topic.
    pub group: String,
    pub security: Security,
}

impl KafkaOptions {
    /// What both sides have in common.
    fn config(&self) -> Result<ClientConfig, DriverError> {
        self.check()?;
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", &self.brokers)
            .set("client.id", "provision-engine")
            .set("reconnect.backoff.ms", "100")
            .set("reconnect.backoff.max.ms", "5000")
            .set("statistics.interval.ms", STATISTICS_MS)
            .set_log_level(RDKafkaLogLevel::Warning);
        self.security.apply(&mut config);
        Ok(config)
    }

    fn check(&self) -> Result<(), DriverError> {
        let is_address = |one: &str| {
            let (host, port) = one.trim().rsplit_once(':').unwrap_or_default();
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
            !host.is_empty() && host.chars().all(is_plain) && port.parse::<u16>().is_ok_and(|port| port > 0)
        };
        if self.brokers.len() > BROKERS_CHARS_MAX || !self.brokers.split(',').all(is_address) {
            return Err(SYSTEM.refused(
                "its brokers must be host:port, with commas between them; a user or a password has no place there",
            ));
        }
        let group = &self.group;
        if !(1..=GROUP_CHARS_MAX).contains(&group.len()) || !group.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(SYSTEM.refused(format!(
                "its group must have 1 to {GROUP_CHARS_MAX} visible ASCII characters without spaces"
            )));
        }
        Ok(())
    }
}

/// What Kafka takes as the name of a topic.
fn check_topic(topic: &str) -> Result<(), DriverError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_dots = matches!(topic, "." | "..");
    if !(1..=TOPIC_CHARS_MAX).contains(&topic.len()) || !topic.bytes().all(is_plain) || is_dots {
        let topic = http_client::shorten(topic);
        return Err(SYSTEM.refused(format!(
            "{topic:?} cannot be a topic: 1 to {TOPIC_CHARS_MAX} letters, digits, dots, underscores and hyphens can"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_groups_are_checked_before_anyone_connects() {
        let options = |brokers: &str, group: &str| KafkaOptions {
            brokers: brokers.into(),
            group: group.into(),
            ..KafkaOptions::default()
        };
        for brokers in ["a:9092", "127.0.0.1:1,[::1]:2", "kafka-0.kafka.svc:9092, kafka-1:9092"] {
            assert!(options(brokers, "engine").check().is_ok(), "{brokers}");
        }
        for brokers in
            ["", "a", "a:", ":9092", "a:0", "a:99999", "user:word@a:9092", "kafka://a:9092", "a:1,,b:2"]
        {
            let error = options(brokers, "engine").check().unwrap_err().to_string();
            assert!(error.contains("host:port") && !error.contains("word@"), "{error}");
        }
        for group in ["", "two words", &"g".repeat(256)] {
            assert!(options("a:1", group).check().is_err(), "{group}");
        }
    }

    #[test]
    fn a_topic_has_a_name_that_kafka_takes() {
        for topic in ["image-builder.compose.status", "a", &"t".repeat(249)] {
            assert!(check_topic(topic).is_ok(), "{topic}");
        }
        for topic in ["", ".", "..", "a b", "a/b", "ä", &"t".repeat(250)] {
            assert!(check_topic(topic).unwrap_err().is_final(), "{topic}");
        }
    }
}
