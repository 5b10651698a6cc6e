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
use crate::house::{House, Lease, Mailbox};
use crate::ids::{NodeId, OperationId};
use crate::memory::Memory;
use crate::outcome::LetGo;
use crate::phase::Phase;
use crate::registry::{Job, Registry};
use crate::runner::Left;
use crate::store::{Claimed, Claims, Hold, StoreError};

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
    pub(crate) house: House,
    pub(crate) registry: Registry,
    lease: Mutex<Option<Arc<Lease>>>,
    joining: tokio::sync::Mutex<()>,
    running: Mutex<BTreeMap<OperationId, Arc<Mailbox>>>,
    /// Operations that are ours on paper but that nobody here works on, because a save had no answer.
    adrift: Mutex<BTreeSet<OperationId>>,
    alarm: Alarm,
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
struct Found {
    next_due: Option<Timestamp>,
    /// Something is due, and nothing could be claimed.
    is_out_of_reach: bool,
}

/// When to look for due operations next.
struct Alarm {
    next: AtomicI64,
    ring: Notify,
}

impl Alarm {
    /// Makes sure that somebody looks at this moment at the latest.
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
    pub(crate) fn new(house: House, registry: Registry) -> Worker {
        Worker {
            house,
            registry,
            lease: Mutex::default(),
            joining: tokio::sync::Mutex::default(),
            running: Mutex::default(),
            adrift: Mutex::default(),
            alarm: Alarm { next: AtomicI64::new(i64::MAX), ring: Notify::new() },
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
        let has_room = open(&self.running).len() < self.house.settings.max_running;
        self.lease().filter(|lease| has_room && !self.house.is_stopping() && !lease.is_lost())
    }

    pub(crate) fn running_count(&self) -> usize {
        open(&self.running).len()
    }

    pub(crate) fn wake(&self, due_at: Timestamp) {
        self.alarm.at(due_at);
    }

    pub(crate) fn set_adrift(&self, id: OperationId) {
        open(&self.adrift).insert(id);
    }

    /// Works on an operation in a task of its own.
    pub(crate) fn take_on(self: &Arc<Self>, claimed: Claimed, lease: Arc<Lease>) {
        let mailbox = Arc::new(Mailbox::default());
        open(&self.running).insert(claimed.id, Arc::clone(&mailbox));
        open(&self.adrift).remove(&claimed.id);
        let span = info_span!("operation", operation.id = %claimed.id, workflow = %claimed.workflow);
        let worker = Arc::clone(self);
        self.tasks.spawn(async move { worker.work(claimed, mailbox, lease).await }.instrument(span));
    }

    async fn work(&self, claimed: Claimed, mailbox: Arc<Mailbox>, lease: Arc<Lease>) {
        let id = claimed.id;
        let left = AssertUnwindSafe(self.run(claimed, mailbox, &lease)).catch_unwind().await;
        open(&self.running).remove(&id);
        match left {
            Ok(Left::Parked { due_at: Some(due_at) }) => self.alarm.at(due_at),
            Ok(Left::Parked { due_at: None }) => {}
            Ok(Left::Finished(phase)) => info!(%phase, "operation finished"),
            Ok(Left::LetGo(LetGo::Fenced)) => warn!("let go: another node has it"),
            Ok(Left::LetGo(LetGo::StoreLost(why))) => {
                warn!(%why, "put down until the database answers");
                self.set_adrift(id);
            }
            Err(_) => {
                error!("the engine failed while it worked on this operation; it will be picked up again");
                self.set_adrift(id);
            }
        }
        if open(&self.running).len() + 1 >= self.house.settings.max_running {
            self.alarm.ring.notify_one();
        }
    }

    async fn run(&self, claimed: Claimed, mailbox: Arc<Mailbox>, lease: &Lease) -> Left {
        let hold = Hold { id: claimed.id, node: lease.node, epoch: claimed.epoch };
        let phase = claimed.phase;
        let now = self.house.clock.now();
        if let Some(reason) = claimed.unreadable.clone() {
            return self.leave_to_others(hold, phase, reason).await;
        }
        let deadline_at = claimed.deadline_at;
        // An operation that was created here was not claimed yet.
        let not_before = (claimed.epoch > 1).then(|| now.plus(CLAIM_DISTANCE));
        let heard = claimed.wish.as_ref().map_or(0, |wish| wish.number);
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
                let house = &self.house;
                plan.run(Job { house, lease, mailbox, claimed, memory, row_seq, not_before }).await
            }
            Err(error) => Err(format!("its memory cannot be read: {error}")),
        };
        match outcome {
            Ok(left) => left,
            // Nobody has gone on with it for as long as it may take: a person must look. Nobody can deal with a request
            // for it either, so that is dropped.
            Err(reason) if self.house.clock.now() >= deadline_at => {
                let rest = aside::Aside { due_at: None, not_before, heard };
                self.put_aside(hold, Phase::Stuck, rest, reason).await
            }
            Err(reason) => self.leave_to_others(hold, phase, reason).await,
        }
    }

    async fn claim_loop(self: Arc<Self>) {
        while !self.stop.is_cancelled() {
            self.alarm.next.store(i64::MAX, Ordering::Release);
            let Some(lease) = self.lease() else { return };
            let rest = match self.claim_once(&lease).await {
                Ok(found) => {
                    let poll = self.jittered(self.house.settings.poll);
                    let next = found.next_due.map(|due_at| due_at.since(self.house.clock.now()));
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
                    warn!(%error, "cannot look for work");
                    self.jittered(STORE_REST * 4)
                }
            };
            self.rest(rest).await;
        }
    }

    /// Sleeps until it is time to look again; a bell or an alarm shortens it.
    async fn rest(&self, rest: Duration) {
        let now = self.house.clock.now();
        let alarm = Timestamp(self.alarm.next.load(Ordering::Acquire));
        let rest = rest.min(alarm.since(now));
        tokio::select! {
            biased;
            () = self.stop.cancelled() => {}
            () = self.house.store.bell().notified() => {}
            () = self.alarm.ring.notified() => {}
            () = self.house.clock.sleep(rest) => {}
        }
    }

    async fn claim_once(self: &Arc<Self>, lease: &Arc<Lease>) -> Result<Found, StoreError> {
        self.release_adrift(lease.node).await;
        let room = self.house.settings.max_running.saturating_sub(self.running_count());
        if room == 0 || self.house.is_stopping() || !lease.allows_effects(self.house.moment()) {
            return Ok(Found { next_due: None, is_out_of_reach: false });
        }
        let now = self.house.clock.now();
        let Claims { operations, next_due } =
            self.house.store.claim(lease.node, now, room.min(CLAIM_MAX)).await?;
        let is_out_of_reach = operations.is_empty() && next_due.is_some_and(|due_at| due_at <= now);
        for claimed in operations {
            self.take_on(claimed, Arc::clone(lease));
        }
        Ok(Found { next_due, is_out_of_reach })
    }

    /// What cannot be released now, because its row is locked or the database is away, is no reason to claim
    /// nothing else. It stays adrift until a release or a claim has succeeded.
    async fn release_adrift(&self, node: NodeId) {
        let adrift: Vec<OperationId> = open(&self.adrift).iter().copied().collect();
        if adrift.is_empty() {
            return;
        }
        match self.house.store.release(node, &adrift).await {
            Ok(()) => open(&self.adrift).retain(|id| !adrift.contains(id)),
            Err(error) => warn!(%error, count = adrift.len(), "cannot release operations, retrying"),
        }
    }

    async fn prune_loop(self: Arc<Self>) {
        while !self.stop.is_cancelled() {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                () = self.house.clock.sleep(self.jittered(PRUNE_EVERY)) => {}
            }
            let before = self.house.clock.now().minus(self.house.settings.retention);
            // Each call removes a bounded number; a long past takes several.
            while !self.stop.is_cancelled() {
                match self.house.store.prune(before).await {
                    Ok(0) => break,
                    Ok(count) => info!(count, "forgot old operations"),
                    Err(error) => {
                        warn!(%error, "cannot forget old operations");
                        break;
                    }
                }
            }
        }
    }

    /// Stops: no new work, running operations get this long to reach the end of their step. The heartbeat goes
    /// on until then, so that no other node takes over what is still being worked on.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.house.stopping.store(true, Ordering::Relaxed);
        self.stop.cancel();
        self.loops.close();
        self.loops.wait().await;
        self.tasks.close();
        let done = tokio::select! {
            biased;
            () = self.tasks.wait() => true,
            () = self.house.clock.sleep(grace) => false,
        };
        self.idle.cancel();
        self.heart.close();
        self.heart.wait().await;
        if !done {
            warn!(
                count = self.running_count(),
                "operations were still in a step; another node or the next start goes on"
            );
        }
        if let Some(lease) = self.lease() {
            lease.lose();
            if let Err(error) = self.house.store.leave(lease.node).await {
                warn!(%error, "could not say good-bye; the lease will run out");
            }
        }
    }

    fn jittered(&self, base: Duration) -> Duration {
        jittered(base, self.house.clock.chance())
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
        let alarm = Alarm { next: AtomicI64::new(i64::MAX), ring: Notify::new() };
        let has_rung = || alarm.ring.notified().now_or_never().is_some();
        alarm.at(Timestamp(20));
        assert!(has_rung());
        alarm.at(Timestamp(30));
        alarm.at(Timestamp(20));
        assert!(!has_rung(), "it looks at that moment anyway");
        alarm.at(Timestamp(10));
        assert!(has_rung());
        assert_eq!(alarm.next.load(Ordering::Acquire), 10);
    }
}
