//! A store in memory, for tests: the same rules, no disk.

mod access;
mod claiming;
mod people;
mod requests;
mod resources;
mod saved;
mod writes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::Notify;

use self::people::People;
use self::resources::Resources;
use super::{
    Claims, ControlRequest, EndedOperations, LabelQuery, OperationDetail, OperationQuery, Ownership, Receipt,
    ResourcePage, ResourceQuery, ResourceRow, Stats, Store, StoreError, Summary, Write,
};
use crate::access::{AuditRow, TokenRow};
use crate::clock::Timestamp;
use crate::event::Event;
use crate::ids::{NodeId, OperationId};
use crate::phase::Phase;

/// Everything in one process, behind one lock.
#[derive(Default)]
pub struct MemoryStore {
    tables: Mutex<Tables>,
    wake_up: Notify,
}

#[derive(Default)]
struct Tables {
    operations: BTreeMap<OperationId, MemoryRow>,
    archive: BTreeMap<OperationId, MemoryRow>,
    journal: BTreeMap<(OperationId, u32), Event>,
    nodes: BTreeSet<NodeId>,
    signals: BTreeMap<String, Inbox>,
    idempotency: BTreeMap<(String, String), (OperationId, String)>,
    resources: Resources,
    tokens: Vec<TokenRow>,
    people: People,
    audit: Vec<AuditRow>,
    shared: BTreeMap<String, String>,
    /// The tenant that was served last.
    served: String,
    now: Option<Timestamp>,
    commits: u64,
    /// The last number that a control request, a signal or an operation that waits for a resource got.
    last_number: i64,
    /// Something is free to be claimed since the last commit.
    rings: bool,
}

/// The last signal of a key.
struct Inbox {
    payload: Value,
    at: Timestamp,
    number: i64,
}

#[derive(Clone)]
struct MemoryRow {
    summary: Summary,
    params: String,
    epoch: i64,
    queued: bool,
    /// Its place among those that wait for the resource.
    queue_number: i64,
    orphaned: bool,
    key: Option<String>,
    control_number: i64,
    memory: Option<String>,
    memory_seq: u32,
}

impl MemoryRow {
    /// The control request that no node has processed, with its number.
    fn control(&self) -> Option<ControlRequest> {
        self.summary.control.clone().map(|control| ControlRequest { number: self.control_number, ..control })
    }
}

impl MemoryStore {
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Declares a node dead, as an expired lease would: time is not looked at here.
    pub fn expire(&self, node: NodeId) {
        self.tables().free(node);
        self.wake_up.notify_waiters();
    }
}

impl Tables {
    fn free(&mut self, node: NodeId) {
        self.nodes.remove(&node);
        let now = self.now;
        for row in self.operations.values_mut().filter(|row| row.summary.owner == Some(node)) {
            row.summary.owner = None;
            row.orphaned = true;
            row.summary.due_at = now.or(Some(Timestamp(0)));
        }
    }

    fn append(&mut self, id: OperationId, event: &Event) -> Result<(), StoreError> {
        if self.journal.contains_key(&(id, event.seq)) {
            return Err(StoreError::Fenced);
        }
        self.journal.insert((id, event.seq), event.clone());
        Ok(())
    }

    fn held(&mut self, hold: Ownership) -> Option<&mut MemoryRow> {
        self.operations
            .get_mut(&hold.id)
            .filter(|row| row.summary.owner == Some(hold.node) && row.epoch == hold.epoch)
    }

    fn holder(&self, resource: Option<&str>) -> Option<OperationId> {
        let resource = resource?;
        self.operations
            .values()
            .find(|row| !row.queued && row.summary.resource.as_deref() == Some(resource))
            .map(|row| row.summary.id)
    }

    fn last_seq(&self, id: OperationId) -> u32 {
        self.journal.range((id, 0)..=(id, u32::MAX)).next_back().map_or(0, |((_, seq), _)| *seq)
    }
}

