//! The Kafka producer.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use http_client::{DriverError, shorten};
use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord, Producer as _};
use tracing::warn;

use super::client_log::ClientLog;
use super::consumer::Received;
use super::watch::ProducerContext;
use super::{DEAD_LETTER_SUFFIX, KafkaOptions, MESSAGE_BYTES_MAX, SYSTEM, check_topic};

/// From handing over a message until all replicas have it. The consumer that sends tries again later.
const DELIVERY_MS: &str = "10000";
/// So many messages may be on their way at once, and so many kilobytes.
const QUEUED_MAX: &str = "1000";
const QUEUED_KBYTES_MAX: &str = "16384";
/// When the queue is full.
const QUEUE_PAUSE: Duration = Duration::from_secs(1);
/// What a broker adds to a message: lengths, a sequence number, the head of a batch.
const FRAME_BYTES: usize = 1000;
/// The words that say why a letter is dead.
const REASON_CHARS_MAX: usize = 500;

/// One message for a topic.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    pub topic: String,
    /// Messages with the same key keep their order.
    pub key: Option<String>,
    pub payload: String,
    pub headers: Vec<(String, String)>,
}

/// What it says, and for whom, is no consumer's business.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.payload.len();
        f.debug_struct("Message").field("topic", &self.topic).field("bytes", &bytes).finish_non_exhaustive()
    }
}

/// Sends messages and waits until all replicas have them. Clones share one connection.
#[derive(Clone)]
pub struct Producer {
    config: ClientConfig,
    log: Arc<ClientLog>,
    client: Arc<Mutex<ProducerClient>>,
}

/// The connection, which has to be made anew after an error that it does not survive.
struct ProducerClient {
    inner: FutureProducer<ProducerContext>,
    generation: u64,
    /// Whether the brokers recognise a message that the client sent twice.
    is_idempotent: bool,
}

impl Producer {
    /// Brokers that cannot be reached are no error here: sending says so.
    pub fn new(options: &KafkaOptions) -> Result<Producer, DriverError> {
        let mut config = options.config()?;
        config
            .set("acks", "all")
            .set("message.timeout.ms", DELIVERY_MS)
            .set("message.max.bytes", MESSAGE_BYTES_MAX.to_string())
            .set("queue.buffering.max.messages", QUEUED_MAX)
            .set("queue.buffering.max.kbytes", QUEUED_KBYTES_MAX)
            .set("linger.ms", "0");
        let log = Arc::new(ClientLog::new("producer".into()));
        let inner = connect(&config, &log, true)?;
        let client = ProducerClient { inner, generation: 0, is_idempotent: true };
        Ok(Producer { config, log, client: Arc::new(Mutex::new(client)) })
    }

    /// Sends one message. After any error but a refusal it may have arrived: send it again with the same id in it.
    pub async fn send(&self, message: Message) -> Result<(), DriverError> {
        let Message { topic, key, payload, headers } = message;
        self.dispatch(&topic, key.as_deref(), payload.as_bytes(), &headers).await
    }

    /// Sends what cannot be read to the topic for such messages, as it came, with headers that say where it was and why
    /// it is there. Afterwards it is done.
    pub async fn dead_letter(&self, received: &Received, why: &str) -> Result<(), DriverError> {
        let mut headers = received.headers.clone();
        headers.retain(|(name, _)| !name.starts_with("dead-letter-"));
        let why: String = shorten(why).chars().take(REASON_CHARS_MAX).collect();
        let own = [
            ("dead-letter-reason", why),
            ("dead-letter-topic", received.topic.clone()),
            ("dead-letter-partition", received.partition.to_string()),
            ("dead-letter-offset", received.offset.to_string()),
        ];
        headers.extend(own.map(|(name, value)| (name.to_owned(), value)));
        let topic = format!("{}{DEAD_LETTER_SUFFIX}", received.topic);
        self.dispatch(&topic, received.key.as_deref(), &received.payload, &headers).await
    }

    async fn dispatch(
        &self,
        topic: &str,
        key: Option<&str>,
        payload: &[u8],
        headers: &[(String, String)],
    ) -> Result<(), DriverError> {
        check_topic(topic)?;
        let head: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        let bytes = payload.len() + key.map_or(0, str::len) + head;
        if bytes + FRAME_BYTES > MESSAGE_BYTES_MAX {
            return Err(SYSTEM.refused(format!(
                "the message has {bytes} bytes, and {MESSAGE_BYTES_MAX} are allowed with its frame"
            )));
        }
        let (inner, generation) = {
            let client = self.client();
            (client.inner.clone(), client.generation)
        };
        match deliver(&inner, topic, key, payload, headers).await {
            Ok(()) => {
                self.log.well();
                Ok(())
            }
            Err(error) => {
                if let Some((code, reason)) = inner.client().fatal_error() {
                    self.replace(generation, code, &reason);
                }
                Err(sorted(&error, topic))
            }
        }
    }

