//! The engine as APIs and programs see it: submit, ask, signal, look.

mod submit;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::Value;

use crate::clock::{Clock, Timestamp};
use crate::engine_context::{EngineContext, Settings};
use crate::event::{Event, Release};
use crate::event_feed::EventFeed;
use crate::ids::{NodeId, OperationId};
use crate::limits::Limits;
use crate::memory::Memory;
use crate::observer::{Observer, Unobserved};
use crate::phase::{Phase, PhaseVerb};
use crate::plan::Plan;
use crate::registry::{Registry, WorkflowInfo, sealing_context};
use crate::secret::{Sealer, SharedRing};
use crate::store::{
    ControlRequest, EndedOperations, LabelQuery, OperationDetail, OperationQuery, Receipt, ResourcePage,
    ResourceQuery, ResourceRow, SavedOperation, SavedReader, SignalLimit, Stats, Store, StoreError, Summary,
    Total, Write,
};
use crate::worker::Worker;
use crate::workflow::Workflow;
use submit::check_name;
pub use submit::{
    AcceptedOperation, Command, RecordWrites, SHOWN_NAME_CHARS_MAX, SignalError, Submission, SubmitError,
};

/// Runs operations. Cheap to clone: all clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    worker: Arc<Worker>,
}

/// Puts an engine together.
pub struct EngineBuilder {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ring: SharedRing,
    settings: Settings,
    limits: Limits,
    observer: Arc<dyn Observer>,
    release: Release,
    registry: Registry,
}

