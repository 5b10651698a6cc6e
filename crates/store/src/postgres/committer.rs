//! Everybody's writes, many to a transaction.
//!
//! A committer takes everything that is queued, writes it, and answers each caller after the commit. An
//! operation has at most one write under way, because the node that runs it waits for the answer.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use engine::store::{Receipt, StoreError};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;
use tracing::warn;
use uuid::Uuid;

use super::batch::{Batch, WriteResult};
use super::connection::{BATCH_TIMEOUT, BY_KEY, Connection, ConnectionRole};
use super::failure::TransactionFailure;
use super::serial;
use super::target::DatabaseTarget;
use super::work::{Job, Work};
use super::{batch_statements as batch_sql, resource_statements as resource_sql, statements as sql};
use crate::draft::Draft;
use crate::last_commit::LastCommit;
use crate::{BATCH_BYTES_MAX, BATCH_WRITES_MAX};

/// One committer serves this many writes under way best, and two the next, where a commit is quick.
const ONE_BELOW: usize = 32;
const TWO_BELOW: usize = 1000;
/// A commit of a few writes that takes longer waits for a disk or a network and not for us: then several at once
/// get more done, as long as each of them has enough to write.
const SLOW_COMMIT_MICROS: u64 = 2000;
const SLOW_WRITES_EACH: usize = 16;
/// Only commits as small as this tell what the disk and the network take.
const SMALL_COMMIT: usize = 8;
/// How often the same is tried when others are in the way.
const CLASHES_MAX: usize = 5;

/// A turn of the runtime that is as short as this had nothing else to do.
const QUIET_TURN: Duration = Duration::from_micros(50);
/// Another thread of the runtime may be looking for what is ready, so one such turn says little.
const QUIET_TURNS: usize = 4;
/// A batch gathers no longer than this, and not more.
const GATHER_MAX: Duration = Duration::from_millis(1);
const GATHERED: usize = 64;

pub(super) const COMMITTER: ConnectionRole = ConnectionRole {
    settings: BY_KEY,
    statements: &[
        batch_sql::APPEND,
        batch_sql::CREATE,
        batch_sql::FINISH,
        batch_sql::WRITE,
        sql::GIVEN,
        sql::UNLOCKED,
        sql::UNUSE_KEYS,
        sql::SET_PHASES,
        sql::TAKE_SIGNALS,
        sql::PARK,
        sql::PROMOTE,
        sql::AUDIT,
        sql::TELL,
        sql::SHARE_KEYS,
        sql::LOCK_KEYS,
        sql::KEY_USED,
        sql::USE_KEY,
        sql::UNUSE_KEY,
        sql::HOLDER,
        sql::CREATE_ONE,
        sql::STANDING,
        sql::CONTROL,
        sql::FINISHED,
        sql::IS_THERE,
        sql::REVIVE,
        sql::UNARCHIVE,
        sql::WAKE,
        sql::SIGNAL,
        sql::UNREAD_SIGNALS,
        sql::QUEUES_FOR,
        resource_sql::LOCK_NAMES,
        resource_sql::LOCK_RESOURCES,
        resource_sql::VERSIONS,
        resource_sql::ADD_RESOURCE,
        resource_sql::CHANGE_RESOURCE,
        resource_sql::REVIVE_RESOURCE,
        resource_sql::TOUCH,
    ],
};

#[derive(Default)]
struct Counters {
    under_way: AtomicUsize,
    /// How long a small commit took lately, on average.
    commit_micros: AtomicU64,
    commits: AtomicU64,
    writes: AtomicU64,
}

impl Counters {
    fn took(&self, elapsed: Duration) {
        let sample = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX / 8);
        let before = self.commit_micros.load(Ordering::Relaxed);
        // Another committer may do the same at this moment; the average does not mind.
        self.commit_micros.store(before - before / 8 + sample / 8, Ordering::Relaxed);
    }
}

pub(super) struct Committers {
    queues: Vec<mpsc::UnboundedSender<Job>>,
    /// Keeps the queue of those that wait for a row open.
    _locked: mpsc::UnboundedSender<Job>,
    counters: Arc<Counters>,
    last: LastCommit,
}

/// Counts a write as under way until its caller has the answer or has gone.
struct UnderWay<'a>(&'a AtomicUsize);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Committers {
    pub(super) fn start(target: &Arc<DatabaseTarget>, count: usize, wake_up: &Arc<Notify>) -> Committers {
        let counters = Arc::new(Counters::default());
        let (locked, jobs) = mpsc::unbounded_channel();
        let start = |jobs, batch_max| {
            let commit_queue = CommitQueue {
                line: Connection::new(target, COMMITTER),
                jobs,
                waiting: VecDeque::new(),
                locked: locked.downgrade(),
                batch_max,
                wake_up: Arc::clone(wake_up),
                counters: Arc::clone(&counters),
            };
            tokio::spawn(commit_queue.work());
        };
        // Those that wait for a row are tried one by one, in turn.
        start(jobs, 1);
        let queue = |_| {
            let (queue, jobs) = mpsc::unbounded_channel();
            start(jobs, BATCH_WRITES_MAX);
            queue
        };
        let queues = (0..count).map(queue).collect();
        Committers { queues, _locked: locked, counters: Arc::clone(&counters), last: LastCommit::default() }
    }

