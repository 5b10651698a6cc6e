//! A store in memory that can be told not to answer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::time::Duration;

use engine::prelude::async_trait;
use engine::store::{
    Claims, ControlRequest, EndedOperations, LabelQuery, MemoryStore, OperationDetail, OperationQuery,
    Receipt, ResourcePage, ResourceQuery, ResourceRow, Stats, Store, StoreError, Summary, Write,
};
use engine::{
    AccessStore, AdminChange, AuditRow, DraftRow, Event, NodeId, OperationId, PeopleStore, ProofKind,
    SessionRow, Timestamp, TokenRow, UserChange, UserRow,
};
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct ShakyStore {
    inner: MemoryStore,
    mood: AtomicU8,
    pub(crate) token_queries: AtomicU32,
    pub(crate) reads: AtomicU32,
    /// A list of the operations on one resource waits until its newest operation has ended.
    pub(crate) lists_late: AtomicBool,
    /// Told when such a list waits.
    pub(crate) late_list: Notify,
}

/// What the store does when it is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(u8)]
pub(crate) enum Mood {
    Well,
    /// Answers that it does not answer.
    Down,
    Full,
    /// Never answers.
    Silent,
    /// Takes writes and then does not answer reads.
    WriteOnly,
    Refusing,
}

impl ShakyStore {
    pub(crate) fn be(&self, mood: Mood) {
        self.mood.store(mood as u8, Ordering::SeqCst);
    }

