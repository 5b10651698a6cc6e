//! One watch for all runtimes of a back end: list, watch from there, resume, and list again where the server has
//! forgotten.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http_client::DriverError;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::observed::ObservedRuntime;
use super::resources::RuntimeFeed;

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
    /// A whole list was compared with what was seen before: what differs was delivered as a change, and what is missing as
    /// a deletion. The first list delivers everything.
    Relisted,
}

/// A runtime as the loop saw it last.
struct SeenRuntime {
    uid: String,
    resource_version: String,
    /// The last list that had it.
    list: u64,
}

/// What the loop knows: where to resume, and what it saw.
#[derive(Default)]
struct WatchState {
    version: Option<String>,
    seen: HashMap<String, SeenRuntime>,
    /// How many lists were begun.
    lists: u64,
}

impl WatchState {
    /// Whether this is another runtime, or another version of it, than was seen last.
    fn see(&mut self, runtime: &ObservedRuntime) -> bool {
        let (uid, resource_version) = (runtime.uid.clone(), runtime.resource_version.clone());
        let now = SeenRuntime { uid, resource_version, list: self.lists };
        let before = self.seen.insert(runtime.name.clone(), now);
        before.is_none_or(|before| {
            (&before.uid, &before.resource_version) != (&runtime.uid, &runtime.resource_version)
        })
    }

    /// Forgets what the last list did not have, and answers what that was.
    fn forget_missing(&mut self) -> Vec<(String, SeenRuntime)> {
        let list = self.lists;
        self.seen.extract_if(|_, seen| seen.list != list).collect()
    }
}

/// Watches until it is stopped. It keeps the version of each runtime and no objects: about 200 bytes each.
pub struct WatchLoop {
    resources: Arc<dyn RuntimeFeed>,
    stop: CancellationToken,
    backoff_min: Duration,
}

impl WatchLoop {
    pub fn new(resources: Arc<dyn RuntimeFeed>, stop: CancellationToken) -> WatchLoop {
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
        let mut state = WatchState::default();
        let mut pause = self.backoff_min;
        loop {
            match self.pass(&mut state, sink).await {
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
    async fn pass<F>(&self, state: &mut WatchState, sink: &mut F) -> Result<bool, DriverError>
    where
        F: FnMut(Observation) + Send,
    {
        let from = match &state.version {
            Some(version) => version.clone(),
            None => self.relist(state, sink).await?,
        };
        state.version = Some(from.clone());
        let mut events = self.resources.watch(&from).await?;
        let mut brought = false;
        while let Some(event) = events.next().await? {
            brought = true;
            match event {
                WatchEvent::Changed(runtime) => {
                    state.version = Some(runtime.resource_version.clone());
                    state.see(&runtime);
                    sink(Observation::Changed(runtime));
                }
                WatchEvent::Deleted(runtime) => {
                    state.version = Some(runtime.resource_version.clone());
                    state.seen.remove(&runtime.name);
                    sink(Observation::Deleted { name: runtime.name, uid: runtime.uid });
                }
                WatchEvent::Bookmark { resource_version } => state.version = Some(resource_version),
                WatchEvent::Expired => {
                    state.version = None;
                    return Ok(false);
                }
            }
        }
        Ok(brought)
    }

    /// Delivers what changed, page by page, and what is gone, and answers the version to watch from.
    async fn relist<F>(&self, state: &mut WatchState, sink: &mut F) -> Result<String, DriverError>
    where
        F: FnMut(Observation) + Send,
    {
        let mut next = None;
        state.lists += 1;
        loop {
            let page = self.resources.list(None, next.as_deref()).await?;
            for runtime in page.items {
                if state.see(&runtime) {
                    sink(Observation::Changed(Box::new(runtime)));
                }
            }
            next = page.next;
            if next.is_none() {
                for (name, SeenRuntime { uid, .. }) in state.forget_missing() {
                    sink(Observation::Deleted { name, uid });
                }
                sink(Observation::Relisted);
                return Ok(page.resource_version);
            }
        }
    }
}