impl EngineBuilder {
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// How many calls may be under way to each driver.
    #[must_use]
    pub fn limits(mut self, limits: BTreeMap<String, usize>, default: usize) -> Self {
        self.limits = Limits::new(limits, default);
        self
    }

    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// The release of the program, where it is not that of this crate.
    #[must_use]
    pub fn release(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    #[must_use]
    pub fn workflow<W: Workflow>(mut self, plan: Plan<W>) -> Self {
        self.registry.add(plan);
        self
    }

    pub fn build(self) -> Engine {
        let engine_context = EngineContext {
            store: self.store,
            clock: self.clock,
            ring: self.ring,
            settings: self.settings,
            limits: self.limits,
            observer: self.observer,
            event_feed: EventFeed::default(),
            stopping: AtomicBool::new(false),
            release: self.release,
        };
        Engine { worker: Arc::new(Worker::new(engine_context, self.registry)) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    #[error("there is no such operation")]
    NotFound,
    #[error("an operation that is {phase} cannot be asked to {verb}")]
    NotNow { phase: Phase, verb: PhaseVerb },
    #[error("operation {operation} is working on this resource")]
    Busy { operation: OperationId },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Everything about one operation.
#[derive(Debug, Clone)]
pub struct Inspection {
    pub shown: OperationDetail,
    pub memory: Memory,
    /// The number of the last event.
    pub seq: u32,
    /// Why `memory` is empty although something is saved: another release wrote it.
    pub unreadable: Option<String>,
}

/// An unfinished operation that this release could not finish.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Unfinishable {
    pub operation: OperationId,
    pub workflow: String,
    pub reason: String,
}

/// Operations read at a time when all are checked.
const CHECK_PAGE: usize = 100;
/// Events read at a time when a memory is folded.
const FOLD_PAGE: usize = 1000;

impl Engine {
    pub fn builder(store: Arc<dyn Store>, clock: Arc<dyn Clock>, ring: SharedRing) -> EngineBuilder {
        EngineBuilder {
            store,
            clock,
            ring,
            settings: Settings::default(),
            limits: Limits::default(),
            observer: Arc::new(Unobserved),
            release: Release::parse(env!("CARGO_PKG_VERSION")),
            registry: Registry::default(),
        }
    }

    /// Begins to work. `previous` is the node that this process was before it was killed, where that is known
    /// for certain: its operations go on at once instead of after its lease.
    pub async fn start(&self, previous: Option<NodeId>) -> Result<NodeId, StoreError> {
        self.worker.start(previous).await
    }

    /// Stops gracefully: operations finish their step or are released within this time.
    pub async fn stop(&self, grace: Duration) {
        self.worker.stop(grace).await;
    }

    /// Asks an operation to cancel, pause, resume or retry. Durable when it returns; it takes effect at the end
    /// of the step that runs.
    pub async fn ask(
        &self,
        id: OperationId,
        verb: PhaseVerb,
        by: &str,
        reason: &str,
    ) -> Result<(), AskError> {
        let engine_context = &self.worker.engine_context;
        let at = engine_context.clock.now();
        let control = ControlRequest { verb, by: by.to_owned(), reason: reason.to_owned(), at, number: 0 };
        match engine_context.store.commit(Write::Wish { id, control }).await? {
            Receipt::NoSuchOperation => Err(AskError::NotFound),
            Receipt::NotNow(phase) => Err(AskError::NotNow { phase, verb }),
            Receipt::Busy(operation) => Err(AskError::Busy { operation }),
            _ => {
                self.worker.fetch_request(id);
                self.worker.wake(at);
                Ok(())
            }
        }
    }

    /// Wakes the operations that wait for this key; a signal that comes before the wait is kept for it. Answers how many
    /// waits it ended at once.
    pub async fn signal(&self, key: &str, payload: Value) -> Result<usize, SubmitError> {
        let receipt = self.send_signal(key, payload, None).await?;
        Ok(if let Receipt::Woke(count) = receipt { count } else { 0 })
    }

    /// The same for a sender that could send any number of keys. Nothing that is unread is deleted to make room.
    pub async fn signal_within(
        &self,
        key: &str,
        payload: Value,
        limit: SignalLimit,
    ) -> Result<usize, SignalError> {
        match self.send_signal(key, payload, Some(limit)).await? {
            Receipt::TooManySignals { signals, bytes } => Err(SignalError::TooMany { signals, bytes }),
            Receipt::Woke(count) => Ok(count),
            _ => Ok(0),
        }
    }

    async fn send_signal(
        &self,
        key: &str,
        payload: Value,
        limit: Option<SignalLimit>,
    ) -> Result<Receipt, SubmitError> {
        check_name("key", key)?;
        let engine_context = &self.worker.engine_context;
        let at = engine_context.clock.now();
        let write = Write::Signal { key: key.to_owned(), payload, at, limit };
        let receipt = engine_context.store.commit(write).await?;
        self.worker.wake(at);
        Ok(receipt)
    }

    pub async fn inspect(&self, id: OperationId) -> Result<Option<Inspection>, StoreError> {
        let store = &self.worker.engine_context.store;
        let Some(shown) = store.show(id).await? else { return Ok(None) };
        let saved = shown.memory.as_deref().map_or(Ok(Memory::default()), serde_json::from_str::<Memory>);
        let (mut memory, unreadable) = match saved {
            Ok(memory) => (memory, None),
            Err(error) => (Memory::default(), Some(format!("its memory cannot be read: {error}"))),
        };
        let mut seq = shown.memory_seq;
        loop {
            let events = store.journal(id, seq, FOLD_PAGE).await?;
            let Some(last) = events.last() else { break };
            seq = last.seq;
            memory = memory.fold(&events);
        }
        Ok(Some(Inspection { shown, memory, seq, unreadable }))
    }

    pub async fn resource(&self, name: &str) -> Result<Option<ResourceRow>, StoreError> {
        self.worker.engine_context.store.resource(name).await
    }

    pub async fn resources(&self, query: &ResourceQuery) -> Result<ResourcePage, StoreError> {
        self.worker.engine_context.store.resources(query).await
    }

    /// How many resources have each of these values of a label, counted at one moment.
    pub async fn label_counts(&self, query: &LabelQuery) -> Result<BTreeMap<String, u64>, StoreError> {
        self.worker.engine_context.store.label_counts(query).await
    }

    /// What seals and opens the secrets in the record of a resource and in the operations on it.
    pub fn sealer(&self, tenant: &str, resource: &str) -> Sealer {
        Sealer::new(&self.worker.engine_context.ring, sealing_context(tenant, Some(resource), ""))
    }

    pub async fn list(&self, query: &OperationQuery) -> Result<Vec<Summary>, StoreError> {
        self.worker.engine_context.store.list(query).await
    }

    pub async fn journal(&self, id: OperationId, after: u32, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.worker.engine_context.store.journal(id, after, limit).await
    }

    /// How many operations fit, by workflow and phase, among the newest `limit` that do.
    pub async fn totals(&self, query: &OperationQuery) -> Result<Vec<Total>, StoreError> {
        self.worker.engine_context.store.totals(query).await
    }

    /// What ended from this moment on, in spans of this length.
    pub async fn history(
        &self,
        from: Timestamp,
        span: Duration,
        limit: usize,
    ) -> Result<Vec<EndedOperations>, StoreError> {
        self.worker.engine_context.store.history(from, span, limit).await
    }

    pub async fn stats(&self) -> Result<Stats, StoreError> {
        self.worker.engine_context.store.stats(self.now()).await
    }

    /// Whether the database answers and the last commit worked.
    pub async fn is_saving(&self) -> bool {
        self.worker.engine_context.store.ping().await.is_ok()
    }

    /// Whether the database answers, the last commit worked, and this node may work.
    pub async fn is_ready(&self) -> Result<(), StoreError> {
        self.worker.engine_context.store.ping().await?;
        match self.worker.lease() {
            Some(lease) if lease.allows_effects(self.worker.engine_context.moment()) => Ok(()),
            _ => Err(StoreError::Unavailable("this node holds no valid lease".into())),
        }
    }

    /// Wakes those who watch; what happened is in the journal.
    pub fn event_feed(&self) -> &EventFeed {
        &self.worker.engine_context.event_feed
    }

    pub fn workflows(&self) -> Vec<WorkflowInfo> {
        self.worker.registry.all().iter().map(|plan| plan.info()).collect()
    }

    /// What new operations of this workflow begin with.
    pub fn workflow(&self, name: &str) -> Option<WorkflowInfo> {
        self.worker.registry.newest(name).map(|plan| plan.info())
    }

    /// One version of a declared workflow, if this process keeps it, or a compiled one.
    pub fn workflow_version(&self, name: &str, version: Option<u32>) -> Option<WorkflowInfo> {
        self.worker.registry.version(name, version).map(|plan| plan.info())
    }

    /// The plan that an operation runs by.
    pub fn plan_of(&self, inspection: &Inspection) -> Option<WorkflowInfo> {
        self.workflow_version(&inspection.shown.summary.workflow, inspection.memory.version())
    }

    /// Whether the program itself has this workflow.
    pub fn is_compiled(&self, workflow: &str) -> bool {
        self.worker.registry.is_compiled(workflow)
    }

    /// Keeps a version of a declared workflow, for operations that began with it.
    pub fn keep_version<W: Workflow>(&self, plan: Plan<W>) {
        self.worker.registry.keep(Arc::new(plan));
    }

    /// Says which version of a declared workflow new operations begin with, and forgets all that are not `kept`.
    pub fn offer_version(&self, workflow: &str, offered: Option<u32>, kept: &BTreeSet<u32>) {
        self.worker.registry.offer(workflow, offered, kept);
    }

    /// The name under which the others know this process; it changes when they had declared it dead.
    pub fn node(&self) -> Option<NodeId> {
        self.worker.lease().map(|lease| lease.node)
    }

    /// How many operations this process works on right now.
    pub fn running(&self) -> usize {
        self.worker.running_count()
    }

    pub fn now(&self) -> Timestamp {
        self.worker.engine_context.clock.now()
    }

    /// Every unfinished operation that this release could not finish, with the reason. Only reads.
    pub async fn check_unfinished(
        &self,
        store: &dyn SavedReader,
    ) -> Result<(usize, Vec<Unfinishable>), StoreError> {
        let (mut count, mut found, mut after) = (0, Vec::new(), None);
        loop {
            let page = store.unfinished(after, CHECK_PAGE).await?;
            let Some(last) = page.last() else { return Ok((count, found)) };
            after = Some(last.id);
            count += page.len();
            for saved in page {
                if let Err(reason) = self.check(&saved) {
                    found.push(Unfinishable { operation: saved.id, workflow: saved.workflow, reason });
                }
            }
        }
    }

    fn check(&self, saved: &SavedOperation) -> Result<(), String> {
        let engine_context = &self.worker.engine_context;
        let memory = saved.memory.as_deref().map_or(Ok(Memory::default()), serde_json::from_str::<Memory>);
        let mut memory = memory.map_err(|error| format!("its memory cannot be read: {error}"))?;
        for event in &saved.events {
            let body = serde_json::from_str(&event.body)
                .map_err(|error| format!("event {} cannot be read: {error}", event.seq))?;
            memory.apply(Event { seq: event.seq, at: Timestamp(event.at), body });
        }
        let plan = self.worker.registry.version(&saved.workflow, memory.version());
        // A declared version is in the database beside the operation.
        let missing = || format!("this release has no workflow {}", saved.workflow);
        match (plan, memory.version()) {
            (None, Some(_)) => Ok(()),
            (plan, _) => plan.ok_or_else(missing)?.readable(&saved.params, &memory, engine_context.release),
        }
    }
}
