//! Operations in `PostgreSQL`, for any number of processes.

mod access;
mod batch;
mod batch_statements;
mod claim;
mod clock_skew;
mod columns;
mod committer;
mod connection;
mod failure;
mod heartbeat;
mod listener;
mod locked;
mod people;
mod people_statements;
mod questions;
mod reader;
mod resource_list;
mod resource_statements;
mod resources;
mod saved;
mod saved_statements;
mod schema;
mod serial;
mod statements;
mod target;
#[cfg(test)]
mod tests;
mod tls;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::store::{
    Claims, ControlRequest, EndedOperations, LabelQuery, OperationDetail, OperationQuery, Receipt,
    ResourcePage, ResourceQuery, ResourceRow, Stats, Store, StoreError, Summary, Total, Write,
};
use engine::{Clock, Event, NodeId, OperationId, Timestamp, WallClock};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use self::claim::Claimer;
use self::committer::Committers;
use self::connection::Connection;
use self::heartbeat::Heartbeat;
pub use self::saved::PostgresReader;
use self::target::DatabaseTarget;
pub use self::tls::trust;
use self::work::Work;
use crate::draft::Draft;
use crate::{PRUNE_MAX, rows};

const COMMITTERS_MAX: usize = 8;

/// A few connections, each with its own work, which come back by themselves when they are lost. Meanwhile
/// everything is answered with `Unavailable` at once.
///
/// The address must lead to the server itself, or to a pool that keeps a session for each connection. It may name
/// several servers; the one that accepts writes is used.
/// `sslmode` in the address may be `disable` or `prefer`, both without TLS, or `require`, `verify-ca` or
/// `verify-full`, which all verify the server with the certificates that this machine trusts.
pub struct PostgresStore {
    committers: Committers,
    claimer: Claimer,
    heartbeat: Heartbeat,
    reads: Connection,
    resources: Connection,
    queued_writes: Connection,
    saved: PostgresReader,
    reseal: Connection,
    wake_up: Arc<Notify>,
    listener: JoinHandle<()>,
}

impl PostgresStore {
    /// Connects, brings the schema up to date, and starts `committers` of 1 to 8 tasks that write.
    pub async fn connect(url: &str, committers: usize) -> Result<Arc<PostgresStore>, StoreError> {
        let target = Arc::new(DatabaseTarget::parse(url)?);
        schema::migrate(&target).await?;
        let wake_up = Arc::new(Notify::new());
        Ok(Arc::new(PostgresStore {
            committers: Committers::start(&target, committers.clamp(1, COMMITTERS_MAX), &wake_up),
            claimer: Claimer::new(&target),
            heartbeat: Heartbeat::new(&target, &wake_up),
            reads: Connection::new(&target, reader::READER),
            resources: Connection::new(&target, resource_list::LISTER),
            queued_writes: Connection::new(&target, reader::QUEUED_WRITES),
            saved: PostgresReader::at(&target),
            reseal: Connection::new(&target, saved::RESEAL),
            listener: tokio::spawn(listener::listen(target, Arc::clone(&wake_up))),
            wake_up,
        }))
    }

    /// Brings the schema up to date and answers the versions that were missing. A database that is newer than
    /// this program is refused and not touched.
    pub async fn migrate(url: &str) -> Result<Vec<u32>, StoreError> {
        schema::migrate(&DatabaseTarget::parse(url)?).await
    }

    /// The password in an address, if it has one.
    pub fn password(url: &str) -> Result<Option<Vec<u8>>, StoreError> {
        target::password(url)
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        // The committers end when no transaction can send them anything; the listener would not.
        self.listener.abort();
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn join(&self, node: NodeId, previous: Option<NodeId>, lease: Duration) -> Result<(), StoreError> {
        self.heartbeat.join(node, previous, lease).await
    }

    async fn heartbeat(
        &self,
        node: NodeId,
        lease: Duration,
    ) -> Result<Vec<(OperationId, ControlRequest)>, StoreError> {
        self.heartbeat.heartbeat(node, lease).await
    }

    async fn leave(&self, node: NodeId) -> Result<(), StoreError> {
        self.heartbeat.leave(node).await
    }

    async fn release(&self, node: NodeId, ids: &[OperationId]) -> Result<(), StoreError> {
        self.heartbeat.release(node, ids).await
    }

    async fn commit(&self, write: Write) -> Result<Receipt, StoreError> {
        let is_ours = matches!(&write, Write::Create(create) if create.owner.is_some());
        let receipt = self.committers.save(Work::Write(Draft::new(write))).await;
        if is_ours {
            self.heartbeat.owns();
        }
        receipt
    }

    async fn claim(&self, node: NodeId, now: Timestamp, limit: usize) -> Result<Claims, StoreError> {
        let claims = self.claimer.claim(node, now, limit).await?;
        if !claims.operations.is_empty() {
            self.heartbeat.owns();
        }
        Ok(claims)
    }

    async fn show(&self, id: OperationId) -> Result<Option<OperationDetail>, StoreError> {
        reader::show(&self.reads, id).await
    }

    async fn list(&self, query: &OperationQuery) -> Result<Vec<Summary>, StoreError> {
        reader::list(&self.reads, query).await
    }

    async fn journal(&self, id: OperationId, after: u32, limit: usize) -> Result<Vec<Event>, StoreError> {
        reader::journal(&self.reads, id, after, limit).await
    }

    async fn resource(&self, name: &str) -> Result<Option<ResourceRow>, StoreError> {
        resource_list::get(&self.resources, name).await
    }

    async fn resources(&self, query: &ResourceQuery) -> Result<ResourcePage, StoreError> {
        resource_list::page(&self.resources, query).await
    }

    async fn label_counts(&self, query: &LabelQuery) -> Result<BTreeMap<String, u64>, StoreError> {
        resource_list::label_counts(&self.resources, query).await
    }

    async fn totals(&self, query: &OperationQuery) -> Result<Vec<Total>, StoreError> {
        reader::totals(&self.reads, query).await
    }

    async fn history(
        &self,
        from: Timestamp,
        span: Duration,
        limit: usize,
    ) -> Result<Vec<EndedOperations>, StoreError> {
        reader::history(&self.queued_writes, from, span, limit).await
    }

    async fn stats(&self, now: Timestamp) -> Result<Stats, StoreError> {
        let counted = reader::stats(&self.queued_writes, now).await?;
        let (commits, writes) = self.committers.counts();
        Ok(Stats { commits, writes, ..counted })
    }

    async fn prune(&self, before: Timestamp) -> Result<usize, StoreError> {
        let now = WallClock.now();
        let told = self.reads.read(questions::NOW, &[]).await?;
        let told = told.first().map_or(now, |row| Timestamp(row.get(0)));
        let before = clock_skew::no_later_than(before, now, told);
        let removed = self.queued_writes.write(questions::PRUNE, &[&before.0, &PRUNE_MAX]).await?;
        let count = removed.first().map_or(0, |row| rows::unsigned(row.get(0)));
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.reads.read(questions::PING, &[]).await?;
        let last = self.committers.last();
        if last.check().is_ok() {
            return Ok(());
        }
        // A node that is not ready is asked to save nothing, so it must find out by itself when it can again.
        let tried = self.queued_writes.write(questions::TRY_WRITING, &[]).await.map(drop);
        last.note(&tried);
        tried
    }

    fn wake_up(&self) -> &Notify {
        &self.wake_up
    }
}
