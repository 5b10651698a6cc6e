//! Several callers over one store, in every order of their calls to it.
//!
//! Each caller has a store of its own that stops before every call. The schedule decides which caller makes the next
//! one, so a race is found always or never. A switch away from a caller that could go on is a preemption; a test says
//! how many there may be, which bounds the number of schedules.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use async_trait::async_trait;
use engine::store::{
    Claims, ControlRequest, EndedOperations, LabelQuery, MemoryStore, OperationDetail, OperationQuery,
    Receipt, ResourcePage, ResourceQuery, ResourceRow, Stats, Store, StoreError, Summary, Write,
};
use engine::{Clock, Event, NodeId, OperationId, Timestamp};
use tokio::sync::Notify;

/// What a caller answered, once all are done.
pub(crate) type ThreadResult<T> = Arc<Mutex<Option<T>>>;

pub(crate) fn answer<T>(of: &ThreadResult<T>) -> T {
    of.lock().unwrap().take().expect("every caller has ended")
}

/// One store, the callers on it, and the time that they share.
pub(crate) struct Interleaving {
    /// Without stops, for what comes before and after the callers.
    pub(crate) truth: Arc<dyn Store>,
    pub(crate) clock: Arc<SetClock>,
    callers: Vec<StoreThread>,
}

struct StoreThread {
    may_go: Arc<AtomicBool>,
    acts: Pin<Box<dyn Future<Output = ()>>>,
}

impl Interleaving {
    fn new() -> Interleaving {
        Interleaving { truth: Arc::new(MemoryStore::new()), clock: Arc::default(), callers: Vec::new() }
    }

    pub(crate) fn enter<T: 'static, F: Future<Output = T> + 'static>(
        &mut self,
        act: impl FnOnce(Arc<dyn Store>) -> F,
    ) -> ThreadResult<T> {
        let (may_go, answer) = (Arc::new(AtomicBool::new(false)), ThreadResult::default());
        let store = SteppedStore { inner: Arc::clone(&self.truth), may_go: Arc::clone(&may_go) };
        let (act, given) = (act(Arc::new(store)), Arc::clone(&answer));
        let acts = Box::pin(async move {
            let told = act.await;
            *given.lock().unwrap() = Some(told);
        });
        self.callers.push(StoreThread { may_go, acts });
        answer
    }

    /// At some moment so much time goes by.
    pub(crate) fn time_passes(&mut self, by: Duration) {
        let clock = Arc::clone(&self.clock);
        self.enter(|store| async move {
            store.ping().await.unwrap();
            clock.turn(by);
        });
    }

    /// Lets them act by the choices of the plan.
    fn play(&mut self, plan: &mut SchedulePlan) {
        let mut context = Context::from_waker(Waker::noop());
        // Up to the first call.
        self.callers.retain_mut(|caller| caller.acts.as_mut().poll(&mut context).is_pending());
        let mut is_going = false;
        while !self.callers.is_empty() {
            let next = plan.choose(self.callers.len(), is_going);
            // The one that acts is in front, so that the first choice is to let it go on.
            let mut caller = self.callers.remove(next);
            caller.may_go.store(true, Ordering::SeqCst);
            is_going = caller.acts.as_mut().poll(&mut context).is_pending();
            assert!(
                !caller.may_go.load(Ordering::SeqCst) || !is_going,
                "a caller waits for more than the store"
            );
            if is_going {
                self.callers.insert(0, caller);
            }
        }
    }
}

/// The choices of one run, and from where the next run differs.
struct SchedulePlan {
    preemptions_max: usize,
    preemptions: usize,
    given: Vec<usize>,
    /// What was chosen, out of how many.
    taken: Vec<(usize, usize)>,
}

impl SchedulePlan {
    fn choose(&mut self, callers: usize, is_going: bool) -> usize {
        let choices = if is_going && self.preemptions == self.preemptions_max { 1 } else { callers };
        let choice = self.given.get(self.taken.len()).copied().unwrap_or(0);
        self.preemptions += usize::from(is_going && choice > 0);
        self.taken.push((choice, choices));
        choice
    }

    fn next(mut self) -> Option<SchedulePlan> {
        while let Some((choice, choices)) = self.taken.pop() {
            if choice + 1 < choices {
                let given = self.taken.iter().map(|(choice, _)| *choice).chain([choice + 1]).collect();
                return Some(SchedulePlan { given, taken: Vec::new(), preemptions: 0, ..self });
            }
        }
        None
    }
}

