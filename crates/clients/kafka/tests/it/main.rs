//! Kafka, against the cluster that the client library brings for tests, and an outage against a real broker. All checks
//! run at once, because joining a group takes seconds, and each ends the program when it fails.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod broker;
#[path = "../../../../provision-engine/tests/cli/tls/certificates.rs"]
mod certificates;
mod log;
mod outage;
mod secure;

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::{FutureExt, join_all};
use http_client::DriverError;
use kafka::{Consumer, KafkaOptions, MESSAGE_BYTES_MAX, Message, PayloadError, Producer, Received};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{DefaultProducerContext, FutureProducer, FutureRecord};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use rdkafka::util::Timeout;

use self::log::Log;

type Brokers = MockCluster<'static, DefaultProducerContext>;

/// Far above what any check needs.
const LIMIT: Duration = Duration::from_secs(150);

fn main() {
    let log = Log::default();
    let sink = log.clone();
    tracing_subscriber::fmt().with_ansi(false).with_writer(move || sink.clone()).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let shared = Brokers::new(1).unwrap();
        let shared = &shared;
        let checks = [
            check("what is sent arrives as it was", what_is_sent_arrives_as_it_was(shared)).boxed_local(),
            check("what is not done comes again", what_is_not_done_comes_again(shared)).boxed_local(),
            check("nothing is committed before it is done", nothing_is_committed_before_it_is_done(shared))
                .boxed_local(),
            check("a commit that fails is tried again", a_commit_that_fails_is_tried_again()).boxed_local(),
            check("members share the work", members_share_the_work(shared)).boxed_local(),
            check("a dead letter says why", a_dead_letter_says_why(shared)).boxed_local(),
            check("too long is said and not handed out", too_long_is_said_and_not_handed_out(shared))
                .boxed_local(),
            check("no more than a few are open", no_more_than_a_few_are_open(shared)).boxed_local(),
            check("brokers may go and come back", brokers_may_go_and_come_back(&log)).boxed_local(),
            check("an absent system is reported in time", no_one_there_is_told_in_time()).boxed_local(),
            check("a producer does without an id", a_producer_does_without_an_id(&log)).boxed_local(),
            check(
                "events are heard soon after an outage",
                outage::events_are_heard_soon_after_an_outage(&log),
            )
            .boxed_local(),
            check(
                "brokers with TLS and SASL are spoken to",
                secure::brokers_with_tls_and_sasl_are_spoken_to(),
            )
            .boxed_local(),
        ];
        let passed: u32 = join_all(checks).await.into_iter().sum();
        println!("kafka: {passed} checks passed");
    });
}

/// Runs a check unless words on the command line ask for others.
async fn check(name: &str, work: impl Future<Output = ()>) -> u32 {
    let mut asked = std::env::args().skip(1).filter(|word| !word.starts_with('-')).peekable();
    if asked.peek().is_some() && !asked.any(|word| name.contains(&word)) {
        return 0;
    }
    assert!(tokio::time::timeout(LIMIT, work).await.is_ok(), "{name}: it takes too long");
    1
}

async fn what_is_sent_arrives_as_it_was(brokers: &Brokers) {
    let producer = Producer::new(&options(brokers, "arrive")).unwrap();
    let sent = Message {
        topic: "arrive".into(),
        key: Some("k".into()),
        payload: r#"{"a": "ä"}"#.into(),
        headers: vec![("x-rh-identity".into(), "me".into()), ("event_type".into(), "b".into())],
    };
    producer.send(sent.clone()).await.unwrap();
    let consumer = Consumer::new(&options(brokers, "arrive"), "arrive").unwrap();
    let got = consumer.next().await;
    assert_eq!((got.key.as_deref(), got.header("X-RH-Identity")), (Some("k"), Some("me")));
    assert_eq!(
        (got.payload.as_slice(), got.headers.clone()),
        (sent.payload.as_bytes(), sent.headers.clone())
    );
    for shown in [format!("{got:?}"), format!("{sent:?}")] {
        assert!(!shown.contains("me\"") && !shown.contains('ä'), "{shown}");
    }
    let refused = producer.send(Message { topic: "not a topic".into(), ..sent }).await.unwrap_err();
    assert!(refused.is_final(), "{refused}");
}