    pub(super) async fn save(&self, work: Work) -> Result<Receipt, StoreError> {
        let saved = self.queue(work).await;
        self.last.note(&saved);
        saved
    }

    /// Whether the last commit worked.
    pub(super) fn last(&self) -> &LastCommit {
        &self.last
    }

    async fn queue(&self, work: Work) -> Result<Receipt, StoreError> {
        let under_way = self.counters.under_way.fetch_add(1, Ordering::Relaxed);
        let _counted = UnderWay(&self.counters.under_way);
        let is_slow = self.counters.commit_micros.load(Ordering::Relaxed) > SLOW_COMMIT_MICROS;
        let useful = match under_way {
            _ if is_slow => under_way / SLOW_WRITES_EACH + 1,
            _ if under_way < ONE_BELOW => 1,
            _ if under_way < TWO_BELOW => 2,
            _ => self.queues.len(),
        };
        let chosen = work.spread() % useful.min(self.queues.len());
        let gone = || StoreError::Unavailable("the committer is gone".into());
        let (caller, answer) = oneshot::channel();
        let until = Instant::now() + BATCH_TIMEOUT;
        self.queues[chosen].send(Job { work, caller, until, is_contested: false }).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Transactions so far, and the writes in them.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.counters.commits.load(Ordering::Relaxed), self.counters.writes.load(Ordering::Relaxed))
    }
}

/// What one committer has on its queue.
pub(super) struct CommitQueue {
    pub(super) line: Connection,
    jobs: mpsc::UnboundedReceiver<Job>,
    /// Taken from the queue but not for this batch.
    waiting: VecDeque<Job>,
    /// Where writes wait for rows that others hold.
    pub(super) locked: mpsc::WeakUnboundedSender<Job>,
    batch_max: usize,
    wake_up: Arc<Notify>,
    counters: Arc<Counters>,
}

impl CommitQueue {
    async fn work(mut self) {
        while let Some(batch) = self.gather().await {
            let (mut serial, plain): (Vec<Job>, Vec<Job>) =
                batch.into_iter().partition(|job| job.work.is_contended());
            serial.extend(self.settle(plain).await);
            self.settle_serially(serial).await;
        }
    }

    /// Everything that is queued, up to a limit, with no operation and no touched resource twice.
    async fn gather(&mut self) -> Option<Vec<Job>> {
        let first = if let Some(job) = self.waiting.pop_front() {
            job
        } else {
            let job = self.jobs.recv().await?;
            self.let_others_run().await;
            job
        };
        let mut weight = first.work.weight();
        let mut seen: HashSet<Uuid> = first.work.operation().into_iter().collect();
        let mut touched = HashSet::new();
        first.work.touches_again(&mut touched);
        let mut batch = vec![first];
        let mut left = VecDeque::new();
        while batch.len() < self.batch_max && weight < BATCH_BYTES_MAX {
            let Some(job) = self.waiting.pop_front().or_else(|| self.jobs.try_recv().ok()) else { break };
            let is_second = job.work.operation().is_some_and(|id| !seen.insert(id));
            if is_second || job.work.touches_again(&mut touched) {
                left.push_back(job);
                continue;
            }
            weight += job.work.weight();
            batch.push(job);
        }
        left.append(&mut self.waiting);
        self.waiting = left;
        Some(batch)
    }

    /// On a busy machine, other operations that are ready to run add their writes to the same commit: a commit costs the
    /// server several times as much as another row in it. Where nothing else is ready, this comes back at once.
    async fn let_others_run(&self) {
        let (began, mut last, mut quiet) = (Instant::now(), Instant::now(), 0);
        while quiet < QUIET_TURNS && began.elapsed() < GATHER_MAX && self.jobs.len() < GATHERED {
            tokio::task::yield_now().await;
            quiet = if last.elapsed() < QUIET_TURN { quiet + 1 } else { 0 };
            last = Instant::now();
        }
    }

