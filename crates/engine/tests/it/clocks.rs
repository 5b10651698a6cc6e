//! Processes whose clocks disagree.

use std::sync::Arc;
use std::time::Duration;

use engine::store::{MemoryStore, Store};
use engine::{OperationId, Phase, PhaseVerb};
use serde_json::json;
use testing::workflow_test::Tally;
use testing::{Death, DyingStore, FakeClient, FakeSystem, SkewedClock, TestEngine, VirtualClock};

use crate::scripted::{Props, register};

const SKEW_MICROS: i64 = 3_000_000;
const CLAIMS_MAX: usize = 4;
const LONG: Duration = Duration::from_secs(60);

/// Two processes on one store. The clock of the first is ahead, unless it was set back.
struct Replicas {
    first: TestEngine,
    second: TestEngine,
    stores: [Arc<DyingStore>; 2],
    clock: Arc<SkewedClock>,
    world: Arc<FakeSystem>,
}

impl Replicas {
    async fn new() -> Replicas {
        let truth: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let time = Arc::new(VirtualClock::seeded(7));
        let clocks = [SKEW_MICROS, 0].map(|offset| Arc::new(SkewedClock::new(&time, offset, 0)));
        let stores = [(); 2].map(|()| DyingStore::new(Arc::clone(&truth), Death::Never));
        let stores = stores.map(|store| Arc::new(store.with_claims_max(CLAIMS_MAX)));
        let (world, tally) = (Arc::new(FakeSystem::default()), Arc::new(Tally::default()));
        let open = async |n: usize| {
            let far = FakeClient::new(&world, stores[n].death_flag());
            let builder = TestEngine::plan(stores[n].clone(), clocks[n].clone());
            TestEngine::open(register(builder, &Props::default(), &far, &tally), None).await
        };
        let (first, second) = (open(0).await, open(1).await);
        let clock = Arc::clone(&clocks[0]);
        Replicas { first, second, stores, clock, world }
    }

    fn claims(&self, id: OperationId) -> usize {
        self.stores.iter().flat_map(|store| store.claims()).filter(|(of, _)| *of == id).count()
    }
}

#[tokio::test(start_paused = true)]
async fn a_resume_through_a_replica_whose_clock_is_behind_is_carried_out() {
    let replicas = Replicas::new().await;
    let (first, second) = (&replicas.first, &replicas.second);
    let id = first.submit("test.script", None, json!({"a": ["make"], "b": ["signal"]})).await;
    first.until(id, |phase| phase == Phase::Waiting).await;
    first.engine.ask(id, PhaseVerb::Pause, "ops", "").await.unwrap();
    first.until(id, |phase| phase == Phase::Paused).await;
    second.engine.ask(id, PhaseVerb::Resume, "ops", "").await.unwrap();
    let resumed = second.until(id, |phase| phase == Phase::Waiting);
    tokio::time::timeout(LONG, resumed).await.expect("the resume was accepted");
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(replicas.claims(id) <= CLAIMS_MAX, "it was claimed {} times", replicas.claims(id));
    second.engine.signal("ready", json!(1)).await.unwrap();
    assert_eq!(second.finished(id).await.shown.summary.phase, Phase::Succeeded);
}

/// The same for one process whose clock was set back, as after a restart with a wrong battery clock.
#[tokio::test(start_paused = true)]
async fn a_cancel_after_the_clock_was_set_back_is_carried_out() {
    let replicas = Replicas::new().await;
    let id = replicas.first.submit("test.script", None, json!({"a": ["make"], "b": ["signal"]})).await;
    replicas.first.until(id, |phase| phase == Phase::Waiting).await;
    replicas.first.engine.ask(id, PhaseVerb::Pause, "ops", "").await.unwrap();
    replicas.first.until(id, |phase| phase == Phase::Paused).await;
    replicas.clock.jump(-20_000_000);
    replicas.first.engine.ask(id, PhaseVerb::Cancel, "ops", "").await.unwrap();
    let ended = tokio::time::timeout(LONG, replicas.first.finished(id)).await;
    assert_eq!(ended.expect("the cancel was accepted").shown.summary.phase, Phase::Cancelled);
    assert!(replicas.claims(id) <= CLAIMS_MAX, "it was claimed {} times", replicas.claims(id));
    assert!(replicas.world.standing().is_empty());
}

/// The database does not answer, and the clock is set back: the lease ends all the same.
#[tokio::test(start_paused = true)]
async fn a_lease_ends_although_the_clock_was_set_back() {
    let replicas = Replicas::new().await;
    assert_eq!(replicas.first.engine.is_ready().await, Ok(()));
    replicas.stores[0].hold_heartbeats();
    replicas.clock.jump(-3_600_000_000);
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(replicas.first.engine.is_ready().await.is_err(), "its last renewal was four seconds ago");
    assert_eq!(replicas.second.engine.is_ready().await, Ok(()));
}
