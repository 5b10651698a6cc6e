//! A store whose process dies at a chosen save, or freezes and comes back too late.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use engine::store::{
    Claims, ControlRequest, EndedOperations, LabelQuery, OperationDetail, OperationQuery, Receipt,
    ResourcePage, ResourceQuery, ResourceRow, Stats, Store, StoreError, Summary, Write,
};
use engine::{Event, NodeId, OperationId, Timestamp};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// When the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    Never,
    /// The save with this number never reaches the store.
    Before(u64),
    /// The save with this number is durable, but its caller never learns that.
    After(u64),
}

/// Wraps the store of one process. Other processes see the same store through wrappers of their own.
pub struct DyingStore {
    inner: Arc<dyn Store>,
    death: Death,
    saves: AtomicU64,
    is_dead: Arc<AtomicBool>,
    frozen: watch::Sender<bool>,
    is_mute: AtomicBool,
    holds_heartbeats: AtomicBool,
    /// How often a claim found that other processes hold all that is due; `None` when they hold nothing.
    empty_claims: Mutex<Option<usize>>,
    last_words: Option<fn()>,
    claims: Mutex<Vec<(OperationId, Instant)>>,
    claims_max: usize,
    claimed: Mutex<BTreeMap<OperationId, usize>>,
    claims_in_all: usize,
}

impl DyingStore {
    pub fn new(inner: Arc<dyn Store>, death: Death) -> DyingStore {
        let is_dead = Arc::new(AtomicBool::new(false));
        DyingStore {
            inner,
            death,
            saves: AtomicU64::new(0),
            is_dead,
            frozen: watch::Sender::new(false),
            is_mute: AtomicBool::new(false),
            holds_heartbeats: AtomicBool::new(false),
            empty_claims: Mutex::default(),
            last_words: None,
            claims: Mutex::default(),
            claims_max: usize::MAX,
            claimed: Mutex::default(),
            claims_in_all: usize::MAX,
        }
    }

    /// Does this at the moment of death; a test in a process of its own ends that process.
    #[must_use]
    pub fn with_last_words(mut self, last_words: fn()) -> DyingStore {
        self.last_words = Some(last_words);
        self
    }

    pub fn saves(&self) -> u64 {
        self.saves.load(Ordering::SeqCst)
    }

    /// A process that claims one operation more often than this within a second dies: virtual time would not
    /// go on otherwise.
    #[must_use]
    pub fn with_claims_max(mut self, claims_max: usize) -> DyingStore {
        self.claims_max = claims_max;
        self
    }

    /// A process that claims one operation more often than this dies, and says so: a test that waits for an operation
    /// that is claimed again and again would not end.
    #[must_use]
    pub fn with_claims_in_all(mut self, claims_in_all: usize) -> DyingStore {
        self.claims_in_all = claims_in_all;
        self
    }

    fn count(&self, id: OperationId) {
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        let times = claimed.entry(id).or_default();
        *times += 1;
        if *times > self.claims_in_all {
            self.kill();
            panic!("operation {id} was claimed more than {} times", self.claims_in_all);
        }
    }

    /// What this process has claimed, and when.
    pub fn claims(&self) -> Vec<(OperationId, Instant)> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn is_dead(&self) -> bool {
        self.is_dead.load(Ordering::SeqCst)
    }

    /// A flag for whatever else dies with this process.
    pub fn death_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_dead)
    }

    pub fn kill(&self) {
        if let Some(last_words) = self.last_words {
            last_words();
        }
        self.is_dead.store(true, Ordering::SeqCst);
        self.thaw();
    }

    /// From now on calls hang, as in a process that was stopped.
    pub fn freeze(&self) {
        self.frozen.send_replace(true);
    }

    pub fn thaw(&self) {
        self.frozen.send_replace(false);
    }

    /// Whether saves happen without their callers ever hearing of it.
    pub fn set_mute(&self, is_mute: bool) {
        self.is_mute.store(is_mute, Ordering::SeqCst);
    }

    /// From now on heartbeats have no answer, and everything else has.
    pub fn hold_heartbeats(&self) {
        self.holds_heartbeats.store(true, Ordering::SeqCst);
    }

    /// From now on other processes hold whatever is due: claims bring nothing, and something is always due.
    pub fn hide_due_work(&self) {
        *self.empty_claims.lock().unwrap_or_else(PoisonError::into_inner) = Some(0);
    }

    /// How often it was looked for since then.
    pub fn empty_claims(&self) -> usize {
        self.empty_claims.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_default()
    }

    async fn alive(&self) -> Result<&dyn Store, StoreError> {
        // Only then does a call wait for anything but the store inside: tests of interleavings count on that.
        if *self.frozen.borrow() {
            let mut frozen = self.frozen.subscribe();
            // The sender lives as long as this store.
            let _ = frozen.wait_for(|frozen| !frozen).await;
        }
        if self.is_dead() {
            return Err(StoreError::Unavailable("the process is dead".into()));
        }
        Ok(&*self.inner)
    }
}

