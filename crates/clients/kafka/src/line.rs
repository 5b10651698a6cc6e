//! The line to the brokers: what is wrong with it is told once, and so is that it is over.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use serde::Deserialize;
use tracing::{debug, error, info, warn};

/// One client's line. Its errors come again with every try to connect, and a log is no place to count them.
#[derive(Debug)]
pub(super) struct ClientLog {
    /// Who speaks over it, for the log.
    whose: String,
    told: Mutex<LastLogged>,
}

#[derive(Debug, Default)]
struct LastLogged {
    is_lost: bool,
    /// How many statistics in a row had a broker that was up.
    ups: u32,
    error_texts: Vec<RDKafkaErrorCode>,
}

/// A broker that starts takes connections and drops them again. So it counts as back when this many statistics in a
/// row say so, or when a message went over the line.
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
    pub(super) fn new(whose: String) -> ClientLog {
        ClientLog { whose, told: Mutex::default() }
    }

    pub(super) fn error(&self, error: &KafkaError) {
        self.failure(error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Unknown));
    }

    /// What the client says to itself repeats its errors, once per broker and try.
    pub(super) fn chatter(&self, facility: &str, message: &str) {
        debug!(whose = self.whose, facility, message, "librdkafka");
    }

    /// Something went wrong. One broker of several is no reason to speak up: the client goes to another.
    fn failure(&self, code: RDKafkaErrorCode) {
        use RDKafkaErrorCode as Code;
        let whose = &self.whose;
        match code {
            Code::AllBrokersDown => {
                let mut told = self.told();
                told.ups = 0;
                if !std::mem::replace(&mut told.is_lost, true) {
                    warn!(whose, "no Kafka broker reachable, retrying");
                }
            }
            Code::BrokerTransportFailure | Code::Resolve | Code::OperationTimedOut | Code::BrokerDestroy => {
                debug!(whose, %code, "Kafka broker not reachable");
            }
            Code::RebalanceInProgress
            | Code::IllegalGeneration
            | Code::UnknownMemberId
            | Code::WaitingForCoordinator
            | Code::NotCoordinator
            | Code::AssignmentLost => debug!(whose, %code, "Kafka consumer group is rebalancing"),
            code => {
                if self.is_new(code) {
                    warn!(whose, %code, "Kafka client error, retrying");
                }
            }
        }
    }

    /// The client does not work any longer, and says so again and again.
    pub(super) fn is_dead(&self, code: RDKafkaErrorCode) {
        if self.is_new(code) {
            let whose = &self.whose;
            error!(whose, %code, "Kafka client failed for good; restart the server to receive messages again");
        }
    }

    fn is_new(&self, code: RDKafkaErrorCode) -> bool {
        let mut told = self.told();
        let is_new = !told.error_texts.contains(&code);
        if is_new {
            told.error_texts.push(code);
        }
        is_new
    }

    /// The client's statistics: a broker that is up means that the line is there again.
    pub(super) fn statistics(&self, json: &[u8]) {
        let Ok(statistics) = serde_json::from_slice::<Statistics>(json) else { return };
        let is_up = statistics.brokers.values().any(|broker| broker.state == "UP");
        let mut told = self.told();
        told.ups = if is_up { told.ups.saturating_add(1) } else { 0 };
        let is_back = told.ups >= UPS;
        drop(told);
        if is_back {
            self.is_back();
        }
    }

    /// A message went over the line, so nothing is wrong with it.
    pub(super) fn well(&self) {
        self.is_back();
        let error_texts = std::mem::take(&mut self.told().error_texts);
        if !error_texts.is_empty() {
            info!(whose = self.whose, "Kafka client recovered");
        }
    }

    fn is_back(&self) {
        if std::mem::take(&mut self.told().is_lost) {
            info!(whose = self.whose, "Kafka broker reachable again");
        }
    }

    fn told(&self) -> MutexGuard<'_, LastLogged> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(line: &ClientLog) -> (bool, usize) {
        let told = line.told();
        (told.is_lost, told.error_texts.len())
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