async fn what_is_not_done_comes_again(brokers: &Brokers) {
    let (topic, options) = (one_partition(brokers, "again"), options(brokers, "again"));
    send(&options, &topic, ["a", "b", "c"]).await;
    let first = Consumer::new(&options, &topic).unwrap();
    let got = [first.next().await, first.next().await, first.next().await];
    assert_eq!(got.each_ref().map(text), ["a", "b", "c"]);
    first.done(&got[2]);
    first.done(&got[0]);
    // The consumer that takes over earlier gets the first one again too.
    while committed(&options, &topic).await != Some(1) {
        tokio::task::yield_now().await;
    }
    // As good as killed: it is gone without another word.
    drop(first);
    let second = Consumer::new(&options, &topic).unwrap();
    assert_eq!([text(&second.next().await), text(&second.next().await)], ["b", "c"]);
}

async fn nothing_is_committed_before_it_is_done(brokers: &Brokers) {
    let (topic, options) = (one_partition(brokers, "commit"), options(brokers, "commit"));
    send(&options, &topic, ["a", "b"]).await;
    let consumer = Consumer::new(&options, &topic).unwrap();
    let (a, b) = (consumer.next().await, consumer.next().await);
    assert_eq!(committed(&options, &topic).await, None);
    consumer.done(&b);
    assert_eq!(committed(&options, &topic).await, None, "the one before is not done");
    consumer.done(&a);
    while committed(&options, &topic).await != Some(2) {
        tokio::task::yield_now().await;
    }
    send(&options, &topic, ["c"]).await;
    assert_eq!(text(&consumer.next().await), "c");
    consumer.close().await;
    assert_eq!(committed(&options, &topic).await, Some(2), "to leave is not to be done");
}

async fn a_commit_that_fails_is_tried_again() {
    let brokers = Brokers::new(1).unwrap();
    let (topic, options) = (one_partition(&brokers, "fail"), options(&brokers, "fail"));
    send(&options, &topic, ["a"]).await;
    let consumer = Consumer::new(&options, &topic).unwrap();
    let a = consumer.next().await;
    let error = RDKafkaRespErr::RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
    brokers.request_errors(RDKafkaApiKey::OffsetCommit, &[error, error]);
    consumer.done(&a);
    let arrives = async {
        while committed(&options, &topic).await != Some(1) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = consumer.next() => panic!("there is one message only"),
        () = arrives => {}
    }
}

async fn members_share_the_work(brokers: &Brokers) {
    brokers.create_topic("share", 4, 1).unwrap();
    let options = options(brokers, "share");
    let members = [(); 2].map(|()| Consumer::new(&options, "share").unwrap());
    // While the group finds together a message may come twice, and one member may get all of them.
    let mut round = 0;
    loop {
        let got = share_out(&options, &members, round).await;
        round += 1;
        let [first, second] = got.each_ref().map(|all| all.iter().map(|one| one.partition).collect());
        let (first, second): (BTreeSet<i32>, BTreeSet<i32>) = (first, second);
        let is_once = got.iter().map(Vec::len).sum::<usize>() == SHARED;
        if is_once && !first.is_empty() && !second.is_empty() && first.is_disjoint(&second) {
            break;
        }
    }
    // From now on each has its partitions, and no other consumer reads them.
    let got = share_out(&options, &members, round).await;
    let [by_first, by_second] = got.each_ref().map(|all| all.iter().map(text).collect::<BTreeSet<_>>());
    assert_eq!(got.iter().map(Vec::len).sum::<usize>(), SHARED, "a message came twice");
    assert!(by_first.is_disjoint(&by_second));
    assert!(by_first.len() > 5 && by_second.len() > 5, "{} and {}", by_first.len(), by_second.len());
    let [first, second] = members;
    first.close().await;
    let names = names(round + 1);
    send(&options, "share", names.iter().map(String::as_str)).await;
    let mut again = BTreeSet::new();
    while again.len() < names.len() {
        let got = second.next().await;
        second.done(&got);
        again.insert(text(&got));
    }
}

/// So many messages are in one round.
const SHARED: usize = 40;

fn names(round: usize) -> Vec<String> {
    (0..SHARED).map(|number| format!("m{round}-{number}")).collect()
}

