//! One watch wakes all operations that wait for a runtime: which replica has it, what an event does, and what it costs.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ::infrastructure_manager::{Readiness, WatchEvent, classify};
use ::runtimes::backend::watch::{keep_watching, next_look};
use ::runtimes::model::{InstanceRecord, ManagerSettings};
use async_trait::async_trait;
use engine::prelude::*;
use engine::store::{Expect, MemoryStore, Store};
use engine::{Command, Engine, OperationId, Phase, RecordWrites};
use serde_json::{Value, json};
use testing::{TestEngine, VirtualClock};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::runtime_test::instance;
use crate::watched_runtimes::{CountedRuntimes, WatchedRuntimes, instance_of};

const NAME: &str = "runtime-1";
/// Far less than the pause between two looks, which is five minutes.
const SOON: Duration = Duration::from_secs(5);

/// Waits for a runtime as the steps of the product do, since an hour.
struct Waits;

impl Workflow for Waits {
    const KIND: &'static str = "test.waits";
    const ABOUT: &'static str = "Waits for a runtime.";
    type Params = Value;
    type State = Value;
    type Input = ();
}

struct Look(Arc<CountedRuntimes>);

#[async_trait]
impl Step<Waits> for Look {
    named!("look", "Waiting for the runtime");

    async fn run(&self, op: &mut Operation<Waits>) -> Outcome {
        let name = op.params["runtime_id"].as_str().unwrap().to_owned();
        let is_over = match self.0.get(&name) {
            None => op.params["removes"] == true,
            Some(observed) => classify(&observed) == Readiness::Ready,
        };
        if is_over {
            return done();
        }
        let look = next_look(&name, Duration::from_hours(1), ManagerSettings::default().poll);
        wait_for(look.key.unwrap(), look.after, "it is not ready")
    }
}

/// One process: its engine, and its part in the watch.
struct WatchingReplica {
    test_engine: TestEngine,
    client: Arc<CountedRuntimes>,
    closing: CancellationToken,
    watch: Option<JoinHandle<()>>,
}

impl WatchingReplica {
    async fn start(
        store: &Arc<MemoryStore>,
        clock: &Arc<VirtualClock>,
        runtimes: &Arc<WatchedRuntimes>,
    ) -> WatchingReplica {
        let client = runtimes.client();
        let store = Arc::clone(store) as Arc<dyn Store>;
        let plan = Plan::new(OnFailure::Leave).step(1, Look(Arc::clone(&client)));
        let builder = TestEngine::plan(store, Arc::clone(clock) as Arc<_>).workflow(plan);
        let test_engine = TestEngine::open(builder, None).await;
        WatchingReplica { test_engine, client, closing: CancellationToken::new(), watch: None }
    }

    fn watch(&mut self) {
        let engine = self.test_engine.engine.clone();
        let watching = keep_watching(engine, Arc::clone(&self.client) as Arc<_>, self.closing.clone());
        self.watch = Some(tokio::spawn(watching));
    }

    fn open(&self) -> usize {
        self.client.open.load(Ordering::SeqCst)
    }

    async fn until_open(&self) {
        while self.open() == 0 {
            sleep(Duration::from_millis(10)).await;
        }
    }

    fn engine(&self) -> &Engine {
        &self.test_engine.engine
    }

    /// Accepts an operation that waits for a runtime, with the record of its instance, as the broker does.
    async fn waits(&self, name: &str, params: Value) -> OperationId {
        let id = instance_of(name);
        let mut record = instance(self.engine(), &id, json!({}), json!({}));
        record.runtime_id = Some(name.to_owned());
        let command = Command {
            name: None,
            workflow: Waits::KIND.to_owned(),
            tenant: "test".into(),
            resource: Some(InstanceRecord::resource(&id)),
            params,
            by: "test".into(),
            idempotency_key: None,
            queue: false,
        };
        let subject = Some((Expect::Absent, Some(record.record_update().unwrap())));
        let along = RecordWrites { subject, ..RecordWrites::default() };
        self.engine().accept(command, along).await.unwrap().id
    }

    async fn is_waiting(&self, id: OperationId) {
        self.test_engine.until(id, |phase| phase == Phase::Waiting).await;
    }

    /// How long it takes until the operation has succeeded.
    async fn succeeds(&self, id: OperationId) -> Duration {
        let began = Instant::now();
        let ended = self.test_engine.finished(id).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
        began.elapsed()
    }
}

async fn replica(runtimes: &Arc<WatchedRuntimes>) -> WatchingReplica {
    let (store, clock) = (Arc::new(MemoryStore::new()), Arc::new(VirtualClock::seeded(5)));
    WatchingReplica::start(&store, &clock, runtimes).await
}

