//! The way to one of the two services: few connections, few calls at a time, and no call made twice that
//! could do harm.

use std::time::Duration;

use http_client::{DriverError, ExternalSystem, NoAnswer, client_builder, explain, read_body};
use reqwest::header::CONNECTION;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::NebulaError;

/// A page of VMs or of documents fits many times over.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// `oned` closes a connection that was idle for 15 s.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// One for a read, one for a write, and one to spare.
const CONNECTIONS_MIN: usize = 3;
/// More than any `oned` takes.
const CONNECTIONS_MAX: usize = 1024;

/// A whole answer. It is not yet known to be a good one.
pub(super) struct RawReply {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
}

/// What is safe to do a second time when a connection ends without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// A read. It may use a connection that the external system is about to close.
    Once,
    /// A write. It gets a connection of its own, so that it is not lost to an old one.
    Never,
}

/// What both services share: a client that keeps its connections, and one that has a new one for each call.
#[derive(Clone)]
pub(super) struct Clients {
    kept: Client,
    fresh: Client,
    /// How many calls at a time, and how many of them are reads and writes where reads keep their connections.
    places: usize,
    reads: usize,
    writes: usize,
    timeout: Duration,
}

/// A quarter of the connections is for writes, and a quarter for those that are kept while idle, that are
/// closing, or that were opened for a call which found another one in time.
const QUARTERS: usize = 4;

impl Clients {
    pub(super) fn new(places: usize, timeout: Duration) -> Result<Clients, DriverError> {
        let system = ExternalSystem("opennebula");
        if !(CONNECTIONS_MIN..=CONNECTIONS_MAX).contains(&places) {
            let limits = format!("its connections must be {CONNECTIONS_MIN} to {CONNECTIONS_MAX}");
            return Err(system.refused(limits));
        }
        let writes = (places / QUARTERS).max(1);
        let spare = writes;
        let reads = places - writes - spare;
        let builder = || client_builder(timeout).timeout(timeout);
        let kept = builder().pool_idle_timeout(IDLE_MAX).pool_max_idle_per_host(spare);
        let fresh = builder().pool_max_idle_per_host(0);
        let (kept, fresh) = (system.client(kept)?, system.client(fresh)?);
        Ok(Clients { kept, fresh, places, reads, writes, timeout })
    }
}

pub(super) struct Connections {
    system: ExternalSystem,
    clients: Clients,
    reads: Semaphore,
    writes: Semaphore,
}

impl Connections {
    pub(super) fn new(system: ExternalSystem, clients: Clients) -> Connections {
        let (reads, writes) = (Semaphore::new(clients.reads), Semaphore::new(clients.writes));
        Connections { system, clients, reads, writes }
    }

    /// For a service that only gets calls with a connection of their own: all places are for them.
    pub(super) fn never_kept(system: ExternalSystem, clients: Clients) -> Connections {
        let (reads, writes) = (Semaphore::new(0), Semaphore::new(clients.places));
        Connections { system, clients, reads, writes }
    }

    /// Waits for a place, asks, and reads the whole answer.
    pub(super) async fn ask(
        &self,
        repeat: Repeat,
        request: impl Fn(&Client) -> RequestBuilder,
    ) -> Result<RawReply, NebulaError> {
        let places = match repeat {
            Repeat::Once => &self.reads,
            Repeat::Never => &self.writes,
        };
        let Ok(Ok(_place)) = timeout(self.clients.timeout, places.acquire()).await else {
            let cause = "too many calls of ours are under way; try again later".to_owned();
            return Err(NebulaError::TimedOut { service: self.system.0, cause, was_asked: false });
        };
        let sent = match repeat {
            Repeat::Never => self.alone(&request).await,
            Repeat::Once => match request(&self.clients.kept).send().await {
                Err(error) if ended_without_an_answer(&error) => self.alone(&request).await,
                sent => sent,
            },
        };
        let mut response = sent.map_err(|error| self.failed(error))?;
        let body = read_body(&mut response, ANSWER_BYTES_MAX).await.map_err(|error| match error {
            NoAnswer::Lost(error) => self.failed(error),
            NoAnswer::TooLong { bytes_max } => {
                NebulaError::broken(self.system.0, format!("the answer is longer than {bytes_max} bytes"))
            }
        })?;
        Ok(RawReply { status: response.status(), body })
    }

    /// On a connection of its own, which the external system closes as soon as it has answered.
    async fn alone(&self, request: impl Fn(&Client) -> RequestBuilder) -> reqwest::Result<Response> {
        request(&self.clients.fresh).header(CONNECTION, "close").send().await
    }

    fn failed(&self, error: reqwest::Error) -> NebulaError {
        let service = self.system.0;
        let (timed_out, was_asked) = (error.is_timeout(), !error.is_connect());
        let cause = explain(error);
        if timed_out {
            NebulaError::TimedOut { service, cause, was_asked }
        } else {
            NebulaError::Unreachable { service, cause, was_asked }
        }
    }
}

/// Neither a refused connection nor a timeout: those would only come again.
fn ended_without_an_answer(error: &reqwest::Error) -> bool {
    error.is_request() && !error.is_connect() && !error.is_timeout()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn without_a_place_no_one_is_asked() {
        let clients = Clients::new(3, Duration::from_millis(20)).unwrap();
        let connections = Connections::new(ExternalSystem("oned"), clients);
        let _all = connections.reads.acquire().await.unwrap();
        let reply = connections.ask(Repeat::Once, |_| panic!("a client was asked")).await;
        let error = reply.err().unwrap();
        assert!(matches!(error, NebulaError::TimedOut { service: "oned", .. }), "{error:?}");
        assert!(error.to_string().contains("under way"), "{error}");
    }
}
