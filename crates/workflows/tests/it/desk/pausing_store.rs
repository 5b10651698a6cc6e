//! A store whose process pauses for very long before a chosen save.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use engine::store::{
    Claims, Query, Receipt, ResourcePage, ResourceQuery, ResourceRow, Shown, Stats, Store, StoreError,
    Summary, Wish, Write,
};
use engine::{Event, NodeId, OperationId, Timestamp};
use tokio::sync::{Notify, Semaphore};

pub(crate) struct PausingStore {
    inner: Arc<dyn Store>,
    /// The number of the save before which it pauses.
    pauses_at: u64,
    saves: AtomicU64,
    reached: Semaphore,
    goes_on: Semaphore,
}

impl PausingStore {
    pub(crate) fn new(inner: Arc<dyn Store>, pauses_at: u64) -> PausingStore {
        let (reached, goes_on) = (Semaphore::new(0), Semaphore::new(0));
        PausingStore { inner, pauses_at, saves: AtomicU64::new(0), reached, goes_on }
    }

    /// Waits until the pause has begun.
    pub(crate) async fn until_paused(&self) {
        self.reached.acquire().await.unwrap().forget();
    }

    pub(crate) fn go_on(&self) {
        self.goes_on.add_permits(1);
    }
}

#[async_trait]
impl Store for PausingStore {
    async fn commit(&self, write: Write) -> Result<Receipt, StoreError> {
        if self.saves.fetch_add(1, Ordering::SeqCst) == self.pauses_at {
            self.reached.add_permits(1);
            self.goes_on.acquire().await.unwrap().forget();
        }
        self.inner.commit(write).await
    }

    async fn join(&self, node: NodeId, previous: Option<NodeId>, lease: Duration) -> Result<(), StoreError> {
        self.inner.join(node, previous, lease).await
    }

    async fn heartbeat(&self, node: NodeId, lease: Duration) -> Result<Vec<(OperationId, Wish)>, StoreError> {
        self.inner.heartbeat(node, lease).await
    }

    async fn leave(&self, node: NodeId) -> Result<(), StoreError> {
        self.inner.leave(node).await
    }

    async fn release(&self, node: NodeId, ids: &[OperationId]) -> Result<(), StoreError> {
        self.inner.release(node, ids).await
    }

    async fn claim(&self, node: NodeId, now: Timestamp, limit: usize) -> Result<Claims, StoreError> {
        self.inner.claim(node, now, limit).await
    }

    async fn show(&self, id: OperationId) -> Result<Option<Shown>, StoreError> {
        self.inner.show(id).await
    }

    async fn list(&self, query: &Query) -> Result<Vec<Summary>, StoreError> {
        self.inner.list(query).await
    }

    async fn journal(&self, id: OperationId, after: u32, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.inner.journal(id, after, limit).await
    }

    async fn resource(&self, name: &str) -> Result<Option<ResourceRow>, StoreError> {
        self.inner.resource(name).await
    }

    async fn resources(&self, query: &ResourceQuery) -> Result<ResourcePage, StoreError> {
        self.inner.resources(query).await
    }

    async fn stats(&self, now: Timestamp) -> Result<Stats, StoreError> {
        self.inner.stats(now).await
    }

    async fn prune(&self, before: Timestamp) -> Result<usize, StoreError> {
        self.inner.prune(before).await
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.inner.ping().await
    }

    fn bell(&self) -> &Notify {
        self.inner.bell()
    }
}
