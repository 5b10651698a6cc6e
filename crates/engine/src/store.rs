//! Where operations live. One trait, three stores, one suite of tests for all of them.

mod memory;
mod resource;
mod saved;
mod signal;
mod totals;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Notify;

use crate::clock::Timestamp;
use crate::event::Event;
use crate::ids::{NodeId, OperationId};
use crate::phase::{Phase, PhaseVerb};
pub use memory::{MemoryStore, QUEUED};
pub use resource::{
    Expect, LabelQuery, RecordUpdate, ResourcePage, ResourceQuery, ResourceRow, ResourceWrite, Touch,
};
pub use saved::{
    RowKey, SavedEvent, SavedOperation, SavedReader, SealedColumn, SealedPage, SealedRow, SealedStore,
    SealedWriter,
};
pub use signal::{Signal, SignalLimit, TakenSignal};
pub use totals::{EndedOperations, Total};

/// The durable truth. Every method is one transaction; none may be half done.
///
/// `commit` is the hot one: stores put what many callers ask for into one transaction and answer each caller
/// after the commit.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Makes this node known. What `previous` owned is free at once: its caller has proof that it is dead.
    async fn join(&self, node: NodeId, previous: Option<NodeId>, lease: Duration) -> Result<(), StoreError>;

    /// Renews the lease, frees what nodes with an expired lease owned, and brings control requests for our operations.
    /// Nothing but the renewal makes it fail or wait for long. `Fenced` when this node has been declared dead:
    /// it must let go of everything and join anew.
    async fn heartbeat(
        &self,
        node: NodeId,
        lease: Duration,
    ) -> Result<Vec<(OperationId, ControlRequest)>, StoreError>;

    /// Says good-bye: what this node still owns is free at once.
    async fn leave(&self, node: NodeId) -> Result<(), StoreError>;

    /// Frees operations that this node owns on paper but no longer runs, because a save had no answer.
    /// `Unavailable` when some are locked by others: those are still owned, the rest is free.
    async fn release(&self, node: NodeId, ids: &[OperationId]) -> Result<(), StoreError>;

    async fn commit(&self, write: Write) -> Result<Receipt, StoreError>;

    /// Takes operations that are due and that no node owns, at most `limit`, fairly between tenants.
    async fn claim(&self, node: NodeId, now: Timestamp, limit: usize) -> Result<Claims, StoreError>;

    async fn show(&self, id: OperationId) -> Result<Option<OperationDetail>, StoreError>;

    /// Newest first.
    async fn list(&self, query: &OperationQuery) -> Result<Vec<Summary>, StoreError>;

    /// Events with a number above `after`, oldest first.
    async fn journal(&self, id: OperationId, after: u32, limit: usize) -> Result<Vec<Event>, StoreError>;

    async fn resource(&self, name: &str) -> Result<Option<ResourceRow>, StoreError>;

    /// One query for a page, oldest first.
    async fn resources(&self, query: &ResourceQuery) -> Result<ResourcePage, StoreError>;

    /// How many resources have each of these values of a label, all of them as they are at one moment. A value that none
    /// has is not in the answer.
    async fn label_counts(&self, query: &LabelQuery) -> Result<BTreeMap<String, u64>, StoreError>;

    /// How many operations fit, by workflow and phase, among the newest `limit` that do.
    async fn totals(&self, query: &OperationQuery) -> Result<Vec<Total>, StoreError> {
        Ok(Total::count(self.list(query).await?))
    }

    /// What ended from this moment on, in spans of this length, as far as the newest `limit` ends tell.
    async fn history(
        &self,
        from: Timestamp,
        span: Duration,
        limit: usize,
    ) -> Result<Vec<EndedOperations>, StoreError>;

    async fn stats(&self, now: Timestamp) -> Result<Stats, StoreError>;

    /// Removes operations that finished before this moment, a bounded number at a time, and answers how many;
    /// signals, audit rows and tombstones from before it go too.
    async fn prune(&self, before: Timestamp) -> Result<usize, StoreError>;

    /// Whether the database answers, and whether the last commit worked.
    async fn ping(&self) -> Result<(), StoreError>;

    /// Rings when there may be something to claim that this process did not put there itself.
    fn wake_up(&self) -> &Notify;
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("another node owns this operation now")]
    Fenced,
    /// It is unknown whether the last write happened.
    #[error("the database is not answering: {0}")]
    Unavailable(String),
    #[error("the database has no room left: {0}")]
    Full(String),
    /// This one write is not acceptable; others are.
    #[error("the database refused: {0}")]
    Refused(String),
}

