//! The Kafka consumer.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use http_client::DriverError;
use rdkafka::consumer::{CommitMode, Consumer as _, StreamConsumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Headers as _, Message as _};
use tokio::sync::oneshot;
use tracing::debug;

use super::watch::DeliveryWatch;
use super::{KafkaOptions, MESSAGE_BYTES_MAX, SYSTEM, check_topic};

/// So many may be handed out and not done. Then `next` waits.
const OPEN_MAX: usize = 256;
/// Others are cut: no consumer needs more, and a message could bring thousands.
const HEADERS_MAX: usize = 64;
const HEADER_CHARS_MAX: usize = 16 * 1024;
/// What the client fetches ahead, in kilobytes.
const FETCHED_KBYTES_MAX: &str = "4096";
/// One batch of a broker. A longer one than this cannot be read at all.
const ANSWER_BYTES_MAX: &str = "67108864";
/// A broker that does not wake for a message keeps it this long.
const FETCH_WAIT_MS: &str = "50";
/// The messages of a member that died go to others after this time.
const SESSION_MS: &str = "10000";
/// A topic that is made later than its consumer is found within this time.
const LOOK_AROUND_MS: &str = "10000";
/// After an error that never ends, and before a commit is tried again.
const PAUSE: Duration = Duration::from_millis(500);
/// A consumer that closes leaves its group within this time, or is thrown out later.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

/// One member of a group that reads a topic.
///
/// A message counts as read when [`done`](Consumer::done) was called for it and for all before it in its partition. Until
/// then a crash, or a partition that goes to another member, brings it again.
///
/// It has to be asked for the [`next`](Consumer::next) message at least every five minutes. Otherwise the group believes
/// that it hangs, and gives its partitions to others.
pub struct Consumer {
    topic: String,
    // Given up before `owed`, so that the thread that commits is the one that closes it.
    stream: Arc<StreamConsumer<DeliveryWatch>>,
    /// Tells that thread that there is something to commit.
    owed: SyncSender<()>,
    /// Ends when that thread does.
    closed: oneshot::Receiver<()>,
}

/// One message.
#[derive(Clone, PartialEq, Eq)]
pub struct Received {
    pub topic: String,
    pub partition: i32,
    pub offset: i64,
    pub key: Option<String>,
    /// As it came. Empty where `unreadable` says why.
    pub payload: Vec<u8>,
    pub headers: Vec<(String, String)>,
    pub unreadable: Option<PayloadError>,
}

/// Why the payload of a message is not here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    #[error("the message has {bytes} bytes, and {MESSAGE_BYTES_MAX} are allowed")]
    TooLong { bytes: usize },
}