/// The operation that was claimed most often within one second, and how often.
pub fn claims_in_a_second(mut claims: Vec<(OperationId, Instant)>) -> Option<(OperationId, usize)> {
    claims.sort_unstable();
    let within = |first: usize| {
        let (id, began) = claims[first];
        let is_near = |(of, at): &&(OperationId, Instant)| *of == id && *at - began < Duration::from_secs(1);
        (id, claims[first..].iter().take_while(is_near).count())
    };
    (0..claims.len()).map(within).max_by_key(|(_, count)| *count)
}

#[async_trait]
impl Store for DyingStore {
    async fn join(&self, node: NodeId, previous: Option<NodeId>, lease: Duration) -> Result<(), StoreError> {
        self.alive().await?.join(node, previous, lease).await
    }

    async fn heartbeat(
        &self,
        node: NodeId,
        lease: Duration,
    ) -> Result<Vec<(OperationId, ControlRequest)>, StoreError> {
        let store = self.alive().await?;
        if self.holds_heartbeats.load(Ordering::SeqCst) {
            return pending().await;
        }
        store.heartbeat(node, lease).await
    }

    async fn leave(&self, node: NodeId) -> Result<(), StoreError> {
        self.alive().await?.leave(node).await
    }

    async fn release(&self, node: NodeId, ids: &[OperationId]) -> Result<(), StoreError> {
        self.alive().await?.release(node, ids).await
    }

    async fn commit(&self, write: Write) -> Result<Receipt, StoreError> {
        let store = self.alive().await?;
        let number = self.saves.fetch_add(1, Ordering::SeqCst);
        if self.death == Death::Before(number) {
            self.kill();
            return Err(StoreError::Unavailable("died before the save".into()));
        }
        let receipt = store.commit(write).await;
        if self.death == Death::After(number) {
            self.kill();
            return Err(StoreError::Unavailable("died after the save".into()));
        }
        if self.is_mute.load(Ordering::SeqCst) {
            return pending().await;
        }
        receipt
    }

    async fn claim(&self, node: NodeId, now: Timestamp, limit: usize) -> Result<Claims, StoreError> {
        let store = self.alive().await?;
        if let Some(count) = self.empty_claims.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            *count += 1;
            if *count > self.claims_in_all {
                self.kill();
                panic!("{count} claims have found nothing");
            }
            return Ok(Claims { operations: Vec::new(), next_due: Some(now) });
        }
        let claims = store.claim(node, now, limit).await?;
        claims.operations.iter().for_each(|claimed| self.count(claimed.id));
        let ids = claims.operations.iter().map(|claimed| (claimed.id, Instant::now()));
        self.claims.lock().unwrap_or_else(PoisonError::into_inner).extend(ids);
        let is_limited = self.claims_max < usize::MAX && !claims.operations.is_empty();
        if is_limited && claims_in_a_second(self.claims()).is_some_and(|(_, most)| most > self.claims_max) {
            self.kill();
        }
        Ok(claims)
    }

    async fn show(&self, id: OperationId) -> Result<Option<OperationDetail>, StoreError> {
        self.alive().await?.show(id).await
    }

    async fn list(&self, query: &OperationQuery) -> Result<Vec<Summary>, StoreError> {
        self.alive().await?.list(query).await
    }

    async fn journal(&self, id: OperationId, after: u32, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.alive().await?.journal(id, after, limit).await
    }

    async fn resource(&self, name: &str) -> Result<Option<ResourceRow>, StoreError> {
        self.alive().await?.resource(name).await
    }

    async fn resources(&self, query: &ResourceQuery) -> Result<ResourcePage, StoreError> {
        self.alive().await?.resources(query).await
    }

    async fn label_counts(&self, query: &LabelQuery) -> Result<BTreeMap<String, u64>, StoreError> {
        self.alive().await?.label_counts(query).await
    }

    async fn history(
        &self,
        from: Timestamp,
        span: Duration,
        limit: usize,
    ) -> Result<Vec<EndedOperations>, StoreError> {
        self.alive().await?.history(from, span, limit).await
    }

    async fn stats(&self, now: Timestamp) -> Result<Stats, StoreError> {
        self.alive().await?.stats(now).await
    }

    async fn prune(&self, before: Timestamp) -> Result<usize, StoreError> {
        self.alive().await?.prune(before).await
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.alive().await?.ping().await
    }

    fn wake_up(&self) -> &Notify {
        self.inner.wake_up()
    }
}