    /// Writes in as few transactions as possible. What is not acceptable is looked for by halves, so that it
    /// costs only its own operation. Answers those that have to be looked at one by one.
    async fn settle(&mut self, jobs: Vec<Job>) -> Vec<Job> {
        let mut contested = Vec::new();
        let mut parts = vec![jobs];
        let mut clashes = 0;
        while let Some(mut part) = parts.pop() {
            if part.is_empty() {
                continue;
            }
            match self.attempt(&part).await {
                Ok(answers) => {
                    let (creates, ends): (Vec<Job>, Vec<Job>) =
                        deliver(part, answers).into_iter().partition(Job::is_create);
                    contested.extend(creates);
                    parts.push(ends);
                }
                Err(TransactionFailure::Clash(_)) if clashes < CLASHES_MAX => {
                    clashes += 1;
                    parts.push(part);
                }
                Err(TransactionFailure::Locked(why)) => parts.extend(self.apart(part, why).await),
                Err(TransactionFailure::Data(StoreError::Fenced)) if part.len() > 1 => {
                    let before = part.len();
                    part = self.without_fenced(part).await;
                    if part.len() == before {
                        parts.push(part.split_off(before / 2));
                    }
                    parts.push(part);
                }
                Err(TransactionFailure::Data(_)) if part.len() > 1 => {
                    parts.push(part.split_off(part.len() / 2));
                    parts.push(part);
                }
                Err(failure) => refuse(part, &StoreError::from(failure)),
            }
        }
        contested
    }

    async fn attempt(&self, part: &[Job]) -> Result<Vec<WriteResult>, TransactionFailure> {
        let batch = Batch::new(part)?;
        let session = self.line.session().await.map_err(TransactionFailure::Down)?;
        let began = Instant::now();
        let written = session.in_time(BATCH_TIMEOUT, Box::pin(batch.run(&session))).await??;
        if part.len() <= SMALL_COMMIT {
            self.counters.took(began.elapsed());
        }
        self.count(written.answers.iter().filter(|answer| matches!(answer, WriteResult::Done(_))).count());
        if written.rings {
            self.wake_up.notify_one();
        }
        Ok(written.answers)
    }

    /// Answers those whose number was given before, and keeps the rest.
    async fn without_fenced(&self, part: Vec<Job>) -> Vec<Job> {
        let Ok(batch) = Batch::new(&part) else { return part };
        let Ok(session) = self.line.session().await else { return part };
        let found = session.in_time(BATCH_TIMEOUT, batch.given(&session)).await;
        let given: HashSet<Uuid> = found.into_iter().flatten().flatten().collect();
        let mut rest = Vec::with_capacity(part.len());
        for job in part {
            match job.work.operation() {
                Some(id) if !job.is_create() && given.contains(&id) => job.answer(Err(StoreError::Fenced)),
                _ => rest.push(job),
            }
        }
        rest
    }

    /// One after the other in one transaction; each in its own when one of them fails.
    async fn settle_serially(&self, jobs: Vec<Job>) {
        let mut parts = vec![jobs];
        let mut clashes = 0;
        while let Some(part) = parts.pop() {
            if part.is_empty() {
                continue;
            }
            match self.attempt_serially(&part).await {
                Ok(receipts) => {
                    for (job, receipt) in part.into_iter().zip(receipts) {
                        job.answer(Ok(receipt));
                    }
                }
                Err(TransactionFailure::Clash(_)) if clashes < CLASHES_MAX => {
                    clashes += 1;
                    parts.push(part);
                }
                Err(TransactionFailure::Data(_) | TransactionFailure::Locked(_)) if part.len() > 1 => {
                    parts.extend(part.into_iter().rev().map(|job| vec![job]));
                }
                Err(TransactionFailure::Locked(why)) => self.wait_apart(part, &why),
                Err(failure) => refuse(part, &StoreError::from(failure)),
            }
        }
    }

    async fn attempt_serially(&self, part: &[Job]) -> Result<Vec<Receipt>, TransactionFailure> {
        let drafts: Vec<&Draft> = part.iter().filter_map(|job| job.work.draft()).collect();
        let session = self.line.session().await.map_err(TransactionFailure::Down)?;
        let (receipts, rings) = session.in_time(BATCH_TIMEOUT, serial::run(&session, &drafts)).await??;
        self.count(part.len());
        if rings {
            self.wake_up.notify_one();
        }
        Ok(receipts)
    }

    fn count(&self, writes: usize) {
        if writes == 0 {
            return;
        }
        self.counters.commits.fetch_add(1, Ordering::Relaxed);
        self.counters.writes.fetch_add(writes as u64, Ordering::Relaxed);
    }
}

fn deliver(part: Vec<Job>, answers: Vec<WriteResult>) -> Vec<Job> {
    let mut contested = Vec::new();
    for (job, answer) in part.into_iter().zip(answers) {
        match answer {
            WriteResult::Done(answer) => job.answer(answer),
            WriteResult::Contested => contested.push(Job { is_contested: true, ..job }),
        }
    }
    contested
}

pub(super) fn refuse(part: Vec<Job>, error: &StoreError) {
    if error.may_heal() {
        warn!(%error, "committing {} writes failed", part.len());
    }
    for job in part {
        job.answer(Err(error.clone()));
    }
}