    /// A client that met such an error never sends anything again. One that may not ask for a producer id, or asks a
    /// broker that has none, goes on without: then a broken connection can bring a message twice.
    fn replace(&self, generation: u64, code: RDKafkaErrorCode, reason: &str) {
        let mut client = self.client();
        if client.generation != generation {
            return;
        }
        let is_idempotent = client.is_idempotent && !lacks_idempotence(code);
        warn!(%code, reason = shorten(reason), is_idempotent, "recreating the Kafka producer");
        match connect(&self.config, &self.log, is_idempotent) {
            Ok(inner) => {
                let old = std::mem::replace(&mut client.inner, inner);
                client.generation += 1;
                client.is_idempotent = is_idempotent;
                // Its last messages are waited for, and no task may do that.
                let _ = thread::Builder::new().name("kafka-close".into()).spawn(move || drop(old));
            }
            Err(error) => warn!(%error, "creating the Kafka producer failed, retrying with the next message"),
        }
    }

    fn client(&self) -> MutexGuard<'_, ProducerClient> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").finish_non_exhaustive()
    }
}

fn connect(
    config: &ClientConfig,
    log: &Arc<ClientLog>,
    is_idempotent: bool,
) -> Result<FutureProducer<ProducerContext>, DriverError> {
    let mut config = config.clone();
    config.set("enable.idempotence", is_idempotent.to_string());
    config
        .create_with_context(ProducerContext(Arc::clone(log)))
        .map_err(|error| SYSTEM.refused(format!("no producer can be made: {error}")))
}

/// The answer comes within the time for a delivery, whatever the brokers do.
async fn deliver(
    client: &FutureProducer<ProducerContext>,
    topic: &str,
    key: Option<&str>,
    payload: &[u8],
    headers: &[(String, String)],
) -> Result<(), KafkaError> {
    let delivery = {
        let owned = OwnedHeaders::new_with_capacity(headers.len());
        let owned = headers.iter().fold(owned, |owned, (key, value)| {
            owned.insert(Header { key: key.as_str(), value: Some(value.as_str()) })
        });
        let mut record = FutureRecord::<str, [u8]>::to(topic).payload(payload).headers(owned);
        record.key = key;
        client.send_result(record).map_err(|(error, _)| error)?
    };
    match delivery.await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err((error, _))) => Err(error),
        Err(_) => Err(KafkaError::Canceled),
    }
}

fn lacks_idempotence(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(
        code,
        Code::ClusterAuthorizationFailed
            | Code::TransactionalIdAuthorizationFailed
            | Code::UnsupportedFeature
    )
}

fn sorted(error: &KafkaError, topic: &str) -> DriverError {
    use RDKafkaErrorCode as Code;
    let Some(code) = error.rdkafka_error_code() else { return SYSTEM.broken(shorten(&error.to_string())) };
    match code {
        Code::QueueFull => DriverError::Throttled { system: SYSTEM.0, retry_after: QUEUE_PAUSE },
        Code::MessageTimedOut
        | Code::OperationTimedOut
        | Code::TimedOutQueue
        | Code::BrokerTransportFailure
        | Code::AllBrokersDown
        | Code::Resolve
        | Code::NetworkException
        | Code::RequestTimedOut => {
            let cause = format!("{topic} took no message within {DELIVERY_MS} ms: {code}");
            DriverError::Unreachable { system: SYSTEM.0, cause }
        }
        Code::MessageSizeTooLarge
        | Code::InvalidMessage
        | Code::InvalidMessageSize
        | Code::MessageBatchTooLarge
        | Code::InvalidRecord
        | Code::InvalidTopic
        | Code::PolicyViolation
        | Code::TopicAuthorizationFailed => SYSTEM.refused(format!("{topic} does not take it: {code}")),
        code => SYSTEM.broken(format!("{topic}: {code}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_sorted_by_what_can_be_done() {
        let of = |code| sorted(&KafkaError::MessageProduction(code), "t");
        assert!(of(RDKafkaErrorCode::MessageSizeTooLarge).is_final());
        assert!(of(RDKafkaErrorCode::TopicAuthorizationFailed).is_final());
        assert!(matches!(of(RDKafkaErrorCode::MessageTimedOut), DriverError::Unreachable { .. }));
        assert!(matches!(of(RDKafkaErrorCode::QueueFull), DriverError::Throttled { .. }));
        assert!(matches!(of(RDKafkaErrorCode::UnknownTopicOrPartition), DriverError::Broken { .. }));
        assert!(matches!(of(RDKafkaErrorCode::NotEnoughReplicas), DriverError::Broken { .. }));
        assert!(!sorted(&KafkaError::Canceled, "t").is_final());
    }
}