/// Sets the stage, lets the callers act and looks at what came of it, for every schedule with so many preemptions.
/// Answers how many schedules there were.
pub(crate) async fn in_every_order<T>(
    preemptions_max: usize,
    set: impl AsyncFn(&mut Interleaving) -> T,
    check: impl AsyncFn(&Interleaving, T),
) -> usize {
    let mut plan = SchedulePlan { preemptions_max, preemptions: 0, given: Vec::new(), taken: Vec::new() };
    let mut schedules = 0;
    loop {
        let mut stage = Interleaving::new();
        let given = set(&mut stage).await;
        stage.play(&mut plan);
        check(&stage, given).await;
        schedules += 1;
        match plan.next() {
            Some(next) => plan = next,
            None => return schedules,
        }
    }
}

/// Stands still unless a test sets it.
#[derive(Default)]
pub(crate) struct SetClock {
    micros: AtomicI64,
    rolls: AtomicU64,
}

impl SetClock {
    pub(crate) fn turn(&self, by: Duration) {
        self.micros.fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_790_000_000_000_000 + self.micros.load(Ordering::SeqCst))
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn chance(&self) -> u64 {
        self.rolls.fetch_add(1, Ordering::SeqCst)
    }
}

struct SteppedStore {
    inner: Arc<dyn Store>,
    may_go: Arc<AtomicBool>,
}

impl SteppedStore {
    async fn turn(&self) -> &dyn Store {
        let is_ours = |_: &mut Context<'_>| {
            if self.may_go.swap(false, Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending }
        };
        poll_fn(is_ours).await;
        &*self.inner
    }
}

#[async_trait]
impl Store for SteppedStore {
    async fn commit(&self, write: Write) -> Result<Receipt, StoreError> {
        self.turn().await.commit(write).await
    }

    async fn join(&self, node: NodeId, previous: Option<NodeId>, lease: Duration) -> Result<(), StoreError> {
        self.turn().await.join(node, previous, lease).await
    }

    async fn heartbeat(
        &self,
        node: NodeId,
        lease: Duration,
    ) -> Result<Vec<(OperationId, ControlRequest)>, StoreError> {
        self.turn().await.heartbeat(node, lease).await
    }

    async fn leave(&self, node: NodeId) -> Result<(), StoreError> {
        self.turn().await.leave(node).await
    }

    async fn release(&self, node: NodeId, ids: &[OperationId]) -> Result<(), StoreError> {
        self.turn().await.release(node, ids).await
    }

    async fn claim(&self, node: NodeId, now: Timestamp, limit: usize) -> Result<Claims, StoreError> {
        self.turn().await.claim(node, now, limit).await
    }

    async fn show(&self, id: OperationId) -> Result<Option<OperationDetail>, StoreError> {
        self.turn().await.show(id).await
    }

    async fn list(&self, query: &OperationQuery) -> Result<Vec<Summary>, StoreError> {
        self.turn().await.list(query).await
    }

    async fn journal(&self, id: OperationId, after: u32, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.turn().await.journal(id, after, limit).await
    }

    async fn resource(&self, name: &str) -> Result<Option<ResourceRow>, StoreError> {
        self.turn().await.resource(name).await
    }

    async fn resources(&self, query: &ResourceQuery) -> Result<ResourcePage, StoreError> {
        self.turn().await.resources(query).await
    }

    async fn label_counts(&self, query: &LabelQuery) -> Result<BTreeMap<String, u64>, StoreError> {
        self.turn().await.label_counts(query).await
    }

    async fn history(
        &self,
        from: Timestamp,
        span: Duration,
        limit: usize,
    ) -> Result<Vec<EndedOperations>, StoreError> {
        self.turn().await.history(from, span, limit).await
    }

    async fn stats(&self, now: Timestamp) -> Result<Stats, StoreError> {
        self.turn().await.stats(now).await
    }

    async fn prune(&self, before: Timestamp) -> Result<usize, StoreError> {
        self.turn().await.prune(before).await
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.turn().await.ping().await
    }

    fn wake_up(&self) -> &Notify {
        self.inner.wake_up()
    }
}
