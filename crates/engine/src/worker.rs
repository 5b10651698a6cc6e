//! Picks up operations that are due, runs each in a task, and stops gracefully.

mod aside;
mod heartbeat;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument, error, info, info_span, warn};

use crate::clock::Timestamp;
use crate::engine_context::{ControlInbox, EngineContext, Lease};
use crate::ids::{NodeId, OperationId};
use crate::memory::Memory;
use crate::outcome::Abandon;
use crate::phase::Phase;
use crate::registry::{Job, Registry};
use crate::runner::RunExit;
use crate::store::{Claimed, Claims, Ownership, StoreError};

/// Operations taken in one claim; more are taken in the next one.
const CLAIM_MAX: usize = 500;
/// Two claims of one operation are at least this far apart, unless a signal or a request comes between them.
const CLAIM_DISTANCE: Duration = Duration::from_millis(100);
/// How long to rest when something is due that could not be claimed: others are working on it.
const EMPTY_CLAIM_REST: Duration = Duration::from_millis(100);
/// How long to leave the store alone after it failed.
const STORE_REST: Duration = Duration::from_millis(250);
const PRUNE_EVERY: Duration = Duration::from_secs(60);

pub(crate) struct Worker {
    pub(crate) engine_context: EngineContext,
    pub(crate) registry: Registry,
    lease: Mutex<Option<Arc<Lease>>>,
    joining: tokio::sync::Mutex<()>,
    running: Mutex<BTreeMap<OperationId, Arc<ControlInbox>>>,
    /// Operations that this node owns in the database but does not run, because a save had no answer.
    unconfirmed: Mutex<BTreeSet<OperationId>>,
    timer: WakeTimer,
    /// Asks for a heartbeat before its time.
    beat: Notify,
    tasks: TaskTracker,
    loops: TaskTracker,
    heart: TaskTracker,
    /// No new work.
    stop: CancellationToken,
    /// No work any more.
    idle: CancellationToken,
}

/// What a claim says about the next one.
struct ClaimHint {
    next_due: Option<Timestamp>,
    /// Something is due, and nothing could be claimed.
    is_out_of_reach: bool,
}

/// When to look for due operations next.
struct WakeTimer {
    next: AtomicI64,
    ring: Notify,
}

impl WakeTimer {
    /// Makes sure that the worker claims at this moment at the latest.
    fn at(&self, due_at: Timestamp) {
        if self.next.fetch_min(due_at.0, Ordering::AcqRel) > due_at.0 {
            self.ring.notify_one();
        }
    }
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Worker {
    pub(crate) fn new(engine_context: EngineContext, registry: Registry) -> Worker {
        Worker {
            engine_context,
            registry,
            lease: Mutex::default(),
            joining: tokio::sync::Mutex::default(),
            running: Mutex::default(),
            unconfirmed: Mutex::default(),
            timer: WakeTimer { next: AtomicI64::new(i64::MAX), ring: Notify::new() },
            beat: Notify::new(),
            tasks: TaskTracker::new(),
            loops: TaskTracker::new(),
            heart: TaskTracker::new(),
            stop: CancellationToken::new(),
            idle: CancellationToken::new(),
        }
    }

    /// Joins the others and begins to work. `previous` is the node that this process was before it died.
    pub(crate) async fn start(self: &Arc<Self>, previous: Option<NodeId>) -> Result<NodeId, StoreError> {
        let node = self.join(previous).await?;
        let spawn = |tracker: &TaskTracker, name: &'static str, task| {
            tracker.spawn(Instrument::instrument(task, info_span!("node", task = name)));
        };
        spawn(&self.loops, "claim", Arc::clone(self).claim_loop().boxed());
        spawn(&self.heart, "heartbeat", Arc::clone(self).heartbeat_loop().boxed());
        spawn(&self.loops, "prune", Arc::clone(self).prune_loop().boxed());
        Ok(node)
    }

    pub(crate) fn lease(&self) -> Option<Arc<Lease>> {
        open(&self.lease).clone()
    }

    /// The node that may run one more operation at once, if there is room.
    pub(crate) fn host(&self) -> Option<Arc<Lease>> {
        let has_room = open(&self.running).len() < self.engine_context.settings.max_running;
        self.lease().filter(|lease| has_room && !self.engine_context.is_stopping() && !lease.is_lost())
    }

    pub(crate) fn running_count(&self) -> usize {
        open(&self.running).len()
    }

    pub(crate) fn wake(&self, due_at: Timestamp) {
        self.timer.at(due_at);
    }

    pub(crate) fn mark_unconfirmed(&self, id: OperationId) {
        open(&self.unconfirmed).insert(id);
    }