impl StoreError {
    /// Whether trying later may help.
    pub fn may_heal(&self) -> bool {
        matches!(self, StoreError::Unavailable(_) | StoreError::Full(_))
    }
}

/// One change that is durable when it is answered.
#[derive(Debug, Clone)]
pub enum Write {
    Create(Box<Create>),
    Append(Append),
    Park(Box<Park>),
    Finish(Box<Finish>),
    Wish {
        id: OperationId,
        control: ControlRequest,
    },
    Signal {
        key: String,
        payload: Value,
        at: Timestamp,
        /// Nothing where the sender is trusted to know what is waited for.
        limit: Option<SignalLimit>,
    },
    /// A resource without an operation.
    Resource(Box<ResourceWrite>),
}

/// A new operation with its first event.
#[derive(Debug, Clone)]
pub struct Create {
    pub id: OperationId,
    pub workflow: String,
    /// What people call that which it works on.
    pub name: Option<String>,
    pub tenant: String,
    pub resource: Option<String>,
    pub params: String,
    pub created_at: Timestamp,
    pub deadline_at: Timestamp,
    /// The node that runs it at once. Without one it is due now.
    pub owner: Option<NodeId>,
    pub event: Event,
    pub idempotency: Option<Idempotency>,
    /// Wait for the resource instead of being refused.
    pub queue: bool,
    /// The record of the resource, as it is from the moment on that the operation is accepted. It names this
    /// operation as its newest.
    pub subject: Option<ResourceWrite>,
    /// Another resource that must not have changed, or must not exist yet; its version goes up.
    pub beside: Option<ResourceWrite>,
    /// An operation on the same resource that is asked to end for this one. One that cannot be asked any longer
    /// is no obstacle.
    pub supersedes: Option<(OperationId, ControlRequest)>,
}

/// The same key from the same caller means the same operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    pub scope: String,
    pub key: String,
    /// Of what was asked, so that a key used for something else is noticed.
    pub digest: String,
}

/// Proof of ownership that a later owner makes worthless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ownership {
    pub id: OperationId,
    pub node: NodeId,
    pub epoch: i64,
}

#[derive(Debug, Clone)]
pub struct Append {
    pub id: OperationId,
    /// The operation learns the same once it is saved.
    pub event: Arc<Event>,
    /// For lists: the phase in the row, where it changes without the operation being put down.
    pub phase: Option<Phase>,
    /// The control request that this event deals with: the row keeps only one with a greater number.
    pub processed: Option<i64>,
    /// A signal that this event takes over from the inbox. Rare, so it is out of the way.
    pub consumes: Option<Box<TakenSignal>>,
    /// What the resource of this operation looks like now, with its name. Rare too.
    pub record_update: Option<Box<(String, RecordUpdate)>>,
}

/// Suspends an operation until a time, a signal or a control request.
#[derive(Debug, Clone)]
pub struct Park {
    pub hold: Ownership,
    /// `None` when there is nothing new to say: a poll that found nothing costs no event.
    pub event: Option<Event>,
    pub phase: Phase,
    /// When it was put down.
    pub at: Timestamp,
    /// `None` waits for an operator.
    pub due_at: Option<Timestamp>,
    pub key: Option<String>,
    /// For lists.
    pub step: Option<String>,
    pub reason: Option<String>,
    /// The folded memory and the number of the last event in it; `None` leaves what is there.
    pub memory: Option<(String, u32)>,
    /// The number of the last control request that was dealt with or dropped. One with a greater number wakes
    /// the operation at once; any other is cleared.
    pub processed: i64,
    /// What wakes the operation at once does not wake it before this moment.
    pub not_before: Option<Timestamp>,
    pub record_update: Option<(String, RecordUpdate)>,
}

#[derive(Debug, Clone)]
pub struct Finish {
    pub hold: Ownership,
    /// `None` when the event was written before a crash and only the row is left to move.
    pub event: Option<Event>,
    pub phase: Phase,
    pub cause: Option<String>,
    pub at: Timestamp,
    /// A folded memory and the number of the last event in it; the rest is folded from the journal.
    pub memory: String,
    pub seq: u32,
    /// The resource of this operation: its record learns the phase if this is still its newest operation.
    pub settles: Option<String>,
    pub record_update: Option<(String, RecordUpdate)>,
}