    /// Waits until the newest operation on this resource has ended.
    pub(crate) async fn until_end_of(&self, name: &str) {
        while !self.inner.resource(name).await.unwrap().unwrap().phase.unwrap().is_final() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn ask(&self, is_write: bool) -> Result<(), StoreError> {
        if !is_write {
            self.reads.fetch_add(1, Ordering::SeqCst);
        }
        let mood = self.mood.load(Ordering::SeqCst);
        if mood == Mood::Silent as u8 {
            std::future::pending::<()>().await;
        }
        let down = Err(StoreError::Unavailable("connection to 10.0.0.5 refused".into()));
        match mood {
            mood if mood == Mood::Down as u8 => down,
            mood if mood == Mood::Full as u8 => Err(StoreError::Full("disk".into())),
            mood if mood == Mood::Refusing as u8 => Err(StoreError::Refused("bad column secret_plan".into())),
            mood if mood == Mood::WriteOnly as u8 && !is_write => down,
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Store for ShakyStore {
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
        self.ask(true).await?;
        self.inner.commit(write).await
    }
    async fn claim(&self, node: NodeId, now: Timestamp, limit: usize) -> Result<Claims, StoreError> {
        self.inner.claim(node, now, limit).await
    }
    async fn show(&self, id: OperationId) -> Result<Option<OperationDetail>, StoreError> {
        self.ask(false).await?;
        self.inner.show(id).await
    }
    async fn list(&self, query: &OperationQuery) -> Result<Vec<Summary>, StoreError> {
        self.ask(false).await?;
        if let Some(name) = query.resource.as_ref().filter(|_| self.lists_late.load(Ordering::SeqCst)) {
            self.late_list.notify_one();
            self.until_end_of(name).await;
        }
        self.inner.list(query).await
    }
    async fn journal(&self, id: OperationId, after: u32, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.ask(false).await?;
        self.inner.journal(id, after, limit).await
    }
    async fn resource(&self, name: &str) -> Result<Option<ResourceRow>, StoreError> {
        self.ask(false).await?;
        self.inner.resource(name).await
    }
    async fn resources(&self, query: &ResourceQuery) -> Result<ResourcePage, StoreError> {
        self.ask(false).await?;
        let found = self.inner.resources(query).await;
        // By the time that an answer arrives, others have asked too.
        tokio::task::yield_now().await;
        found
    }
    async fn label_counts(&self, query: &LabelQuery) -> Result<BTreeMap<String, u64>, StoreError> {
        self.ask(false).await?;
        self.inner.label_counts(query).await
    }
    async fn history(
        &self,
        from: Timestamp,
        span: Duration,
        limit: usize,
    ) -> Result<Vec<EndedOperations>, StoreError> {
        self.ask(false).await?;
        self.inner.history(from, span, limit).await
    }

    async fn stats(&self, now: Timestamp) -> Result<Stats, StoreError> {
        self.ask(false).await?;
        self.inner.stats(now).await
    }
    async fn prune(&self, before: Timestamp) -> Result<usize, StoreError> {
        self.inner.prune(before).await
    }
    async fn ping(&self) -> Result<(), StoreError> {
        self.ask(false).await
    }
    fn wake_up(&self) -> &Notify {
        self.inner.wake_up()
    }
}

#[async_trait]
impl AccessStore for ShakyStore {
    async fn add_token(&self, token: &TokenRow) -> Result<bool, StoreError> {
        self.ask(true).await?;
        self.inner.add_token(token).await
    }
    async fn find_token(&self, digest: &str) -> Result<Option<TokenRow>, StoreError> {
        self.token_queries.fetch_add(1, Ordering::SeqCst);
        self.ask(false).await?;
        self.inner.find_token(digest).await
    }
    async fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        self.ask(false).await?;
        self.inner.tokens().await
    }
    async fn remove_token(&self, name: &str, now: Timestamp) -> Result<AdminChange, StoreError> {
        self.ask(true).await?;
        self.inner.remove_token(name, now).await
    }
    async fn shared(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.ask(false).await?;
        self.inner.shared(name).await
    }
    async fn share(&self, name: &str, before: Option<&str>, value: &str) -> Result<bool, StoreError> {
        self.ask(true).await?;
        self.inner.share(name, before, value).await
    }
    async fn audit(&self, row: &AuditRow) -> Result<(), StoreError> {
        self.ask(true).await?;
        self.inner.audit(row).await
    }
    async fn audit_page(&self, below: Option<i64>, limit: usize) -> Result<Vec<(i64, AuditRow)>, StoreError> {
        self.ask(false).await?;
        self.inner.audit_page(below, limit).await
    }
}

#[async_trait]
impl PeopleStore for ShakyStore {
    async fn add_user(&self, user: &UserRow) -> Result<bool, StoreError> {
        self.ask(true).await?;
        self.inner.add_user(user).await
    }
    async fn find_user(&self, name: &str) -> Result<Option<UserRow>, StoreError> {
        self.ask(false).await?;
        self.inner.find_user(name).await
    }
    async fn users(&self) -> Result<Vec<UserRow>, StoreError> {
        self.ask(false).await?;
        let found = self.inner.users().await;
        // By the time that an answer arrives, others have asked too.
        tokio::task::yield_now().await;
        found
    }
    async fn change_user(&self, name: &str, change: &UserChange) -> Result<AdminChange, StoreError> {
        self.ask(true).await?;
        self.inner.change_user(name, change).await
    }
    async fn remove_user(&self, name: &str) -> Result<AdminChange, StoreError> {
        self.ask(true).await?;
        self.inner.remove_user(name).await
    }
    async fn begin_attempt(
        &self,
        name: &str,
        limit: u32,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<UserRow>, StoreError> {
        self.ask(true).await?;
        self.inner.begin_attempt(name, limit, now, until).await
    }
    async fn clear_attempts(&self, name: &str) -> Result<(), StoreError> {
        self.ask(true).await?;
        self.inner.clear_attempts(name).await
    }
    async fn add_session(&self, session: &SessionRow) -> Result<(), StoreError> {
        self.ask(true).await?;
        self.inner.add_session(session).await
    }
    async fn find_session(&self, digest: &str) -> Result<Option<SessionRow>, StoreError> {
        self.ask(false).await?;
        self.inner.find_session(digest).await
    }
    async fn sessions(&self, user: Option<&str>, limit: usize) -> Result<Vec<SessionRow>, StoreError> {
        self.ask(false).await?;
        self.inner.sessions(user, limit).await
    }
    async fn touch_session(
        &self,
        digest: &str,
        seen_at: Timestamp,
        expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        self.ask(true).await?;
        self.inner.touch_session(digest, seen_at, expires_at).await
    }
    async fn remove_session(&self, digest: &str) -> Result<bool, StoreError> {
        self.ask(true).await?;
        self.inner.remove_session(digest).await
    }
    async fn remove_sessions(&self, user: &str, proof: ProofKind) -> Result<u64, StoreError> {
        self.ask(true).await?;
        self.inner.remove_sessions(user, proof).await
    }
    async fn prune_sessions(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.ask(true).await?;
        self.inner.prune_sessions(now).await
    }
    async fn save_draft(&self, draft: &DraftRow) -> Result<(), StoreError> {
        self.ask(true).await?;
        self.inner.save_draft(draft).await
    }
    async fn find_draft(&self, session: &str, id: &str) -> Result<Option<DraftRow>, StoreError> {
        self.ask(false).await?;
        self.inner.find_draft(session, id).await
    }
}
