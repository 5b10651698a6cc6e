//! A store in which another client writes a record just after it was read.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use engine::store::{
    Claims, ControlRequest, EndedOperations, Expect, LabelQuery, MemoryStore, OperationDetail,
    OperationQuery, Receipt, RecordUpdate, ResourcePage, ResourceQuery, ResourceRow, ResourceWrite, Stats,
    Store, StoreError, Summary, Write,
};
use engine::{Event, NodeId, OperationId, Timestamp};
use tokio::sync::Notify;

pub(crate) struct Rival {
    inner: MemoryStore,
    /// How often it still writes.
    left: AtomicU32,
}

impl Rival {
    pub(crate) fn new(writes: u32) -> Rival {
        Rival { inner: MemoryStore::new(), left: AtomicU32::new(writes) }
    }

    async fn write(&self, name: &str, expect: Expect) {
        let record = "{}".to_owned();
        let kind = "rival".to_owned();
        let record_update =
            Some(RecordUpdate { kind, record, labels: Vec::new(), gone_at: None, due_at: None });
        let (name, tenant, at) = (name.to_owned(), "rival".to_owned(), Timestamp(0));
        let write = ResourceWrite { name, tenant, expect, record_update, at };
        let receipt = self.inner.commit(Write::Resource(Box::new(write))).await.unwrap();
        assert_eq!(receipt, Receipt::Saved);
    }
}

#[async_trait]
impl Store for Rival {
    async fn resource(&self, name: &str) -> Result<Option<ResourceRow>, StoreError> {
        let row = self.inner.resource(name).await?;
        let less = |left: u32| left.checked_sub(1);
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok() {
            self.write(name, row.as_ref().map_or(Expect::Absent, |row| Expect::Version(row.version))).await;
        }
        Ok(row)
    }

    async fn join(&self, node: NodeId, previous: Option<NodeId>, lease: Duration) -> Result<(), StoreError> {
        self.inner.join(node, previous, lease).await
    }

    async fn heartbeat(
        &self,
        node: NodeId,
        lease: Duration,
    ) -> Result<Vec<(OperationId, ControlRequest)>, StoreError> {
        self.inner.heartbeat(node, lease).await
    }

    async fn leave(&self, node: NodeId) -> Result<(), StoreError> {
        self.inner.leave(node).await
    }

    async fn release(&self, node: NodeId, ids: &[OperationId]) -> Result<(), StoreError> {
        self.inner.release(node, ids).await
    }

    async fn commit(&self, write: Write) -> Result<Receipt, StoreError> {
        self.inner.commit(write).await
    }

    async fn claim(&self, node: NodeId, now: Timestamp, limit: usize) -> Result<Claims, StoreError> {
        self.inner.claim(node, now, limit).await
    }

    async fn show(&self, id: OperationId) -> Result<Option<OperationDetail>, StoreError> {
        self.inner.show(id).await
    }

    async fn list(&self, query: &OperationQuery) -> Result<Vec<Summary>, StoreError> {
        self.inner.list(query).await
    }

    async fn journal(&self, id: OperationId, after: u32, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.inner.journal(id, after, limit).await
    }

    async fn resources(&self, query: &ResourceQuery) -> Result<ResourcePage, StoreError> {
        self.inner.resources(query).await
    }

    async fn label_counts(&self, query: &LabelQuery) -> Result<BTreeMap<String, u64>, StoreError> {
        self.inner.label_counts(query).await
    }

    async fn history(
        &self,
        from: Timestamp,
        span: Duration,
        limit: usize,
    ) -> Result<Vec<EndedOperations>, StoreError> {
        self.inner.history(from, span, limit).await
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

    fn wake_up(&self) -> &Notify {
        self.inner.wake_up()
    }
}