/// Sends one round, and answers what each member was handed until all of it had come.
async fn share_out(options: &KafkaOptions, members: &[Consumer; 2], round: usize) -> [Vec<Received>; 2] {
    let names = names(round);
    send(options, "share", names.iter().map(String::as_str)).await;
    let mut missing: BTreeSet<String> = names.into_iter().collect();
    let mut handed = [Vec::new(), Vec::new()];
    while !missing.is_empty() {
        let (number, got) = tokio::select! {
            got = members[0].next() => (0, got),
            got = members[1].next() => (1, got),
        };
        members[number].done(&got);
        missing.remove(&text(&got));
        handed[number].push(got);
    }
    handed
}

async fn a_dead_letter_says_why(brokers: &Brokers) {
    let (topic, options) = (one_partition(brokers, "letters"), options(brokers, "letters"));
    send_raw(brokers, &topic, b"\xff\x00 not text").await;
    let consumer = Consumer::new(&options, &topic).unwrap();
    let got = consumer.next().await;
    let producer = Producer::new(&options).unwrap();
    producer.dead_letter(&got, "it is not JSON").await.unwrap();
    consumer.done(&got);
    let [digger, deep_digger] = ["digger", "deep-digger"].map(|group| self::options(brokers, group));
    let buried = Consumer::new(&digger, "letters.dead-letter").unwrap().next().await;
    assert_eq!(buried.payload, b"\xff\x00 not text");
    let said =
        ["reason", "topic", "partition", "offset"].map(|what| buried.header(&format!("dead-letter-{what}")));
    assert_eq!(said, [Some("it is not JSON"), Some("letters"), Some("0"), Some("0")]);
    // A letter that is buried again says where it was last.
    producer.dead_letter(&buried, "still not").await.unwrap();
    let deeper = Consumer::new(&deep_digger, "letters.dead-letter.dead-letter").unwrap().next().await;
    assert_eq!(deeper.header("dead-letter-topic"), Some("letters.dead-letter"));
    assert_eq!(deeper.headers.len(), 4);
}

async fn too_long_is_said_and_not_handed_out(brokers: &Brokers) {
    let (topic, options) = (one_partition(brokers, "long"), options(brokers, "long"));
    let producer = Producer::new(&options).unwrap();
    let long = "x".repeat(MESSAGE_BYTES_MAX + 1);
    let message = Message { topic: topic.clone(), key: None, payload: long.clone(), headers: Vec::new() };
    let error = producer.send(message).await.unwrap_err();
    assert!(error.is_final() && error.to_string().contains("1000001 bytes"), "{error}");
    send_raw(brokers, &topic, long.as_bytes()).await;
    send(&options, &topic, ["short"]).await;
    let consumer = Consumer::new(&options, &topic).unwrap();
    let (got, next) = (consumer.next().await, consumer.next().await);
    assert_eq!(
        (got.payload.len(), got.unreadable),
        (0, Some(PayloadError::TooLong { bytes: MESSAGE_BYTES_MAX + 1 }))
    );
    assert_eq!((text(&next), next.unreadable), ("short".into(), None));
}

async fn no_more_than_a_few_are_open(brokers: &Brokers) {
    let (topic, options) = (one_partition(brokers, "open"), options(brokers, "open"));
    let names: Vec<String> = (0..257).map(|number| number.to_string()).collect();
    send(&options, &topic, names.iter().map(String::as_str)).await;
    let consumer = Consumer::new(&options, &topic).unwrap();
    let mut open = Vec::new();
    for _ in 0..256 {
        open.push(consumer.next().await);
    }
    let waited = tokio::time::timeout(Duration::from_millis(300), consumer.next()).await;
    assert!(waited.is_err(), "a message more than allowed");
    consumer.done(&open[0]);
    assert_eq!(text(&consumer.next().await), "256");
}