    /// Works on an operation in a task of its own.
    pub(crate) fn take_on(self: &Arc<Self>, claimed: Claimed, lease: Arc<Lease>) {
        let inbox = Arc::new(ControlInbox::default());
        open(&self.running).insert(claimed.id, Arc::clone(&inbox));
        open(&self.unconfirmed).remove(&claimed.id);
        let span = info_span!("operation", operation.id = %claimed.id, workflow = %claimed.workflow);
        let worker = Arc::clone(self);
        self.tasks.spawn(async move { worker.work(claimed, inbox, lease).await }.instrument(span));
    }

    async fn work(&self, claimed: Claimed, inbox: Arc<ControlInbox>, lease: Arc<Lease>) {
        let id = claimed.id;
        let left = AssertUnwindSafe(self.run(claimed, inbox, &lease)).catch_unwind().await;
        open(&self.running).remove(&id);
        match left {
            Ok(RunExit::Parked { due_at: Some(due_at) }) => self.timer.at(due_at),
            Ok(RunExit::Parked { due_at: None }) => {}
            Ok(RunExit::Finished(phase)) => info!(%phase, "operation finished"),
            Ok(RunExit::LetGo(Abandon::Fenced)) => warn!("operation released: another node owns it"),
            Ok(RunExit::LetGo(Abandon::StoreLost(why))) => {
                warn!(%why, "operation suspended: the database does not answer");
                self.mark_unconfirmed(id);
            }
            Err(_) => {
                error!("engine error in this operation; it will be claimed again");
                self.mark_unconfirmed(id);
            }
        }
        if open(&self.running).len() + 1 >= self.engine_context.settings.max_running {
            self.timer.ring.notify_one();
        }
    }

    async fn run(&self, claimed: Claimed, inbox: Arc<ControlInbox>, lease: &Lease) -> RunExit {
        let hold = Ownership { id: claimed.id, node: lease.node, epoch: claimed.epoch };
        let phase = claimed.phase;
        let now = self.engine_context.clock.now();
        if let Some(reason) = claimed.unreadable.clone() {
            return self.leave_to_others(hold, phase, reason).await;
        }
        let deadline_at = claimed.deadline_at;
        // An operation that was created here was not claimed yet.
        let not_before = (claimed.epoch > 1).then(|| now.plus(CLAIM_DISTANCE));
        let processed = claimed.control.as_ref().map_or(0, |control| control.number);
        let row_seq = claimed.seq.saturating_sub(u32::try_from(claimed.events.len()).unwrap_or(u32::MAX));
        let saved = claimed.memory.as_deref().map_or(Ok(Memory::default()), serde_json::from_str::<Memory>);
        let outcome = match saved {
            Ok(memory) => {
                let memory = memory.fold(&claimed.events);
                let Some(plan) = self.registry.version(&claimed.workflow, memory.version()) else {
                    return self
                        .leave_to_those_who_know(hold, phase, &claimed.workflow, memory.version())
                        .await;
                };
                let engine_context = &self.engine_context;
                plan.run(Job { engine_context, lease, inbox, claimed, memory, row_seq, not_before }).await
            }
            Err(error) => Err(format!("its memory cannot be read: {error}")),
        };
        match outcome {
            Ok(left) => left,
            // No caller has gone on with it for as long as it may take: a person must look. No caller can deal with a request
            // for it either, so that is dropped.
            Err(reason) if self.engine_context.clock.now() >= deadline_at => {
                let rest = aside::Aside { due_at: None, not_before, processed };
                self.set_aside(hold, Phase::Stuck, rest, reason).await
            }
            Err(reason) => self.leave_to_others(hold, phase, reason).await,
        }
    }

    async fn claim_loop(self: Arc<Self>) {
        while !self.stop.is_cancelled() {
            self.timer.next.store(i64::MAX, Ordering::Release);
            let Some(lease) = self.lease() else { return };
            let rest = match self.claim_once(&lease).await {
                Ok(found) => {
                    let poll = self.jittered(self.engine_context.settings.poll);
                    let next = found.next_due.map(|due_at| due_at.since(self.engine_context.clock.now()));
                    let least = if found.is_out_of_reach { EMPTY_CLAIM_REST } else { Duration::ZERO };
                    let until = next.map_or(poll, |next| next.max(least).min(poll));
                    // Work that waits for room is looked at when room is made.
                    if self.host().is_none() { poll } else { until }
                }
                Err(StoreError::Fenced) => {
                    self.rejoin(lease.node).await;
                    STORE_REST
                }
                Err(error) => {
                    warn!(%error, "claiming operations failed, retrying");
                    self.jittered(STORE_REST * 4)
                }
            };
            self.rest(rest).await;
        }
    }

    /// Sleeps until it is time to look again; a bell or an alarm shortens it.
    async fn rest(&self, rest: Duration) {
        let now = self.engine_context.clock.now();
        let timer = Timestamp(self.timer.next.load(Ordering::Acquire));
        let rest = rest.min(timer.since(now));
        tokio::select! {
            biased;
            () = self.stop.cancelled() => {}
            () = self.engine_context.store.wake_up().notified() => {}
            () = self.timer.ring.notified() => {}
            () = self.engine_context.clock.sleep(rest) => {}
        }
    }

