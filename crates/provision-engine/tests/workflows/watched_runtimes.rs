//! Runtimes of Infrastructure Manager in memory, for tests in virtual time: what is read, listed and watched, how often,
//! and events that the test sends or loses.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ::http_client::DriverError;
use ::infrastructure_manager::{ObservedRuntime, RuntimeEvents, RuntimeFeed, RuntimeList, WatchEvent};
use async_trait::async_trait;
use serde_json::json;
use tokio::sync::broadcast;

const PAGE: usize = 500;

/// The runtimes, whichever replica asks.
pub(crate) struct WatchedRuntimes {
    /// By name: whether it is Ready.
    states: Mutex<BTreeMap<String, bool>>,
    events: broadcast::Sender<WatchEvent>,
}

/// One replica's way to them, with its own counts.
pub(crate) struct CountedRuntimes {
    runtimes: Arc<WatchedRuntimes>,
    pub(crate) gets: AtomicUsize,
    pub(crate) lists: AtomicUsize,
    pub(crate) watches: AtomicUsize,
    /// Watches that are open now.
    pub(crate) open: Arc<AtomicUsize>,
}

pub(crate) fn instance_of(name: &str) -> String {
    format!("instance-of-{name}")
}

impl WatchedRuntimes {
    pub(crate) fn new(names: impl IntoIterator<Item = String>) -> Arc<WatchedRuntimes> {
        let states = names.into_iter().map(|name| (name, false)).collect();
        Arc::new(WatchedRuntimes { states: Mutex::new(states), events: broadcast::channel(64).0 })
    }

    pub(crate) fn client(self: &Arc<Self>) -> Arc<CountedRuntimes> {
        Arc::new(CountedRuntimes {
            runtimes: Arc::clone(self),
            gets: AtomicUsize::default(),
            lists: AtomicUsize::default(),
            watches: AtomicUsize::default(),
            open: Arc::default(),
        })
    }

    /// It becomes Ready, and no event says so.
    pub(crate) fn make_ready(&self, name: &str) {
        self.states.lock().unwrap().insert(name.to_owned(), true);
    }

    pub(crate) fn remove(&self, name: &str) {
        self.states.lock().unwrap().remove(name);
    }

    pub(crate) fn send(&self, event: WatchEvent) {
        self.events.send(event).unwrap();
    }

    pub(crate) fn observed(&self, name: &str) -> ObservedRuntime {
        observed(name, self.states.lock().unwrap().get(name).copied().unwrap_or_default())
    }
}

fn observed(name: &str, is_ready: bool) -> ObservedRuntime {
    let (state, version) = if is_ready { ("Ready", "2") } else { ("Pending", "1") };
    let object = json!({
        "metadata": {"name": name, "uid": format!("uid-of-{name}"), "resourceVersion": version, "generation": 1,
            "labels": {"kyma-project.io/instance-id": instance_of(name)}},
        "spec": {},
        "status": {"state": state, "provisioningCompleted": is_ready},
    });
    serde_json::from_value(object).unwrap()
}

struct Events {
    events: broadcast::Receiver<WatchEvent>,
    open: Arc<AtomicUsize>,
}

impl Drop for Events {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl RuntimeEvents for Events {
    async fn next(&mut self) -> Result<Option<WatchEvent>, DriverError> {
        Ok(self.events.recv().await.ok())
    }
}

impl CountedRuntimes {
    pub(crate) fn get(&self, name: &str) -> Option<ObservedRuntime> {
        self.gets.fetch_add(1, Ordering::SeqCst);
        let state = self.runtimes.states.lock().unwrap().get(name).copied();
        state.map(|is_ready| observed(name, is_ready))
    }
}

#[async_trait]
impl RuntimeFeed for CountedRuntimes {
    async fn list(&self, _: Option<&str>, next: Option<&str>) -> Result<RuntimeList, DriverError> {
        self.lists.fetch_add(1, Ordering::SeqCst);
        let states = self.runtimes.states.lock().unwrap();
        let after = next.unwrap_or_default().to_owned();
        let page: Vec<_> = states.range(after..).take(PAGE + 1).collect();
        let next = page.get(PAGE).map(|(name, _)| (*name).clone());
        let items = page.into_iter().take(PAGE).map(|(name, is_ready)| observed(name, *is_ready)).collect();
        Ok(RuntimeList { items, next, resource_version: "1".into() })
    }

    async fn watch(&self, _: &str) -> Result<Box<dyn RuntimeEvents>, DriverError> {
        self.watches.fetch_add(1, Ordering::SeqCst);
        self.open.fetch_add(1, Ordering::SeqCst);
        let events = self.runtimes.events.subscribe();
        Ok(Box::new(Events { events, open: Arc::clone(&self.open) }))
    }
}
