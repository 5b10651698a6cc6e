//! The log of one Kafka client: an error is logged once, and so is its end.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use serde::Deserialize;
use tracing::{debug, error, info, warn};

/// librdkafka repeats its errors with every attempt to connect; this logs each once.
#[derive(Debug)]
pub(super) struct ClientLog {
    /// The name of the client in log lines.
    client: String,
    last: Mutex<LastLogged>,
}

#[derive(Debug, Default)]
struct LastLogged {
    is_lost: bool,
    /// How many statistics in a row had a broker that was up.
    ups: u32,
    error_texts: Vec<RDKafkaErrorCode>,
}

/// A broker that starts accepts connections and drops them again. So it counts as back when this many statistics in a
/// row say so, or when a message was delivered.
const UPS: u32 = 2;

/// The part of the client's statistics that matters here.
#[derive(Deserialize)]
struct Statistics {
    brokers: std::collections::HashMap<String, BrokerLog>,
}

#[derive(Deserialize)]
struct BrokerLog {
    state: String,
}

impl ClientLog {
    pub(super) fn new(client: String) -> ClientLog {
        ClientLog { client, last: Mutex::default() }
    }

    pub(super) fn error(&self, error: &KafkaError) {
        self.failure(error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Unknown));
    }

    /// Log lines of librdkafka repeat its errors, once per broker and attempt.
    pub(super) fn chatter(&self, facility: &str, message: &str) {
        debug!(client = self.client, facility, message, "librdkafka");
    }

    /// One broker of several that fails is no warning: the client uses another.
    fn failure(&self, code: RDKafkaErrorCode) {
        use RDKafkaErrorCode as Code;
        let client = &self.client;
        match code {
            Code::AllBrokersDown => {
                let mut last = self.last();
                last.ups = 0;
                if !std::mem::replace(&mut last.is_lost, true) {
                    warn!(client, "no Kafka broker reachable, retrying");
                }
            }
            Code::BrokerTransportFailure | Code::Resolve | Code::OperationTimedOut | Code::BrokerDestroy => {
                debug!(client, %code, "Kafka broker not reachable");
            }
            Code::RebalanceInProgress
            | Code::IllegalGeneration
            | Code::UnknownMemberId
            | Code::WaitingForCoordinator
            | Code::NotCoordinator
            | Code::AssignmentLost => debug!(client, %code, "Kafka consumer group is rebalancing"),
            code => {
                if self.is_new(code) {
                    warn!(client, %code, "Kafka client error, retrying");
                }
            }
        }
    }

    /// The client has failed for good, and repeats that.
    pub(super) fn is_dead(&self, code: RDKafkaErrorCode) {
        if self.is_new(code) {
            let client = &self.client;
            error!(client, %code, "Kafka client failed for good; restart the server to receive messages again");
        }
    }

    fn is_new(&self, code: RDKafkaErrorCode) -> bool {
        let mut last = self.last();
        let is_new = !last.error_texts.contains(&code);
        if is_new {
            last.error_texts.push(code);
        }
        is_new
    }

    /// The client's statistics: a broker that is up means that the connection is back.
    pub(super) fn statistics(&self, json: &[u8]) {
        let Ok(statistics) = serde_json::from_slice::<Statistics>(json) else { return };
        let is_up = statistics.brokers.values().any(|broker| broker.state == "UP");
        let mut last = self.last();
        last.ups = if is_up { last.ups.saturating_add(1) } else { 0 };
        let is_back = last.ups >= UPS;
        drop(last);
        if is_back {
            self.is_back();
        }
    }

    /// A message was delivered, so nothing is wrong.
    pub(super) fn well(&self) {
        self.is_back();
        let error_texts = std::mem::take(&mut self.last().error_texts);
        if !error_texts.is_empty() {
            info!(client = self.client, "Kafka client recovered");
        }
    }

    fn is_back(&self) {
        if std::mem::take(&mut self.last().is_lost) {
            info!(client = self.client, "Kafka broker reachable again");
        }
    }

    fn last(&self) -> MutexGuard<'_, LastLogged> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(line: &ClientLog) -> (bool, usize) {
        let last = line.last();
        (last.is_lost, last.error_texts.len())
    }

    #[test]
    fn failure_is_remembered_until_the_opposite_is_known() {
        let line = ClientLog::new("a consumer".into());
        line.failure(RDKafkaErrorCode::BrokerTransportFailure);
        assert_eq!(state(&line), (false, 0));
        for _ in 0..3 {
            line.failure(RDKafkaErrorCode::AllBrokersDown);
            line.failure(RDKafkaErrorCode::TopicAuthorizationFailed);
        }
        assert_eq!(state(&line), (true, 1));
        let up = br#"{"brokers": {"a:1/1": {"state": "DOWN"}, "b:1/2": {"state": "UP"}}}"#;
        line.statistics(br#"{"brokers": {"a:1/1": {"state": "CONNECT"}}}"#);
        line.statistics(up);
        assert_eq!(state(&line), (true, 1), "a broker that starts may be gone again");
        line.failure(RDKafkaErrorCode::AllBrokersDown);
        line.statistics(up);
        assert_eq!(state(&line), (true, 1));
        line.statistics(up);
        assert_eq!(state(&line), (false, 1), "a connection says nothing about rights");
        line.well();
        assert_eq!(state(&line), (false, 0));
    }
}