/// What a list says about an operation that waits for its resource.
pub const QUEUED: &str = "waits until the operation before it on the same resource has finished";

#[async_trait]
impl Store for MemoryStore {
    async fn join(&self, node: NodeId, previous: Option<NodeId>, _lease: Duration) -> Result<(), StoreError> {
        let mut tables = self.tables();
        tables.nodes.insert(node);
        if let Some(previous) = previous {
            tables.free(previous);
        }
        Ok(())
    }

    async fn heartbeat(
        &self,
        node: NodeId,
        _lease: Duration,
    ) -> Result<Vec<(OperationId, ControlRequest)>, StoreError> {
        let tables = self.tables();
        if !tables.nodes.contains(&node) {
            return Err(StoreError::Fenced);
        }
        let mine = tables.operations.values().filter(|row| row.summary.owner == Some(node));
        Ok(mine.filter_map(|row| Some((row.summary.id, row.control()?))).collect())
    }

    async fn leave(&self, node: NodeId) -> Result<(), StoreError> {
        self.tables().free(node);
        self.wake_up.notify_waiters();
        Ok(())
    }

    async fn release(&self, node: NodeId, ids: &[OperationId]) -> Result<(), StoreError> {
        let mut tables = self.tables();
        let now = tables.now.or(Some(Timestamp(0)));
        for id in ids {
            if let Some(row) = tables.operations.get_mut(id).filter(|row| row.summary.owner == Some(node)) {
                row.summary.owner = None;
                row.orphaned = true;
                row.summary.due_at = now;
            }
        }
        Ok(())
    }

    async fn commit(&self, write: Write) -> Result<Receipt, StoreError> {
        let mut tables = self.tables();
        tables.commits += 1;
        let receipt = match &write {
            Write::Create(create) => tables.create(create)?,
            Write::Append(append) => tables.append_alone(append)?,
            Write::Park(park) => tables.park(park)?,
            Write::Finish(finish) => tables.finish(finish)?,
            Write::Wish { id, control } => tables.control(*id, control.clone()),
            Write::Signal { key, payload, at, limit } => tables.signal(key, payload, *at, limit.as_ref()),
            Write::Resource(write) => tables.write_resource(write)?,
        };
        for touch in write.touches() {
            tables.resources.touch(&touch);
        }
        if std::mem::take(&mut tables.rings) {
            self.wake_up.notify_one();
        }
        Ok(receipt)
    }

    async fn claim(&self, node: NodeId, now: Timestamp, limit: usize) -> Result<Claims, StoreError> {
        let mut tables = self.tables();
        tables.now = Some(now);
        if !tables.nodes.contains(&node) {
            return Err(StoreError::Fenced);
        }
        let due = tables.due(now, limit);
        let operations = due.into_iter().filter_map(|id| tables.claim_one(id, node, now)).collect();
        let free = tables.operations.values().filter(|row| row.summary.owner.is_none() && !row.queued);
        let next_due = free.filter_map(|row| row.summary.due_at).min();
        Ok(Claims { operations, next_due })
    }

    async fn show(&self, id: OperationId) -> Result<Option<OperationDetail>, StoreError> {
        let tables = self.tables();
        let row = tables.operations.get(&id).or_else(|| tables.archive.get(&id));
        Ok(row.map(|row| OperationDetail {
            summary: row.summary.clone(),
            params: row.params.clone(),
            memory: row.memory.clone(),
            memory_seq: row.memory_seq,
        }))
    }

    async fn list(&self, query: &OperationQuery) -> Result<Vec<Summary>, StoreError> {
        let tables = self.tables();
        let mut all: Vec<&Summary> =
            tables.operations.values().chain(tables.archive.values()).map(|row| &row.summary).collect();
        all.sort_by_key(|summary| std::cmp::Reverse(summary.id));
        let wanted = all.into_iter().filter(|summary| {
            query.workflow.as_ref().is_none_or(|workflow| *workflow == summary.workflow)
                && (query.phases.is_empty() || query.phases.contains(&summary.phase))
                && query.tenant.as_ref().is_none_or(|tenant| *tenant == summary.tenant)
                && (query.resource.is_none() || query.resource == summary.resource)
                && (query.resources.is_empty()
                    || summary.resource.as_ref().is_some_and(|name| query.resources.contains(name)))
                && query.before.is_none_or(|before| summary.id < before)
                && query.from.is_none_or(|from| summary.id >= from)
                && query.id_end.as_ref().is_none_or(|end| summary.id.0.simple().to_string().ends_with(end))
        });
        Ok(wanted.take(query.limit).cloned().collect())
    }

