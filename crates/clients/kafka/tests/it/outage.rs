//! The broker stops and starts again under two replicas, which read as members of one group.

use std::collections::BTreeSet;
use std::time::Duration;

use kafka::{Consumer, KafkaOptions, Producer};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::broker::{self, KafkaBroker, Listener};
use crate::log::Log;
use crate::{Brokers, send_by, text};

const TOPIC: &str = "outage";
const WHOSE: &str = "the consumer of outage";
const LOST: &str = "no Kafka broker reachable";
const BACK: &str = "Kafka broker reachable again";
/// Long enough for the client to queue more errors than a reader that pauses after each can work off in time.
const AWAY: Duration = Duration::from_secs(12);
/// From the first message that the broker takes until both replicas have heard one.
const HEARD_WITHIN: Duration = Duration::from_secs(15);
/// The mock cluster has lost its members by then, and takes longer to put the group together anew.
const HEARD_WITHIN_MOCK: Duration = Duration::from_secs(45);

/// A real broker where that is possible, and one of librdkafka otherwise.
enum OutagePhase {
    Real(KafkaBroker),
    Mock(Brokers),
}

impl OutagePhase {
    async fn start() -> OutagePhase {
        match broker::jars() {
            Ok(jars) => {
                println!("kafka broker: Apache Kafka");
                OutagePhase::Real(KafkaBroker::new(jars, vec![Listener::plain()]).await)
            }
            Err(why) => {
                println!("kafka broker: librdkafka's mock cluster in place of Apache Kafka, because {why}");
                let brokers = Brokers::new(1).unwrap();
                brokers.create_topic(TOPIC, 2, 1).unwrap();
                OutagePhase::Mock(brokers)
            }
        }
    }

    fn address(&self) -> String {
        match self {
            OutagePhase::Real(broker) => broker.address(0),
            OutagePhase::Mock(brokers) => brokers.bootstrap_servers(),
        }
    }

    fn goes(&mut self) {
        match self {
            OutagePhase::Real(broker) => broker.kill(),
            OutagePhase::Mock(brokers) => brokers.broker_down(-1).unwrap(),
        }
    }

    async fn comes_back(&mut self) {
        match self {
            OutagePhase::Real(broker) => broker.start().await,
            OutagePhase::Mock(brokers) => brokers.broker_up(-1).unwrap(),
        }
    }
}

pub(crate) async fn events_are_heard_soon_after_an_outage(log: &Log) {
    let mut far = OutagePhase::start().await;
    let options = KafkaOptions { brokers: far.address(), group: TOPIC.into(), ..KafkaOptions::default() };
    let producer = Producer::new(&options).unwrap();
    send_until_taken(&producer, "first").await;
    let mut heard = replicas(&options);
    both_hear(&producer, &mut heard, "before").await;

    far.goes();
    crate::poll(|| log.count(WHOSE, LOST) == 2).await;
    tokio::time::sleep(AWAY).await;
    assert_eq!((log.count(WHOSE, LOST), log.count(WHOSE, BACK)), (2, 0), "it is told once that it is lost");

    far.comes_back().await;
    send_until_taken(&producer, "again").await;
    let within = if matches!(far, OutagePhase::Real(_)) { HEARD_WITHIN } else { HEARD_WITHIN_MOCK };
    let in_time = tokio::time::timeout(within, both_hear(&producer, &mut heard, "after")).await;
    assert!(in_time.is_ok(), "the replicas do not hear events {within:?} after the broker is back");
    crate::poll(|| log.count(WHOSE, BACK) == 2).await;
    assert_eq!(log.count(WHOSE, LOST), 2, "each change of state is told once");
}

/// Two members of the group. What each hears comes with its number.
fn replicas(options: &KafkaOptions) -> UnboundedReceiver<(usize, String)> {
    let (tell, heard) = unbounded_channel();
    for number in 0..2 {
        let (tell, consumer) = (tell.clone(), Consumer::new(options, TOPIC).unwrap());
        tokio::spawn(async move {
            loop {
                let got = consumer.next().await;
                consumer.done(&got);
                if tell.send((number, text(&got))).is_err() {
                    return consumer.close().await;
                }
            }
        });
    }
    heard
}

/// Sends messages for both partitions until both replicas have heard one of them.
async fn both_hear(producer: &Producer, heard: &mut UnboundedReceiver<(usize, String)>, word: &str) {
    let mut who = BTreeSet::new();
    for round in 0.. {
        for key in 0..8 {
            send_until_taken(producer, &format!("{word}-{round}-{key}")).await;
        }
        let listening = async {
            while who.len() < 2 {
                let (number, text) = heard.recv().await.unwrap();
                if text.starts_with(word) {
                    who.insert(number);
                }
            }
        };
        if tokio::time::timeout(Duration::from_secs(1), listening).await.is_ok() {
            return;
        }
    }
}

/// A broker that starts refuses messages for a moment.
async fn send_until_taken(producer: &Producer, message: &str) {
    while let Err(error) = send_by(producer, TOPIC, message).await {
        assert!(!error.is_final(), "{error}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