async fn brokers_may_go_and_come_back(log: &Log) {
    let brokers = Brokers::new(1).unwrap();
    let (topic, options) = (one_partition(&brokers, "away"), options(&brokers, "away"));
    let producer = Producer::new(&options).unwrap();
    let consumer = Consumer::new(&options, &topic).unwrap();
    send_by(&producer, &topic, "before").await.unwrap();
    let got = consumer.next().await;
    consumer.done(&got);
    // Otherwise it comes again when they are back.
    while committed(&options, &topic).await != Some(1) {
        tokio::task::yield_now().await;
    }
    brokers.broker_down(-1).unwrap();
    let whose = "the consumer of away";
    // A sender who does not know whether it went out sends it again.
    let sending = async {
        while let Err(error) = send_by(&producer, &topic, "meanwhile").await {
            assert!(matches!(error, DriverError::Unreachable { .. }), "{error}");
        }
    };
    let (got, (), ()) = tokio::join!(consumer.next(), sending, async {
        log.until(whose, "no Kafka broker reachable").await;
        brokers.broker_up(-1).unwrap();
    });
    assert_eq!(text(&got), "meanwhile");
    // Told once for each change. While they come back, a connection may be made and lost once more.
    let gone = log.count(whose, "no Kafka broker reachable");
    let back = log.count(whose, "Kafka broker reachable again");
    assert!((1..=3).contains(&gone) && gone == back, "gone {gone} times, back {back} times");
}

async fn no_one_there_is_told_in_time() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let brokers = listener.local_addr().unwrap().to_string();
    drop(listener);
    let producer =
        Producer::new(&KafkaOptions { brokers, group: "g".into(), ..KafkaOptions::default() }).unwrap();
    let error = send_by(&producer, "unknown", "a").await.unwrap_err();
    assert!(matches!(error, DriverError::Unreachable { .. }), "{error}");
}

async fn a_producer_does_without_an_id(log: &Log) {
    let brokers = Brokers::new(1).unwrap();
    let error = RDKafkaRespErr::RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;
    brokers.request_errors(RDKafkaApiKey::InitProducerId, &[error; 3]);
    let producer = Producer::new(&options(&brokers, "id")).unwrap();
    let error = send_by(&producer, "id", "a").await.unwrap_err();
    assert!(!error.is_final(), "{error}");
    assert_eq!(log.count("is_idempotent=false", "recreating"), 1);
    send_by(&producer, "id", "a").await.unwrap();
}

fn options(brokers: &Brokers, group: &str) -> KafkaOptions {
    KafkaOptions { brokers: brokers.bootstrap_servers(), group: group.into(), ..KafkaOptions::default() }
}

fn one_partition(brokers: &Brokers, topic: &str) -> String {
    brokers.create_topic(topic, 1, 1).unwrap();
    topic.into()
}

async fn send<'a>(options: &KafkaOptions, topic: &str, payloads: impl IntoIterator<Item = &'a str>) {
    let producer = Producer::new(options).unwrap();
    for payload in payloads {
        send_by(&producer, topic, payload).await.unwrap();
    }
}

async fn send_by(producer: &Producer, topic: &str, payload: &str) -> Result<(), DriverError> {
    let (topic, key) = (topic.to_owned(), Some(payload.to_owned()));
    producer.send(Message { topic, key, payload: payload.into(), headers: Vec::new() }).await
}

/// What our own producer does not send.
async fn send_raw(brokers: &Brokers, topic: &str, payload: &[u8]) {
    let producer: FutureProducer = ClientConfig::new()
        .set("bootstrap.servers", brokers.bootstrap_servers())
        .set("message.max.bytes", "2000000")
        .create()
        .unwrap();
    let record = FutureRecord::<str, [u8]>::to(topic).payload(payload);
    producer.send(record, Timeout::Never).await.unwrap();
}

/// The next offset that the group reads in the only partition.
async fn committed(options: &KafkaOptions, topic: &str) -> Option<i64> {
    let (options, topic) = (options.clone(), topic.to_owned());
    let ask = move || {
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", &options.brokers)
            .set("group.id", &options.group)
            .create()
            .unwrap();
        let mut list = TopicPartitionList::new();
        list.add_partition(&topic, 0);
        let list = consumer.committed_offsets(list, Duration::from_secs(10)).unwrap();
        match list.elements()[0].offset() {
            Offset::Offset(offset) => Some(offset),
            _ => None,
        }
    };
    tokio::task::spawn_blocking(ask).await.unwrap()
}

fn text(received: &Received) -> String {
    String::from_utf8(received.payload.clone()).unwrap()
}

async fn poll(is_true: impl Fn() -> bool) {
    while !is_true() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
