//! One watch for all runtimes of a back end: list, watch from there, resume, and list again where the server has
//! forgotten.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http_client::DriverError;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::observed::ObservedRuntime;
use super::resources::RuntimeResources;

const BACKOFF_MIN: Duration = Duration::from_millis(500);
const BACKOFF_MAX: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq)]
pub enum WatchEvent {
    /// Added or modified.
    Changed(Box<ObservedRuntime>),
    /// As it was when it went.
    Deleted(Box<ObservedRuntime>),
    /// Nothing else happened up to this version.
    Bookmark { resource_version: String },
    /// The server has forgotten what came after the version: list again.
    Expired,
}

/// The events of one watch.
#[async_trait]
pub trait RuntimeEvents: Send {
    /// None when the server ended the watch, which it does every few minutes.
    async fn next(&mut self) -> Result<Option<WatchEvent>, DriverError>;
}

/// What the loop found out.
#[derive(Debug, Clone, PartialEq)]
pub enum Observation {
    Changed(Box<ObservedRuntime>),
    Deleted {
        name: String,
        uid: String,
    },
    /// A whole list was delivered as changes. Runtimes that were not in it may be gone, and changes before it may never
    /// be delivered: look at each one that a step waits for.
    Relisted,
}

/// Watches until it is stopped. It keeps one version and no objects, so its memory does not grow with the runtimes.
pub struct WatchLoop {
    resources: Arc<dyn RuntimeResources>,
    stop: CancellationToken,
    backoff_min: Duration,
}

impl WatchLoop {
    pub fn new(resources: Arc<dyn RuntimeResources>, stop: CancellationToken) -> WatchLoop {
        WatchLoop { resources, stop, backoff_min: BACKOFF_MIN }
    }

    /// The first pause after an error; it doubles up to half a minute.
    #[must_use]
    pub fn backoff(self, backoff_min: Duration) -> WatchLoop {
        WatchLoop { backoff_min, ..self }
    }

    /// Hands each observation to `sink`, which should return at once: the next one waits for it.
    pub async fn run<F>(self, mut sink: F)
    where
        F: FnMut(Observation) + Send,
    {
        let stop = self.stop.clone();
        let watching = self.watch(&mut sink);
        let _ = stop.run_until_cancelled(watching).await;
    }

    async fn watch<F>(&self, sink: &mut F)
    where
        F: FnMut(Observation) + Send,
    {
        let mut version = None;
        let mut pause = self.backoff_min;
        loop {
            match self.pass(&mut version, sink).await {
                Ok(true) => pause = self.backoff_min,
                // A watch that ends at once without a line would otherwise be opened in a tight loop.
                Ok(false) => sleep(self.backoff_min).await,
                Err(error) => {
                    tracing::warn!(%error, retry_in = ?pause, "watch of runtimes failed, retrying");
                    sleep(pause).await;
                    pause = (pause * 2).min(BACKOFF_MAX);
                }
            }
        }
    }

    /// One watch from beginning to end. True if it brought something.
    async fn pass<F>(&self, version: &mut Option<String>, sink: &mut F) -> Result<bool, DriverError>
    where
        F: FnMut(Observation) + Send,
    {
        let from = match version {
            Some(version) => version.clone(),
            None => self.relist(sink).await?,
        };
        *version = Some(from.clone());
        let mut events = self.resources.watch(&from).await?;
        let mut brought = false;
        while let Some(event) = events.next().await? {
            brought = true;
            match event {
                WatchEvent::Changed(runtime) => {
                    *version = Some(runtime.resource_version.clone());
                    sink(Observation::Changed(runtime));
                }
                WatchEvent::Deleted(runtime) => {
                    *version = Some(runtime.resource_version.clone());
                    sink(Observation::Deleted { name: runtime.name, uid: runtime.uid });
                }
                WatchEvent::Bookmark { resource_version } => *version = Some(resource_version),
                WatchEvent::Expired => {
                    *version = None;
                    return Ok(false);
                }
            }
        }
        Ok(brought)
    }

    /// Delivers all runtimes, page by page, and answers the version to watch from.
    async fn relist<F>(&self, sink: &mut F) -> Result<String, DriverError>
    where
        F: FnMut(Observation) + Send,
    {
        let mut next = None;
        loop {
            let page = self.resources.list(None, next.as_deref()).await?;
            for runtime in page.items {
                sink(Observation::Changed(Box::new(runtime)));
            }
            next = page.next;
            if next.is_none() {
                sink(Observation::Relisted);
                return Ok(page.resource_version);
            }
        }
    }
}