#[tokio::test(start_paused = true)]
async fn one_replica_watches_and_another_takes_over_when_it_dies() {
    let (store, clock) = (Arc::new(MemoryStore::new()), Arc::new(VirtualClock::seeded(5)));
    let runtimes = WatchedRuntimes::new([NAME.to_owned()]);
    let mut one = WatchingReplica::start(&store, &clock, &runtimes).await;
    let mut other = WatchingReplica::start(&store, &clock, &runtimes).await;
    one.watch();
    one.until_open().await;
    other.watch();
    for _ in 0..120 {
        sleep(Duration::from_secs(1)).await;
        assert_eq!((one.open(), other.open()), (1, 0));
    }
    // It dies and gives nothing back: the other one waits for the lease to end.
    one.watch.take().unwrap().abort();
    sleep(Duration::from_secs(19)).await;
    assert_eq!((one.open(), other.open()), (0, 0));
    sleep(Duration::from_secs(25)).await;
    assert_eq!((one.open(), other.open()), (0, 1));
    // It stops, and the next one has the lease as soon as it looks.
    let mut third = WatchingReplica::start(&store, &clock, &runtimes).await;
    third.watch();
    other.closing.cancel();
    other.watch.take().unwrap().await.unwrap();
    sleep(Duration::from_secs(11)).await;
    assert_eq!((other.open(), third.open()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn an_event_ends_the_pause_of_the_operation_that_waits() {
    for removes in [false, true] {
        let runtimes = WatchedRuntimes::new([NAME.to_owned()]);
        let mut replica = replica(&runtimes).await;
        replica.watch();
        replica.until_open().await;
        let id = replica.waits(NAME, json!({"runtime_id": NAME, "removes": removes})).await;
        replica.is_waiting(id).await;
        let event = if removes {
            let last = runtimes.observed(NAME);
            runtimes.remove(NAME);
            WatchEvent::Deleted(Box::new(last))
        } else {
            runtimes.make_ready(NAME);
            WatchEvent::Changed(Box::new(runtimes.observed(NAME)))
        };
        runtimes.send(event);
        let took = replica.succeeds(id).await;
        assert!(took < SOON, "{took:?}");
        assert_eq!(
            replica.client.gets.load(Ordering::SeqCst),
            2,
            "one look before, and one that the event made"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_lost_before_a_410_is_found_by_the_list_after_it() {
    let runtimes = WatchedRuntimes::new([NAME.to_owned()]);
    let mut replica = replica(&runtimes).await;
    replica.watch();
    replica.until_open().await;
    let id = replica.waits(NAME, json!({"runtime_id": NAME})).await;
    replica.is_waiting(id).await;
    runtimes.make_ready(NAME);
    runtimes.send(WatchEvent::Expired);
    let took = replica.succeeds(id).await;
    assert!(took < SOON, "{took:?}");
    assert_eq!(replica.client.lists.load(Ordering::SeqCst), 2);
}

/// A list after a 410 says of every runtime what it is. Only what differs from what was seen before is worth a look.
#[tokio::test(start_paused = true)]
async fn a_list_after_a_410_wakes_only_what_waits_for_a_runtime_that_changed() {
    let names = ["changed", "removed", "same-1", "same-2"];
    let runtimes = WatchedRuntimes::new(names.map(str::to_owned));
    let mut replica = replica(&runtimes).await;
    replica.watch();
    replica.until_open().await;
    let mut ids = Vec::new();
    for name in names {
        let id = replica.waits(name, json!({"runtime_id": name, "removes": name == "removed"})).await;
        replica.is_waiting(id).await;
        ids.push(id);
    }
    let gets = || replica.client.gets.load(Ordering::SeqCst);
    assert_eq!(gets(), names.len(), "each has looked once");
    runtimes.make_ready("changed");
    runtimes.remove("removed");
    runtimes.send(WatchEvent::Expired);
    for id in &ids[..2] {
        let took = replica.succeeds(*id).await;
        assert!(took < SOON, "{took:?}");
    }
    sleep(SOON).await;
    assert_eq!(replica.client.lists.load(Ordering::SeqCst), 2);
    assert_eq!(gets(), names.len() + 2, "the others were not woken");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_says_nothing_stops_no_operation() {
    let runtimes = WatchedRuntimes::new([NAME.to_owned()]);
    let mut replica = replica(&runtimes).await;
    replica.watch();
    replica.until_open().await;
    let id = replica.waits(NAME, json!({"runtime_id": NAME})).await;
    replica.is_waiting(id).await;
    runtimes.make_ready(NAME);
    let took = replica.succeeds(id).await;
    assert!(took <= Duration::from_mins(5) + SOON, "{took:?}");
    assert_eq!(replica.open(), 1, "the connection is still open");
}

/// What waiting costs where nothing happens: a look of each runtime every five minutes, and one watch for all. With
/// 10,000 these are 2,000 reads per minute, and 6 kB each with its rows in the store in memory.
#[tokio::test(start_paused = true)]
async fn waiting_runtimes_cost_one_watch_and_a_slow_poll() {
    const COUNT: usize = 2_000;
    let names: Vec<String> = (0..COUNT).map(|n| format!("runtime-{n}")).collect();
    let runtimes = WatchedRuntimes::new(names.clone());
    let mut replica = replica(&runtimes).await;
    replica.watch();
    replica.until_open().await;
    let before_kb = resident_kb();
    for name in &names {
        replica.waits(name, json!({"runtime_id": name})).await;
    }
    let gets = || replica.client.gets.load(Ordering::SeqCst);
    while gets() < COUNT {
        sleep(Duration::from_millis(100)).await;
    }
    let (after_kb, first) = (resident_kb(), gets());
    let minutes = 5;
    sleep(Duration::from_mins(minutes)).await;
    let per_minute = (gets() - first) / usize::try_from(minutes).unwrap();
    let watches = replica.client.watches.load(Ordering::SeqCst);
    println!(
        "{COUNT} waiting runtimes: {per_minute} reads per minute, {watches} watch, {} bytes of memory each with their rows",
        (after_kb.saturating_sub(before_kb)) * 1024 / COUNT
    );
    assert!((1..=COUNT / 5 + COUNT / 50).contains(&per_minute), "{per_minute} reads per minute");
    assert_eq!(watches, 1);
    assert_eq!(replica.client.lists.load(Ordering::SeqCst), COUNT / 500);
}

fn resident_kb() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}
