//! The one thread that writes. It takes everything that is queued, writes it in one transaction, and answers
//! each caller after the commit.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use engine::store::{Receipt, StoreError};
use rusqlite::Connection;
use tokio::sync::{Notify, mpsc, oneshot};
use tracing::warn;

use super::apply::apply;
use super::connection::{fault, open_writer};
use super::statements;
use crate::draft::Draft;
use crate::last_commit::LastCommit;
use crate::{BATCH_BYTES_MAX, BATCH_WRITES_MAX};

/// The open transaction.
pub(super) struct Transaction<'a> {
    pub(super) db: &'a Connection,
    rings: Cell<bool>,
}

impl Transaction<'_> {
    /// Something is free to be claimed as soon as this is committed.
    pub(super) fn ring(&self) {
        self.rings.set(true);
    }
}

/// Something to be done in a transaction. It may be done again, when the transaction was rolled back.
trait QueuedWrite: Send {
    fn run(&mut self, transaction: &Transaction<'_>) -> Result<(), StoreError>;
    /// The caller hears what `run` found, or why that does not count.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
    fn weight(&self) -> usize;
    fn is_write(&self) -> bool;
}

struct PendingWrite<W, T> {
    work: W,
    weight: usize,
    is_write: bool,
    found: Result<T, StoreError>,
    caller: oneshot::Sender<WriteReply<W, T>>,
}

/// What was asked goes back together with the answer: to free its memory is the caller's work too.
struct WriteReply<W, T> {
    found: Result<T, StoreError>,
    _work: W,
}

impl<W, T> QueuedWrite for PendingWrite<W, T>
where
    W: FnMut(&Transaction<'_>) -> Result<T, StoreError> + Send,
    T: Send,
{
    fn run(&mut self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        self.found = (self.work)(transaction);
        self.found.as_ref().map(|_| ()).map_err(StoreError::clone)
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        // The transaction that asked may have gone away; what is saved stays saved.
        let _ = self.caller.send(WriteReply { found: committed.and(self.found), _work: self.work });
    }

    fn weight(&self) -> usize {
        self.weight
    }

    fn is_write(&self) -> bool {
        self.is_write
    }
}

fn untried<T>() -> Result<T, StoreError> {
    Err(StoreError::Unavailable("nothing was tried yet".into()))
}

async fn answered<W, T>(
    queued: Result<(), StoreError>,
    answer: oneshot::Receiver<WriteReply<W, T>>,
) -> Result<T, StoreError> {
    queued?;
    answer.await.map_err(|_| gone())?.found
}

fn gone() -> StoreError {
    StoreError::Unavailable("the thread that writes is gone".into())
}

pub(super) struct Writer {
    queue: Option<mpsc::UnboundedSender<Box<dyn QueuedWrite>>>,
    thread: Option<JoinHandle<()>>,
    counters: Arc<Counters>,
    last: LastCommit,
}

#[derive(Default)]
struct Counters {
    commits: AtomicU64,
    writes: AtomicU64,
}

impl Writer {
    /// `db` is the only connection that writes to the file at `path`.
    pub(super) fn start(db: Connection, path: PathBuf, wake_up: Arc<Notify>) -> Result<Writer, StoreError> {
        let (queue, queued_writes) = mpsc::unbounded_channel();
        let counters = Arc::new(Counters::default());
        let write_queue = WriteQueue { db, path, queued_writes, wake_up, counters: Arc::clone(&counters) };
        let thread = thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || write_queue.work())
            .map_err(|error| StoreError::Unavailable(format!("cannot start a thread: {error}")))?;
        Ok(Writer { queue: Some(queue), thread: Some(thread), counters, last: LastCommit::default() })
    }

    /// Saves one write.
    pub(super) async fn save(&self, draft: Draft) -> Result<Receipt, StoreError> {
        let (caller, answer) = oneshot::channel();
        let (weight, found) = (draft.weight(), untried());
        let work = move |transaction: &Transaction<'_>| apply(transaction, &draft);
        let queued = self.queue(Box::new(PendingWrite { work, weight, is_write: true, found, caller }));
        let saved = answered(queued, answer).await;
        self.last.note(&saved);
        saved
    }

    /// Does this in a transaction, together with what others want at the same moment, and answers after the
    /// commit. `Refused` takes back what `work` did; `Fenced` does not.
    pub(super) async fn run<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        W: FnMut(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
        T: Send + 'static,
    {
        let (caller, answer) = oneshot::channel();
        let queued =
            self.queue(Box::new(PendingWrite { work, weight: 0, is_write: false, found: untried(), caller }));
        let done = answered(queued, answer).await;
        // It may have changed nothing, so that it worked says nothing about commits.
        done.inspect_err(|error| self.last.failed(error))
    }

    /// The same for what always changes something.
    pub(super) async fn run_and_change<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        W: FnMut(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
        T: Send + 'static,
    {
        self.run(work).await.inspect(|_| self.last.worked())
    }

    /// Whether the last commit worked and the thread is there.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let is_there = self.queue.as_ref().is_some_and(|queue| !queue.is_closed());
        self.last.check().and(if is_there { Ok(()) } else { Err(gone()) })
    }

    fn queue(&self, queued_write: Box<dyn QueuedWrite>) -> Result<(), StoreError> {
        self.queue.as_ref().ok_or_else(gone)?.send(queued_write).map_err(|_| gone())
    }

    /// Transactions with writes so far, and the writes in them.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.counters.commits.load(Ordering::Relaxed), self.counters.writes.load(Ordering::Relaxed))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread has on its queue.
struct WriteQueue {
    db: Connection,
    path: PathBuf,
    queued_writes: mpsc::UnboundedReceiver<Box<dyn QueuedWrite>>,
    wake_up: Arc<Notify>,
    counters: Arc<Counters>,
}

/// Whether each errand can be taken back on its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plain,
    EachApart,
}

impl WriteQueue {
    fn work(mut self) {
        while let Some(first) = self.queued_writes.blocking_recv() {
            let mut weight = first.weight();
            let mut batch = vec![first];
            while batch.len() < BATCH_WRITES_MAX && weight < BATCH_BYTES_MAX {
                let Ok(queued_write) = self.queued_writes.try_recv() else { break };
                weight += queued_write.weight();
                batch.push(queued_write);
            }
            self.settle(batch);
        }
    }

    fn settle(&mut self, mut batch: Vec<Box<dyn QueuedWrite>>) {
        let mut outcome = self.transaction(&mut batch, Mode::Plain);
        if matches!(outcome, Err(StoreError::Refused(_))) {
            // The database refused the data of one write. With a savepoint around each, only that write fails.
            outcome = self.transaction(&mut batch, Mode::EachApart);
        }
        if let Err(error) = &outcome {
            warn!(%error, "committing {} writes failed", batch.len());
            self.recover(error);
        }
        for queued_write in batch {
            queued_write.answer(outcome.clone());
        }
    }

    fn transaction(&mut self, batch: &mut [Box<dyn QueuedWrite>], mode: Mode) -> Result<(), StoreError> {
        if !self.db.is_autocommit() {
            self.execute(statements::ROLLBACK)?;
        }
        let rings = self.try_transaction(batch, mode).inspect_err(|_| {
            // Some errors have rolled back already, and then there is nothing to roll back.
            if !self.db.is_autocommit() {
                let _ = self.execute(statements::ROLLBACK);
            }
        })?;
        let writes = batch.iter().filter(|queued_write| queued_write.is_write()).count() as u64;
        if writes > 0 {
            self.counters.commits.fetch_add(1, Ordering::Relaxed);
            self.counters.writes.fetch_add(writes, Ordering::Relaxed);
        }
        if rings {
            self.wake_up.notify_one();
        }
        Ok(())
    }

    fn try_transaction(&self, batch: &mut [Box<dyn QueuedWrite>], mode: Mode) -> Result<bool, StoreError> {
        self.execute(statements::BEGIN)?;
        let transaction = Transaction { db: &self.db, rings: Cell::new(false) };
        for queued_write in batch {
            if mode == Mode::EachApart {
                self.execute(statements::SAVE)?;
            }
            match queued_write.run(&transaction) {
                Ok(()) | Err(StoreError::Fenced) => {}
                Err(StoreError::Refused(_)) if mode == Mode::EachApart => self.execute(statements::UNDO)?,
                Err(error) => return Err(error),
            }
            if mode == Mode::EachApart {
                self.execute(statements::KEEP)?;
            }
        }
        self.execute(statements::COMMIT)?;
        Ok(transaction.rings.get())
    }

    fn execute(&self, sql: &'static str) -> Result<(), StoreError> {
        self.db.prepare_cached(sql).and_then(|mut statement| statement.raw_execute()).map_err(fault)?;
        Ok(())
    }

    /// A connection that met a broken disk may be of no use any more; a full disk does not harm it.
    fn recover(&mut self, error: &StoreError) {
        if let StoreError::Unavailable(_) = error
            && let Ok(db) = open_writer(&self.path)
        {
            self.db = db;
        }
    }
}
