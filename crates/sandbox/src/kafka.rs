//! Kafka: the cluster that the client library brings for tests, in this process. It speaks the real protocol on ports
//! of its own, and knows groups, commits and topics that are made when they are first written to.
//!
//! It is started when a client first asks for it, because most who start a sandbox never do.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Header, Headers, Message, OwnedHeaders};
use rdkafka::metadata::MetadataTopic;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tracing::debug;

use crate::SandboxShared;
use crate::answer::{CallError, JsonBody};

/// There from the beginning, so that a reader need not wait for a writer.
const TOPICS: [&str; 3] =
    ["image-builder.compose.status", "platform.notifications.ingress", "platform.sources.status"];
const PARTITIONS: i32 = 4;
const BODY_BYTES_MAX: usize = 1_500_000;
/// Of each partition the newest so many are listed.
const LISTED_MAX: i64 = 1000;
const HEADERS_MAX: usize = 64;
/// Everything is in this process, so a longer silence means that the brokers are down.
const LIMIT: Duration = Duration::from_secs(3);
/// Who takes the brokers down and up wants to go on at once.
const RECONNECT_MS: &str = "200";
const SILENCE: Duration = Duration::from_millis(50);
const SILENCES_MAX: u32 = 100;

#[derive(Default)]
pub(crate) struct Kafka {
    cluster: OnceLock<Result<KafkaCluster, String>>,
    /// Messages before these were cleared away.
    floors: Mutex<HashMap<(String, i32), i64>>,
}

struct KafkaCluster {
    bootstrap: String,
    reader: Mutex<BaseConsumer<Quiet>>,
    /// Also the owner of the brokers, so it is dropped last.
    producer: FutureProducer<Quiet>,
}

/// The library writes to standard error unless another client takes its words.
struct Quiet;

impl ClientContext for Quiet {
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, message: &str) {
        debug!(facility, message, "librdkafka");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        debug!(%error, reason, "Kafka client of the sandbox");
    }
}

impl ConsumerContext for Quiet {}

impl fmt::Debug for Kafka {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kafka").field("is_started", &self.cluster.get().is_some()).finish_non_exhaustive()
    }
}

/// One message, as it is written and as it is listed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageBody {
    #[serde(default)]
    key: Option<String>,
    payload: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default, skip_deserializing)]
    partition: i32,
    #[serde(default, skip_deserializing)]
    offset: i64,
    #[serde(default, skip_deserializing)]
    at_ms: i64,
}

impl Kafka {
    /// Where clients find the brokers.
    pub(crate) fn bootstrap(&self) -> Result<&str, String> {
        self.cluster().map(|cluster| cluster.bootstrap.as_str())
    }

    /// Writes one message, and returns when the broker has it.
    pub(crate) async fn publish(
        &self,
        topic: &str,
        key: Option<&str>,
        payload: &str,
        headers: &[(String, String)],
    ) -> Result<(), String> {
        let producer = &self.cluster()?.producer;
        let owned = headers.iter().fold(OwnedHeaders::new(), |owned, (key, value)| {
            owned.insert(Header { key: key.as_str(), value: Some(value.as_str()) })
        });
        let mut record = FutureRecord::<str, str>::to(topic).payload(payload).headers(owned);
        record.key = key;
        let sent = producer.send(record, LIMIT).await;
        sent.map(|_| ()).map_err(|(error, _)| format!("{topic} does not take the message: {error}"))
    }