impl Consumer {
    /// Joins the group. A group that is new to the topic begins with the oldest message. Brokers that cannot be reached
    /// are no error: they are waited for. Must be called on a runtime.
    pub fn new(options: &KafkaOptions, topic: &str) -> Result<Consumer, DriverError> {
        check_topic(topic)?;
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(SYSTEM.refused("a consumer needs a runtime to be made on"));
        }
        let mut config = options.config()?;
        config
            .set("group.id", &options.group)
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("auto.offset.reset", "earliest")
            .set("session.timeout.ms", SESSION_MS)
            .set("fetch.wait.max.ms", FETCH_WAIT_MS)
            .set("topic.metadata.refresh.interval.ms", LOOK_AROUND_MS)
            .set("fetch.message.max.bytes", MESSAGE_BYTES_MAX.to_string())
            .set("queued.max.messages.kbytes", FETCHED_KBYTES_MAX)
            .set("receive.message.max.bytes", ANSWER_BYTES_MAX);
        let watch = DeliveryWatch::new(format!("the consumer of {topic}"));
        let stream: StreamConsumer<DeliveryWatch> = config
            .create_with_context(watch)
            .map_err(|error| SYSTEM.refused(format!("no consumer can be made: {error}")))?;
        stream
            .subscribe(&[topic])
            .map_err(|error| SYSTEM.refused(format!("{topic} cannot be read: {error}")))?;
        let stream = Arc::new(stream);
        let (owed, owes) = mpsc::sync_channel(1);
        let (ends, closed) = oneshot::channel();
        let kept = Arc::clone(&stream);
        let keep = move || {
            commit_until_closed(&kept, &owes);
            drop(kept);
            drop(ends);
        };
        let thread = thread::Builder::new().name("kafka-commit".into());
        thread.spawn(keep).map_err(|error| SYSTEM.refused(format!("no thread can be had: {error}")))?;
        Ok(Consumer { topic: topic.to_owned(), stream, owed, closed })
    }

    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// The next message, whenever it comes: errors of the brokers are waited out and logged once. Nothing is
    /// lost when this is given up half way.
    pub async fn next(&self) -> Received {
        let watch = self.stream.context();
        loop {
            let has_room = watch.progress().open() < OPEN_MAX;
            tokio::select! {
                message = self.stream.recv(), if has_room => match message {
                    Ok(message) => {
                        watch.log.well();
                        watch.progress().hand_out(message.partition(), message.offset());
                        return Received::of(&message);
                    }
                    // Messages and the turns of the group are behind the errors in the same queue, and an outage leaves
                    // hundreds of errors there. So only an error that never ends is a reason to pause.
                    Err(error) => {
                        if self.is_fatal(&error) {
                            tokio::time::sleep(PAUSE).await;
                        }
                    }
                },
                () = watch.room.notified() => {}
            }
        }
    }

    /// The message was dealt with and need not come again.
    pub fn done(&self, received: &Received) {
        let Received { partition, offset, .. } = *received;
        let watch = self.stream.context();
        let up_to = watch.progress().done(partition, offset);
        watch.room.notify_one();
        let Some(up_to) = up_to else { return };
        match self.stream.store_offset(&self.topic, partition, up_to) {
            // Full means that a consumer said so already.
            Ok(()) => drop(self.owed.try_send(())),
            // The partition has gone to another consumer, and the message with it.
            Err(error) => {
                debug!(partition, offset, %error, "message acknowledged after its partition was revoked");
            }
        }
    }

    /// Commits what is done and leaves the group in good order, so that others need not wait until it is missed.
    /// Dropping the consumer does the same without waiting for it.
    pub async fn close(self) {
        let Consumer { stream, owed, closed, .. } = self;
        drop(stream);
        drop(owed);
        let _ = tokio::time::timeout(CLOSE_LIMIT, closed).await;
    }

    /// Tells it once, as the errors of the connection are.
    fn is_fatal(&self, error: &KafkaError) -> bool {
        let log = &self.stream.context().log;
        match error {
            KafkaError::MessageConsumptionFatal(code) => log.is_dead(*code),
            other => log.error(other),
        }
        matches!(error, KafkaError::MessageConsumptionFatal(_))
    }
}

/// A commit waits for the brokers, and only then is it known whether it arrived. So it has a thread of its own, which
/// commits everything that is done by then. It ends with the consumer, which is closed here, because that waits too.
fn commit_until_closed(stream: &StreamConsumer<DeliveryWatch>, owes: &Receiver<()>) {
    let mut is_owing = false;
    loop {
        let asked =
            if is_owing { owes.recv_timeout(PAUSE) } else { owes.recv().map_err(RecvTimeoutError::from) };
        is_owing = match stream.commit_consumer_state(CommitMode::Sync) {
            Ok(()) | Err(KafkaError::ConsumerCommit(RDKafkaErrorCode::NoOffset)) => false,
            Err(error) => {
                stream.context().log.error(&error);
                true
            }
        };
        if asked == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

/// What it says, and for whom, is no consumer's business.
impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Received { topic, partition, offset, payload, unreadable, .. } = self;
        let mut shown = f.debug_struct("Received");
        shown.field("topic", topic).field("partition", partition).field("offset", offset);
        shown.field("bytes", &payload.len()).field("unreadable", unreadable).finish_non_exhaustive()
    }
}

impl Received {
    fn of(message: &BorrowedMessage<'_>) -> Received {
        let payload = message.payload().unwrap_or_default();
        let is_too_long = payload.len() > MESSAGE_BYTES_MAX;
        let headers = message.headers().into_iter().flat_map(|headers| headers.iter());
        let headers = headers.take(HEADERS_MAX).map(|header| {
            let value = String::from_utf8_lossy(header.value.unwrap_or_default());
            (header.key.to_owned(), value.chars().take(HEADER_CHARS_MAX).collect())
        });
        Received {
            topic: message.topic().to_owned(),
            partition: message.partition(),
            offset: message.offset(),
            key: message.key().map(|key| String::from_utf8_lossy(key).into_owned()),
            payload: if is_too_long { Vec::new() } else { payload.to_vec() },
            headers: headers.collect(),
            unreadable: is_too_long.then_some(PayloadError::TooLong { bytes: payload.len() }),
        }
    }

    /// The value of a header; names are compared as HTTP does.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}
