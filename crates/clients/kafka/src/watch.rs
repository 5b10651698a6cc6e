//! Callbacks of a Kafka client: errors, statistics, and assignments of partitions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _, ConsumerContext, Rebalance};
use rdkafka::error::KafkaError;
use rdkafka::topic_partition_list::TopicPartitionList;
use tokio::sync::Notify;
use tracing::debug;

use super::client_log::ClientLog;
use super::progress::PartitionProgress;

/// The callbacks of a producer.
pub(super) struct ProducerContext(pub(super) Arc<ClientLog>);

/// The callbacks of a consumer.
pub(super) struct DeliveryWatch {
    pub(super) log: ClientLog,
    progress: Mutex<PartitionProgress>,
    /// There may be room for another message.
    pub(super) room: Notify,
}

impl DeliveryWatch {
    pub(super) fn new(client: String) -> DeliveryWatch {
        DeliveryWatch { log: ClientLog::new(client), progress: Mutex::default(), room: Notify::new() }
    }

    pub(super) fn progress(&self) -> MutexGuard<'_, PartitionProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, partitions: &TopicPartitionList) {
        let mut progress = self.progress();
        for one in partitions.elements() {
            progress.forget(one.partition());
        }
        drop(progress);
        self.room.notify_one();
    }
}

impl ClientContext for ProducerContext {
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.0.chatter(facility, message);
    }

    fn stats_raw(&self, statistics: &[u8]) {
        self.0.statistics(statistics);
    }

    fn error(&self, error: KafkaError, _reason: &str) {
        self.0.error(&error);
    }
}

impl ClientContext for DeliveryWatch {
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, message: &str) {
        self.log.chatter(facility, message);
    }

    fn stats_raw(&self, statistics: &[u8]) {
        self.log.statistics(statistics);
    }

    fn error(&self, error: KafkaError, _reason: &str) {
        self.log.error(&error);
    }
}

impl ConsumerContext for DeliveryWatch {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Revoke(partitions) = rebalance {
            // The last chance to say what is done: it goes out before the partitions do.
            let _ = consumer.commit_consumer_state(CommitMode::Async);
            self.forget(partitions);
            debug!(partitions = partitions.count(), "Kafka partitions revoked");
        }
    }

    fn post_rebalance(&self, _consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(partitions) = rebalance {
            self.forget(partitions);
            debug!(partitions = partitions.count(), "Kafka partitions assigned");
        }
    }
}