    async fn claim_once(self: &Arc<Self>, lease: &Arc<Lease>) -> Result<ClaimHint, StoreError> {
        self.release_unconfirmed(lease.node).await;
        let room = self.engine_context.settings.max_running.saturating_sub(self.running_count());
        if room == 0
            || self.engine_context.is_stopping()
            || !lease.allows_effects(self.engine_context.moment())
        {
            return Ok(ClaimHint { next_due: None, is_out_of_reach: false });
        }
        let now = self.engine_context.clock.now();
        let Claims { operations, next_due } =
            self.engine_context.store.claim(lease.node, now, room.min(CLAIM_MAX)).await?;
        let is_out_of_reach = operations.is_empty() && next_due.is_some_and(|due_at| due_at <= now);
        for claimed in operations {
            self.take_on(claimed, Arc::clone(lease));
        }
        Ok(ClaimHint { next_due, is_out_of_reach })
    }

    /// What cannot be released now, because its row is locked or the database is away, is no reason to claim
    /// nothing else. It stays adrift until a release or a claim has succeeded.
    async fn release_unconfirmed(&self, node: NodeId) {
        let unconfirmed: Vec<OperationId> = open(&self.unconfirmed).iter().copied().collect();
        if unconfirmed.is_empty() {
            return;
        }
        match self.engine_context.store.release(node, &unconfirmed).await {
            Ok(()) => open(&self.unconfirmed).retain(|id| !unconfirmed.contains(id)),
            Err(error) => warn!(%error, count = unconfirmed.len(), "releasing operations failed, retrying"),
        }
    }

    async fn prune_loop(self: Arc<Self>) {
        while !self.stop.is_cancelled() {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                () = self.engine_context.clock.sleep(self.jittered(PRUNE_EVERY)) => {}
            }
            let before = self.engine_context.clock.now().minus(self.engine_context.settings.retention);
            // Each call removes a bounded number; a long past takes several.
            while !self.stop.is_cancelled() {
                match self.engine_context.store.prune(before).await {
                    Ok(0) => break,
                    Ok(count) => info!(count, "pruned old operations"),
                    Err(error) => {
                        warn!(%error, "pruning old operations failed");
                        break;
                    }
                }
            }
        }
    }

    /// Stops: no new work, running operations get this long to reach the end of their step. The heartbeat goes
    /// on until then, so that no other node takes over what is still being worked on.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.engine_context.stopping.store(true, Ordering::Relaxed);
        self.stop.cancel();
        self.loops.close();
        self.loops.wait().await;
        self.tasks.close();
        let done = tokio::select! {
            biased;
            () = self.tasks.wait() => true,
            () = self.engine_context.clock.sleep(grace) => false,
        };
        self.idle.cancel();
        self.heart.close();
        self.heart.wait().await;
        if !done {
            warn!(
                count = self.running_count(),
                "operations still in a step at shutdown; another node continues them"
            );
        }
        if let Some(lease) = self.lease() {
            lease.lose();
            if let Err(error) = self.engine_context.store.leave(lease.node).await {
                warn!(%error, "releasing the node lease failed; it expires by itself");
            }
        }
    }

    fn jittered(&self, base: Duration) -> Duration {
        jittered(base, self.engine_context.clock.chance())
    }
}

/// Up to half as long again, so that many nodes do not look at the same moment.
fn jittered(base: Duration, chance: u64) -> Duration {
    let micros = u64::try_from(base.as_micros()).unwrap_or(u64::MAX);
    base + Duration::from_micros(chance % (micros / 2 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_is_up_to_half_as_long_again() {
        let at = |chance| jittered(Duration::from_secs(2), chance).as_micros();
        assert_eq!(
            (at(0), at(1), at(1_000_000), at(1_000_001)),
            (2_000_000, 2_000_001, 3_000_000, 2_000_000)
        );
        assert_eq!(jittered(Duration::ZERO, u64::MAX), Duration::ZERO);
    }

    #[tokio::test]
    async fn an_alarm_rings_only_for_an_earlier_time() {
        let timer = WakeTimer { next: AtomicI64::new(i64::MAX), ring: Notify::new() };
        let has_rung = || timer.ring.notified().now_or_never().is_some();
        timer.at(Timestamp(20));
        assert!(has_rung());
        timer.at(Timestamp(30));
        timer.at(Timestamp(20));
        assert!(!has_rung(), "it looks at that moment anyway");
        timer.at(Timestamp(10));
        assert!(has_rung());
        assert_eq!(timer.next.load(Ordering::Acquire), 10);
    }
}
