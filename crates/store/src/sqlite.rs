//! Operations in one `SQLite` file, for one process.

mod access;
mod apply;
mod claim;
mod connection;
mod copy;
mod people;
mod people_statements;
mod reader;
mod resource_list;
mod resources;
mod saved;
mod saved_statements;
mod statements;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use engine::store::{
    Claims, ControlRequest, EndedOperations, LabelQuery, OperationDetail, OperationQuery, Receipt,
    ResourcePage, ResourceQuery, ResourceRow, Stats, Store, StoreError, Summary, Total, Write,
};
use engine::{Event, NodeId, OperationId, Timestamp};
use rusqlite::params;
use tokio::sync::Notify;

use self::apply::{all, execute, one, uuid};
pub use self::copy::copy_sqlite;
use self::reader::Readers;
pub use self::saved::SqliteReader;
use self::writer::{Transaction, Writer};
use crate::draft::Draft;
use crate::fair::Turns;
use crate::{PRUNE_MAX, rows};

/// One file and its log. Everything that is written passes through one thread, so that one flush of the disk
/// serves everybody who waits; reading never waits for writing.
pub struct SqliteStore {
    // The order matters when the store is dropped: the lock goes last.
    writer: Writer,
    readers: Readers,
    turns: Arc<Mutex<Turns>>,
    wake_up: Arc<Notify>,
    _lock: File,
}

impl SqliteStore {
    /// Opens the file, or makes it. `Refused` when another process has it open.
    pub fn open(path: impl AsRef<Path>) -> Result<Arc<SqliteStore>, StoreError> {
        let path = path.as_ref();
        let lock = connection::lock_file(path)?;
        let mut db = connection::open_writer(path)?;
        connection::migrate(&mut db)?;
        let wake_up = Arc::new(Notify::new());
        Ok(Arc::new(SqliteStore {
            writer: Writer::start(db, path.to_owned(), Arc::clone(&wake_up))?,
            readers: Readers::open(path)?,
            turns: Arc::default(),
            wake_up,
            _lock: lock,
        }))
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn join(&self, node: NodeId, _previous: Option<NodeId>, lease: Duration) -> Result<(), StoreError> {
        self.writer.run(move |transaction: &Transaction<'_>| claim::join(transaction, node, lease)).await
    }

    /// No other node could take over, but the lease is written all the same: a node that cannot write must not
    /// start anything, and is not ready.
    async fn heartbeat(
        &self,
        node: NodeId,
        lease: Duration,
    ) -> Result<Vec<(OperationId, ControlRequest)>, StoreError> {
        let renew = move |transaction: &Transaction<'_>| claim::renew(transaction.db, node, lease);
        Ok(rows::controls(self.writer.run_and_change(renew).await?))
    }

    async fn leave(&self, node: NodeId) -> Result<(), StoreError> {
        self.writer.run(move |transaction: &Transaction<'_>| claim::leave(transaction, node)).await
    }

    async fn release(&self, node: NodeId, ids: &[OperationId]) -> Result<(), StoreError> {
        let ids = ids.to_vec();
        self.writer.run(move |transaction: &Transaction<'_>| claim::release(transaction, node, &ids)).await
    }

    async fn commit(&self, write: Write) -> Result<Receipt, StoreError> {
        self.writer.save(Draft::new(write)).await
    }

    async fn claim(&self, node: NodeId, now: Timestamp, limit: usize) -> Result<Claims, StoreError> {
        let turns = Arc::clone(&self.turns);
        let work = move |transaction: &Transaction<'_>| {
            let mut turns = turns.lock().unwrap_or_else(PoisonError::into_inner);
            claim::claim(transaction, &mut turns, node, now, limit)
        };
        self.writer.run(work).await
    }

    async fn show(&self, id: OperationId) -> Result<Option<OperationDetail>, StoreError> {
        self.readers.run(move |db| reader::show(db, id)).await
    }

    async fn list(&self, query: &OperationQuery) -> Result<Vec<Summary>, StoreError> {
        let query = query.clone();
        self.readers.run(move |db| reader::list(db, &query)).await
    }

    async fn journal(&self, id: OperationId, after: u32, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.readers.run(move |db| reader::journal(db, id, after, limit)).await
    }

    async fn resource(&self, name: &str) -> Result<Option<ResourceRow>, StoreError> {
        let name = name.to_owned();
        self.readers.run(move |db| resource_list::get(db, &name)).await
    }

    async fn resources(&self, query: &ResourceQuery) -> Result<ResourcePage, StoreError> {
        let query = query.clone();
        self.readers.run(move |db| resource_list::page(db, &query)).await
    }

    async fn label_counts(&self, query: &LabelQuery) -> Result<BTreeMap<String, u64>, StoreError> {
        let query = query.clone();
        self.readers.run(move |db| resource_list::label_counts(db, &query)).await
    }

    async fn totals(&self, query: &OperationQuery) -> Result<Vec<Total>, StoreError> {
        let query = query.clone();
        self.readers.run(move |db| reader::totals(db, &query)).await
    }

    async fn history(
        &self,
        from: Timestamp,
        span: Duration,
        limit: usize,
    ) -> Result<Vec<EndedOperations>, StoreError> {
        self.readers.run(move |db| reader::history(db, from, span, limit)).await
    }

    async fn stats(&self, now: Timestamp) -> Result<Stats, StoreError> {
        let counted = self.readers.run(move |db| reader::stats(db, now)).await?;
        let (commits, writes) = self.writer.counts();
        Ok(Stats { commits, writes, ..counted })
    }

    async fn prune(&self, before: Timestamp) -> Result<usize, StoreError> {
        self.writer.run(move |transaction: &Transaction<'_>| prune(transaction, before)).await
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.writer.check()?;
        let read = |db: &_| one(db, statements::PING, [], |row| row.get::<_, i64>(0)).map(drop);
        self.readers.run(read).await
    }

    fn wake_up(&self) -> &Notify {
        &self.wake_up
    }
}

fn prune(transaction: &Transaction<'_>, before: Timestamp) -> Result<usize, StoreError> {
    let db = transaction.db;
    let old = all(db, statements::OLD, params![before.0, PRUNE_MAX], |row| uuid(row, 0))?;
    for id in &old {
        execute(db, statements::UNARCHIVE, [id.as_bytes()])?;
        execute(db, statements::PRUNE_JOURNAL, [id.as_bytes()])?;
        execute(db, statements::PRUNE_KEY, [id.as_bytes()])?;
    }
    execute(db, statements::PRUNE_SIGNALS, [before.0])?;
    execute(db, statements::PRUNE_AUDIT, params![before.0, PRUNE_MAX])?;
    resources::prune(db, before)?;
    Ok(old.len())
}