    fn cluster(&self) -> Result<&KafkaCluster, String> {
        self.cluster
            .get_or_init(|| KafkaCluster::start().map_err(|error| error.to_string()))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// Everything in the topic that was not cleared away, in the order of time. Waits for the broker.
    fn list(&self, topic: &str) -> Result<Vec<MessageBody>, String> {
        let reader = lock(&self.cluster()?.reader);
        self.read(&reader, topic).map_err(|error| error.to_string())
    }

    fn read(&self, reader: &BaseConsumer<Quiet>, topic: &str) -> Result<Vec<MessageBody>, KafkaError> {
        let mut ends = ends(reader, topic)?;
        let floors = lock(&self.floors).clone();
        let mut from = TopicPartitionList::new();
        ends.retain(|partition, (low, high)| {
            let floor = floors.get(&(topic.to_owned(), *partition)).copied().unwrap_or(0);
            let first = floor.max(*low).max(*high - LISTED_MAX);
            first < *high && from.add_partition_offset(topic, *partition, Offset::Offset(first)).is_ok()
        });
        let (mut messages, mut silences) = (Vec::new(), 0);
        reader.assign(&from)?;
        while !ends.is_empty() && silences < SILENCES_MAX {
            let Some(Ok(message)) = reader.poll(SILENCE) else {
                silences += 1;
                continue;
            };
            if ends.get(&message.partition()).is_some_and(|(_, high)| message.offset() + 1 >= *high) {
                ends.remove(&message.partition());
            }
            messages.push(MessageBody::of(&message));
        }
        reader.unassign()?;
        if !ends.is_empty() {
            return Err(KafkaError::NoMessageReceived);
        }
        messages.sort_by_key(|message| (message.at_ms, message.partition, message.offset));
        Ok(messages)
    }

    /// From now on lists begin here. The messages stay for everybody else.
    fn clear(&self, topic: &str) -> Result<(), String> {
        let reader = lock(&self.cluster()?.reader);
        let ends = ends(&reader, topic).map_err(|error| error.to_string())?;
        let ends = ends.into_iter().map(|(partition, (_, high))| ((topic.to_owned(), partition), high));
        lock(&self.floors).extend(ends);
        Ok(())
    }

    fn set_down(&self, is_down: bool) -> Result<(), String> {
        let cluster = self.cluster()?;
        let brokers = cluster.producer.client().mock_cluster().ok_or("the brokers are gone")?;
        let all = -1;
        let set = if is_down { brokers.broker_down(all) } else { brokers.broker_up(all) };
        set.map_err(|error| error.to_string())
    }
}

impl KafkaCluster {
    fn start() -> Result<KafkaCluster, KafkaError> {
        let producer: FutureProducer<Quiet> = ClientConfig::new()
            .set("test.mock.num.brokers", "1")
            .set("message.timeout.ms", LIMIT.as_millis().to_string())
            .set("message.max.bytes", BODY_BYTES_MAX.to_string())
            .set("linger.ms", "0")
            .set("reconnect.backoff.max.ms", RECONNECT_MS)
            .set_log_level(RDKafkaLogLevel::Error)
            .create_with_context(Quiet)?;
        let bootstrap = match producer.client().mock_cluster() {
            Some(brokers) => {
                for topic in TOPICS {
                    brokers.create_topic(topic, PARTITIONS, 1)?;
                }
                brokers.bootstrap_servers()
            }
            None => return Err(KafkaError::ClientCreation("no brokers were started".into())),
        };
        let reader: BaseConsumer<Quiet> = ClientConfig::new()
            .set("bootstrap.servers", &bootstrap)
            // It is assigned to partitions and never joins; the client asks for a name all the same.
            .set("group.id", "sandbox")
            .set("enable.auto.commit", "false")
            .set("auto.offset.reset", "earliest")
            .set("fetch.wait.max.ms", "10")
            .set("reconnect.backoff.max.ms", RECONNECT_MS)
            .set_log_level(RDKafkaLogLevel::Error)
            .create_with_context(Quiet)?;
        Ok(KafkaCluster { bootstrap, reader: Mutex::new(reader), producer })
    }
}

/// The first offset of every partition and the one after the last; none for a topic that is not there.
fn ends(reader: &BaseConsumer<Quiet>, topic: &str) -> Result<BTreeMap<i32, (i64, i64)>, KafkaError> {
    let metadata = reader.fetch_metadata(Some(topic), LIMIT)?;
    let found = metadata.topics().iter().find(|found| found.name() == topic && found.error().is_none());
    let partitions = found.into_iter().flat_map(MetadataTopic::partitions);
    partitions
        .map(|partition| Ok((partition.id(), reader.fetch_watermarks(topic, partition.id(), LIMIT)?)))
        .collect()
}

impl MessageBody {
    fn of(message: &BorrowedMessage<'_>) -> MessageBody {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let headers = message.headers().into_iter().flat_map(Headers::iter).take(HEADERS_MAX);
        MessageBody {
            key: message.key().map(text),
            payload: message.payload().map(text).unwrap_or_default(),
            headers: headers
                .map(|header| (header.key.to_owned(), header.value.map(text).unwrap_or_default()))
                .collect(),
            partition: message.partition(),
            offset: message.offset(),
            at_ms: message.timestamp().to_millis().unwrap_or_default(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn routes(world: &SandboxShared) -> Router {
    Router::new()
        .route("/kafka", get(show).put(switch))
        .route("/kafka/{topic}", get(list).post(publish).delete(clear))
        .route_layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(Arc::clone(&world.kafka))
}

/// What people send to `PUT /kafka`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchBody {
    down: bool,
}

async fn show(State(kafka): State<Arc<Kafka>>) -> Result<Json<Value>, CallError> {
    let bootstrap = kafka.bootstrap().map_err(unavailable)?;
    Ok(Json(json!({"bootstrap": bootstrap})))
}

async fn switch(
    State(kafka): State<Arc<Kafka>>,
    JsonBody(body): JsonBody<SwitchBody>,
) -> Result<StatusCode, CallError> {
    kafka.set_down(body.down).map_err(unavailable)?;
    Ok(StatusCode::NO_CONTENT)
}

type TopicPath = Result<Path<String>, PathRejection>;

async fn publish(
    State(kafka): State<Arc<Kafka>>,
    topic: TopicPath,
    JsonBody(body): JsonBody<MessageBody>,
) -> Result<StatusCode, CallError> {
    let Path(topic) = topic?;
    if body.headers.len() > HEADERS_MAX {
        return Err(CallError::bad_request(format!("a message may have {HEADERS_MAX} headers")));
    }
    let headers: Vec<(String, String)> = body.headers.into_iter().collect();
    kafka.publish(&topic, body.key.as_deref(), &body.payload, &headers).await.map_err(unavailable)?;
    Ok(StatusCode::CREATED)
}

async fn list(State(kafka): State<Arc<Kafka>>, topic: TopicPath) -> Result<Json<Value>, CallError> {
    let Path(topic) = topic?;
    let messages = aside(move || kafka.list(&topic)).await?;
    Ok(Json(json!({"messages": messages})))
}

async fn clear(State(kafka): State<Arc<Kafka>>, topic: TopicPath) -> Result<StatusCode, CallError> {
    let Path(topic) = topic?;
    aside(move || kafka.clear(&topic)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The client waits without giving its thread back.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, CallError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(error.to_string())).map_err(unavailable)
}

fn unavailable(why: String) -> CallError {
    CallError::new(StatusCode::SERVICE_UNAVAILABLE, why)
}