    async fn journal(&self, id: OperationId, after: u32, limit: usize) -> Result<Vec<Event>, StoreError> {
        let tables = self.tables();
        let events = tables.journal.range((id, after.saturating_add(1))..=(id, u32::MAX));
        Ok(events.map(|(_, event)| event.clone()).take(limit).collect())
    }

    async fn resource(&self, name: &str) -> Result<Option<ResourceRow>, StoreError> {
        Ok(self.tables().resources.get(name))
    }

    async fn resources(&self, query: &ResourceQuery) -> Result<ResourcePage, StoreError> {
        Ok(self.tables().resources.page(query))
    }

    async fn label_counts(&self, query: &LabelQuery) -> Result<BTreeMap<String, u64>, StoreError> {
        Ok(self.tables().resources.label_counts(query))
    }

    async fn history(
        &self,
        from: Timestamp,
        span: Duration,
        limit: usize,
    ) -> Result<Vec<EndedOperations>, StoreError> {
        let tables = self.tables();
        let ends = tables.archive.values().filter_map(|row| Some((row.summary.finished_at?, &row.summary)));
        let mut ends: Vec<_> = ends.filter(|(at, _)| *at >= from).collect();
        ends.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        let mut found: BTreeMap<u32, EndedOperations> = BTreeMap::new();
        for (at, summary) in ends.into_iter().take(limit) {
            let nth = u32::try_from(at.since(from).as_micros() / span.as_micros().max(1)).unwrap_or(u32::MAX);
            let ended = found.entry(nth).or_insert(EndedOperations { nth, ..EndedOperations::default() });
            ended.count += 1;
            ended.failed += u64::from(summary.phase != Phase::Succeeded);
            ended.took += at.since(summary.created_at);
        }
        Ok(found.into_values().collect())
    }

    async fn stats(&self, now: Timestamp) -> Result<Stats, StoreError> {
        let tables = self.tables();
        let mut stats = Stats { commits: tables.commits, writes: tables.commits, ..Stats::default() };
        stats.oldest_unfinished = tables.operations.values().next().map(|row| row.summary.created_at);
        for row in tables.operations.values() {
            let due = row.summary.due_at.filter(|due_at| *due_at <= now && row.summary.owner.is_none());
            stats.owned += u64::from(row.summary.owner.is_some());
            stats.due += u64::from(due.is_some());
            stats.waiting += u64::from(row.summary.owner.is_none() && due.is_none());
            stats.stuck += u64::from(row.summary.phase == Phase::Stuck);
            stats.oldest_due = [stats.oldest_due, due].into_iter().flatten().min();
        }
        Ok(stats)
    }

    async fn prune(&self, before: Timestamp) -> Result<usize, StoreError> {
        let mut tables = self.tables();
        let old: Vec<OperationId> = tables
            .archive
            .values()
            .filter(|row| row.summary.finished_at.is_some_and(|at| at < before))
            .map(|row| row.summary.id)
            .collect();
        for id in &old {
            tables.archive.remove(id);
            tables.journal.retain(|(of, _), _| of != id);
            tables.idempotency.retain(|_, (of, _)| of != id);
        }
        tables.signals.retain(|_, signal| signal.at >= before);
        tables.audit.retain(|row| row.at >= before);
        tables.resources.prune(before);
        Ok(old.len())
    }

    async fn ping(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn wake_up(&self) -> &Notify {
        &self.wake_up
    }
}
