//! One watch on all runtimes of Infrastructure Manager, which wakes the operations that wait for a change. A look of the
//! step decides; the watch only makes it happen earlier, so a lost event costs time and nothing else.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::store::{Expect, ResourceQuery, ResourceRow, StoreError};
use engine::{Engine, Resource, SubmitError, Timestamp};
use infrastructure_manager::{INSTANCE_ID, Observation, RuntimeFeed, WatchLoop};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};
use uuid::Uuid;

use super::{NextLook, wake_key};
use crate::model::instance::InstanceRecord;

/// A replica that died is replaced after this time.
const LEASE: Duration = Duration::from_secs(30);
const RENEW: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_secs(1);
const POLL_FIRST: Duration = Duration::from_millis(200);
const NAME: &str = "watch_lease:infrastructure-manager";

/// Which replica watches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct WatchLease {
    holder: Uuid,
    until: Timestamp,
}

impl Resource for WatchLease {
    const KIND: &'static str = "watch_lease";

    fn labels(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// When to look again at a change that has been going on for so long, unless the watch wakes the operation before.
pub fn next_look(runtime_id: &str, going_on_for: Duration, poll: Duration) -> NextLook {
    let after = (going_on_for / 10).clamp(POLL_FIRST.min(poll), poll);
    NextLook { after, key: Some(wake_key(runtime_id)) }
}

/// Watches while this replica has the lease, until the process stops.
pub async fn keep_watching(engine: Engine, resources: Arc<dyn RuntimeFeed>, closing: CancellationToken) {
    let holder = Uuid::new_v4();
    // At most one task. It ends with the set, so no watch outlives the one who renews its lease.
    let mut watch = JoinSet::new();
    loop {
        let is_held = take(&engine, holder).await.unwrap_or_else(|error| {
            warn!(%error, "renewing the lease of the watch on runtimes failed, retrying");
            false
        });
        while watch.try_join_next().is_some() {}
        if !is_held {
            watch.shutdown().await;
        } else if watch.is_empty() {
            watch.spawn(watching(engine.clone(), Arc::clone(&resources), closing.clone()));
        }
        tokio::select! {
            () = closing.cancelled() => break,
            () = tokio::time::sleep(RENEW) => {}
        }
    }
    let has_watched = !watch.is_empty();
    watch.shutdown().await;
    if has_watched && let Err(error) = release(&engine, holder).await {
        warn!(%error, "releasing the lease of the watch on runtimes failed; it expires by itself");
    }
}

/// Whether the lease is ours for the next time.
async fn take(engine: &Engine, holder: Uuid) -> Result<bool, SubmitError> {
    let now = engine.now();
    let row = engine.resource(NAME).await?;
    let held = row.as_ref().and_then(|row| serde_json::from_str::<WatchLease>(&row.record).ok());
    if held.is_some_and(|held| held.holder != holder && held.until > now) {
        return Ok(false);
    }
    let expect = row.map_or(Expect::Absent, |row| Expect::Version(row.version));
    let lease = WatchLease { holder, until: now.plus(LEASE) };
    let Ok(update) = lease.record_update() else { return Ok(false) };
    engine.write_resource(NAME, "", expect, Some(update)).await
}

/// Lets another replica take over at once.
async fn release(engine: &Engine, holder: Uuid) -> Result<(), SubmitError> {
    let Some(row) = engine.resource(NAME).await? else { return Ok(()) };
    let held = serde_json::from_str::<WatchLease>(&row.record).ok();
    let Some(lease) = held.filter(|held| held.holder == holder) else { return Ok(()) };
    let Ok(update) = (WatchLease { until: engine.now(), ..lease }).record_update() else { return Ok(()) };
    engine.write_resource(NAME, "", Expect::Version(row.version), Some(update)).await.map(drop)
}

/// Runtimes that changed and were not told yet, each once, with the instance where the event named it.
#[derive(Default)]
struct Changed {
    names: Mutex<BTreeMap<String, Option<String>>>,
    notify: Notify,
}

impl Changed {
    fn put(&self, observation: Observation) {
        let (name, instance) = match observation {
            Observation::Changed(runtime) => {
                let instance = runtime.labels.get(INSTANCE_ID).cloned();
                (runtime.name, instance)
            }
            Observation::Deleted { name, .. } => (name, None),
            Observation::Relisted => return,
        };
        self.names.lock().unwrap_or_else(PoisonError::into_inner).insert(name, instance);
        self.notify.notify_one();
    }

    fn take(&self) -> Option<(String, Option<String>)> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).pop_first()
    }
}

async fn watching(engine: Engine, resources: Arc<dyn RuntimeFeed>, stop: CancellationToken) {
    let changed = Arc::new(Changed::default());
    let told = Arc::clone(&changed);
    let observing = WatchLoop::new(resources, stop.clone()).run(move |observation| told.put(observation));
    let telling = async {
        loop {
            match changed.take() {
                Some((name, instance)) => tell(&engine, &name, instance.as_deref()).await,
                None => changed.notify.notified().await,
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = observing => {}
        () = telling => {}
    }
}

/// Wakes the operation that waits for this runtime. A signal is kept until an operation takes it, so none is sent where
/// no operation is under way.
async fn tell(engine: &Engine, name: &str, instance: Option<&str>) {
    match wake(engine, name, instance).await {
        Ok(woken) => debug!(runtime.id = name, woken, "runtime resource changed"),
        Err(error) => {
            warn!(runtime.id = name, %error, "waking the operation of a runtime failed; it polls instead");
            tokio::time::sleep(AGAIN).await;
        }
    }
}

async fn wake(engine: &Engine, name: &str, instance: Option<&str>) -> Result<bool, SubmitError> {
    let row = match instance {
        Some(instance) => engine.resource(&InstanceRecord::resource(instance)).await?,
        None => by_runtime(engine, name).await?,
    };
    let is_under_way = |row: &ResourceRow| row.phase.is_some_and(|phase| !phase.is_final());
    if !row.as_ref().is_some_and(is_under_way) {
        return Ok(false);
    }
    engine.signal(&wake_key(name), Value::Null).await?;
    Ok(true)
}

async fn by_runtime(engine: &Engine, name: &str) -> Result<Option<ResourceRow>, StoreError> {
    let query = ResourceQuery {
        kind: InstanceRecord::KIND.to_owned(),
        labels: vec![("runtime_id".to_owned(), vec![name.to_owned()])],
        limit: 1,
        ..ResourceQuery::default()
    };
    Ok(engine.resources(&query).await?.rows.pop())
}