/// What an operator or an API wants of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlRequest {
    pub verb: PhaseVerb,
    pub by: String,
    #[serde(default)]
    pub reason: String,
    /// For people. Clocks differ between processes, so it orders nothing.
    pub at: Timestamp,
    /// Given by the database and greater than those of all requests before it. Claims and heartbeats bring it;
    /// zero elsewhere.
    #[serde(skip)]
    pub number: i64,
}

/// What became of a write that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receipt {
    Saved,
    /// The same key was used before, for this operation.
    Repeated(OperationId),
    /// The same key was used before, for something else.
    KeyReused,
    /// This operation has the resource.
    Busy(OperationId),
    /// Another request has written the resource since the writer looked: look again.
    Changed,
    /// How many waits a signal ended.
    Woke(usize),
    /// So many signals of the sender, with so many bytes, are unread; this one was not taken.
    TooManySignals {
        signals: u64,
        bytes: u64,
    },
    NoSuchOperation,
    /// The phase in which the control request makes no sense.
    NotNow(Phase),
}

/// What a claim brought, and when to come back.
#[derive(Debug, Default)]
pub struct Claims {
    pub operations: Vec<Claimed>,
    /// When the next unowned operation is due; the past when the limit cut the claim short.
    pub next_due: Option<Timestamp>,
}

/// An operation that this node owns now.
#[derive(Debug, Clone)]
pub struct Claimed {
    pub id: OperationId,
    pub workflow: String,
    pub tenant: String,
    pub resource: Option<String>,
    pub params: String,
    pub phase: Phase,
    pub created_at: Timestamp,
    pub deadline_at: Timestamp,
    pub epoch: i64,
    /// The memory as it was last put into the row.
    pub memory: Option<String>,
    /// Events after that memory.
    pub events: Vec<Event>,
    /// The number of the last event, `adopted` included.
    pub seq: u32,
    /// The owner before died: a call may have happened that was not recorded.
    pub orphaned: bool,
    pub control: Option<ControlRequest>,
    pub signal: Option<Signal>,
    /// Why this release cannot read its journal, where a newer release wrote it. The events are not all here.
    pub unreadable: Option<String>,
}

/// One line of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub id: OperationId,
    pub workflow: String,
    /// What people call that which it works on. Operations of earlier releases have none.
    pub name: Option<String>,
    pub tenant: String,
    pub resource: Option<String>,
    pub phase: Phase,
    pub step: Option<String>,
    pub reason: Option<String>,
    pub due_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub deadline_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    pub owner: Option<NodeId>,
    pub control: Option<ControlRequest>,
}

/// Everything about one operation except its journal.
#[derive(Debug, Clone)]
pub struct OperationDetail {
    pub summary: Summary,
    pub params: String,
    pub memory: Option<String>,
    /// The last event that `memory` knows.
    pub memory_seq: u32,
}

#[derive(Debug, Clone, Default)]
pub struct OperationQuery {
    pub workflow: Option<String>,
    pub phases: Vec<Phase>,
    pub tenant: Option<String>,
    pub resource: Option<String>,
    /// Only operations on one of these; with none, on any.
    pub resources: Vec<String>,
    /// Only ids below this one: the last id of the page before.
    pub before: Option<OperationId>,
    /// Only ids from this one on: the first moment asked for.
    pub from: Option<OperationId>,
    /// Only ids that end with these lower-case hexadecimal digits, among the newest [`IDS_SEARCHED`] unfinished and as
    /// many finished operations.
    pub id_end: Option<String>,
    pub limit: usize,
}

/// How many ids are searched for one of which only the end is known.
pub const IDS_SEARCHED: u32 = 100_000;

/// Counts for metrics. Bounded, so that they cost the same with any backlog.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    pub owned: u64,
    pub waiting: u64,
    pub due: u64,
    pub stuck: u64,
    /// How long the oldest due operation has been waiting for a node.
    pub oldest_due: Option<Timestamp>,
    /// When the oldest unfinished operation was created.
    pub oldest_unfinished: Option<Timestamp>,
    /// Transactions that this process has committed.
    pub commits: u64,
    /// Writes in those transactions.
    pub writes: u64,
}

/// No count in [`Stats`] goes beyond this.
pub const STATS_COUNT_MAX: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_database_that_is_away_or_full_may_heal() {
        let text = String::new;
        let errors = [
            StoreError::Unavailable(text()),
            StoreError::Full(text()),
            StoreError::Refused(text()),
            StoreError::Fenced,
        ];
        assert_eq!(errors.map(|error| error.may_heal()), [true, true, false, false]);
    }
}
