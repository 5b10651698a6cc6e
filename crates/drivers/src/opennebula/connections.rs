//! The way to one of the two services: few connections, few calls at a time, and no call made twice that
//! could do harm.

use std::time::Duration;

use reqwest::{Client, RequestBuilder, StatusCode};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::NebulaError;
use crate::answer::{System, client_builder};
use crate::error::DriverError;

/// A page of machines or of documents fits many times over.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// `oned` closes a connection that was idle for 15 s.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// More than any `oned` takes.
const CONNECTIONS_MAX: usize = 1024;

/// A whole answer. It is not yet known to be a good one.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
}

/// What is safe to do a second time when a connection ends without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// A read. It may use a connection that the far side is about to close.
    Once,
    /// A write. It gets a connection of its own, so that it is not lost to an old one.
    Never,
}

/// What both services share: a client that keeps its connections, and one that has a new one for each call.
#[derive(Clone)]
pub(super) struct Clients {
    kept: Client,
    fresh: Client,
    /// How many reads and how many writes at a time. Connections that are kept stay open while nobody uses
    /// them, so together these are the connections that are allowed.
    reads: usize,
    writes: usize,
    timeout: Duration,
}

/// One write for three reads: devices poll.
const READS_PER_WRITE: usize = 3;

impl Clients {
    pub(super) fn new(places: usize, timeout: Duration) -> Result<Clients, DriverError> {
        let system = System("opennebula");
        if !(2..=CONNECTIONS_MAX).contains(&places) {
            let limits = format!("the number of its connections must be 2 to {CONNECTIONS_MAX}");
            return Err(system.refused(limits));
        }
        let writes = (places / (READS_PER_WRITE + 1)).max(1);
        let reads = places - writes;
        let builder = || client_builder(timeout).timeout(timeout);
        let kept = builder().pool_idle_timeout(IDLE_MAX).pool_max_idle_per_host(reads);
        let fresh = builder().pool_max_idle_per_host(0);
        Ok(Clients { kept: system.client(kept)?, fresh: system.client(fresh)?, reads, writes, timeout })
    }
}

pub(super) struct Connections {
    system: System,
    clients: Clients,
    reads: Semaphore,
    writes: Semaphore,
}

impl Connections {
    pub(super) fn new(system: System, clients: Clients) -> Connections {
        let (reads, writes) = (Semaphore::new(clients.reads), Semaphore::new(clients.writes));
        Connections { system, clients, reads, writes }
    }

    /// Waits for a place, asks, and reads the whole answer.
    pub(super) async fn ask(
        &self,
        repeat: Repeat,
        request: impl Fn(&Client) -> RequestBuilder,
    ) -> Result<Reply, NebulaError> {
        let places = match repeat {
            Repeat::Once => &self.reads,
            Repeat::Never => &self.writes,
        };
        let Ok(Ok(_place)) = timeout(self.clients.timeout, places.acquire()).await else {
            let cause = "too many calls of ours are under way; try again later".to_owned();
            return Err(NebulaError::TimedOut { service: self.system.0, cause });
        };
        let sent = match repeat {
            Repeat::Never => request(&self.clients.fresh).send().await,
            Repeat::Once => match request(&self.clients.kept).send().await {
                Err(error) if ended_without_an_answer(&error) => request(&self.clients.fresh).send().await,
                sent => sent,
            },
        };
        let mut response = sent.map_err(|error| self.failed(error))?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(error))? {
            if body.len() + chunk.len() > ANSWER_BYTES_MAX {
                let cause = format!("the answer is longer than {ANSWER_BYTES_MAX} bytes");
                return Err(NebulaError::broken(self.system.0, cause));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Reply { status: response.status(), body })
    }

    fn failed(&self, error: reqwest::Error) -> NebulaError {
        let service = self.system.0;
        let timed_out = error.is_timeout();
        let cause = match self.system.unreachable(error) {
            DriverError::Unreachable { cause, .. } => cause,
            other => other.to_string(),
        };
        if timed_out {
            NebulaError::TimedOut { service, cause }
        } else {
            NebulaError::Unreachable { service, cause }
        }
    }
}

/// Neither "nobody is there" nor "it takes too long": those would only come again.
fn ended_without_an_answer(error: &reqwest::Error) -> bool {
    error.is_request() && !error.is_connect() && !error.is_timeout()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn without_a_place_nobody_is_asked() {
        let clients = Clients::new(2, Duration::from_millis(20)).unwrap();
        let connections = Connections::new(System("oned"), clients);
        let _all = connections.reads.acquire().await.unwrap();
        let reply = connections.ask(Repeat::Once, |_| panic!("somebody was asked")).await;
        let error = reply.err().unwrap();
        assert!(matches!(error, NebulaError::TimedOut { service: "oned", .. }), "{error:?}");
        assert!(error.to_string().contains("under way"), "{error}");
    }
}
