//! Upgrades of many runtimes: each once, within every limit, whatever dies.

use std::sync::Arc;
use std::time::Duration;

use ::runtimes::backend::BackendKind;
use ::runtimes::model::InstanceRecord;
use ::runtimes::model::orchestration::window::Windows;
use ::runtimes::model::orchestration::{
    Change, Durations, OrchestrationRecord, OrchestrationState, RetryRequest, RuntimeTarget, Strategy,
    TargetRecord, TargetSpec, TargetState, UpgradeKind,
};
use ::runtimes::workflows::orchestration::{TENANT, sweep};
use ::runtimes::workflows::upgrade;
use engine::due::Backoff;
use engine::store::{Expect, MemoryStore, Store};
use engine::{Engine, Resource, Timestamp, WallClock};
use serde_json::json;
use testing::TestEngine;
use testing::{Death, DyingStore};

use crate::manager_world::ManagerWorld;
use crate::runtime_test::{instance, read, runtime, write};
use crate::runtime_upgrade::{MANAGER, upgrades};
use crate::world::{Drivers, WorkflowFixture};

/// Far longer than any of them takes, also on a busy machine.
const LIMIT: Duration = Duration::from_mins(2);
const CHECK: Duration = Duration::from_millis(1);

/// Runtimes that can be upgraded, and an engine that does so.
struct Fleet {
    world: WorkflowFixture,
    drivers: Drivers,
    backend: BackendKind,
    store: Arc<MemoryStore>,
}

impl Fleet {
    /// With the Provisioner.
    async fn of(count: usize) -> Fleet {
        Fleet::on(BackendKind::Provisioner, count).await
    }

    async fn on(backend: BackendKind, count: usize) -> Fleet {
        let world = WorkflowFixture::start().await;
        let drivers = world.drivers_on(backend).await;
        let fleet = Fleet { world, drivers, backend, store: Arc::new(MemoryStore::new()) };
        let test_engine = fleet.open(Arc::clone(&fleet.store) as Arc<dyn Store>).await;
        for n in 0..count {
            fleet.add(&test_engine.engine, n).await;
        }
        test_engine.close().await;
        fleet
    }

    async fn add(&self, engine: &Engine, n: usize) {
        let id = id(n);
        let mut record = instance(engine, &id, json!({"name": "n", "region": "westeurope"}), json!({}));
        record.ready = true;
        record.backend = Some(self.backend);
        record.runtime_id = Some(match self.backend {
            BackendKind::Provisioner => runtime(&self.drivers, &id).await,
            BackendKind::InfrastructureManager => {
                let resources = self.drivers.runtime_resources.as_deref().unwrap();
                let made = ManagerWorld::new(&self.world, resources).ready_runtime(&record).await;
                record.runtime_uid = Some(made.uid);
                made.name
            }
        });
        write(engine, &InstanceRecord::resource(&id), &record).await;
    }

    async fn open(&self, store: Arc<dyn Store>) -> TestEngine {
        let builder = TestEngine::plan(store, Arc::new(WallClock));
        TestEngine::open(builder.workflow(upgrade::plan(&self.drivers)), None).await
    }

    async fn engine(&self) -> TestEngine {
        self.open(Arc::clone(&self.store) as Arc<dyn Store>).await
    }

    async fn fails(&self, instance_id: &str) {
        let fault =
            json!({"match": {"instance_id": instance_id}, "operation": "UpgradeShoot", "kind": "operation"});
        self.world.post("/provisioner/faults", &fault).await;
    }

    async fn upgraded(&self, count: usize) -> Vec<u64> {
        let mut all = Vec::new();
        for n in 0..count {
            all.push(upgrades(&self.world, &self.drivers, self.backend, &id(n)).await);
        }
        all
    }
}

fn id(n: usize) -> String {
    format!("up-{n}")
}

fn strategy(workers: u32) -> Strategy {
    Strategy { workers, in_window: false, begins_at: None, canary: None, max_failures: None }
}

fn orchestration(strategy: Strategy) -> OrchestrationRecord {
    let all = RuntimeTarget { target: "all".into(), ..RuntimeTarget::default() };
    OrchestrationRecord {
        id: "0b5a2a3e-0000-4000-8000-000000000001".into(),
        kind: UpgradeKind::Cluster,
        state: OrchestrationState::Pending,
        description: String::new(),
        created_by: "test".into(),
        targets: TargetSpec { include: vec![all], exclude: Vec::new() },
        change: Change { kubernetes_version: Some("1.22.9".into()), ..Change::default() },
        strategy,
        looked_until: None,
        is_resolved: false,
        running: Vec::new(),
        begun: 0,
        failures: 0,
        is_canary_over: false,
        retry: None,
        durations: Durations::default(),
        finished_at: None,
        due_at: Some(Timestamp(0)),
    }
}

fn name(record: &OrchestrationRecord) -> String {
    OrchestrationRecord::resource(&record.id)
}

async fn start(engine: &Engine, record: &OrchestrationRecord) {
    let update = Some(record.record_update().unwrap());
    assert!(engine.write_resource(&name(record), TENANT, Expect::Absent, update).await.unwrap());
}

async fn change(engine: &Engine, name: &str, change: impl Fn(&mut OrchestrationRecord)) {
    loop {
        let row = engine.resource(name).await.unwrap().unwrap();
        let mut record: OrchestrationRecord = serde_json::from_str(&row.record).unwrap();
        change(&mut record);
        record.due_at = Some(Timestamp(0));
        let update = Some(record.record_update().unwrap());
        if engine.write_resource(name, TENANT, Expect::Version(row.version), update).await.unwrap() {
            return;
        }
    }
}

/// Sweeps until the orchestration is in one of these states. `seen` looks at the record after each sweep.
async fn until(
    engine: &Engine,
    record: &OrchestrationRecord,
    states: &[OrchestrationState],
    mut seen: impl FnMut(&OrchestrationRecord),
) -> OrchestrationRecord {
    let mut backoff = Backoff::default();
    let limit = tokio::time::Instant::now() + LIMIT;
    while tokio::time::Instant::now() < limit {
        sweep(engine, &Windows::default(), CHECK, &mut backoff).await.unwrap();
        let now: OrchestrationRecord = read(engine, &name(record)).await;
        seen(&now);
        if states.contains(&now.state) && now.running.is_empty() {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("it is {:?}", read::<OrchestrationRecord>(engine, &name(record)).await);
}

async fn states(engine: &Engine, record: &OrchestrationRecord, count: usize) -> Vec<TargetState> {
    let mut all = Vec::new();
    for n in 0..count {
        all.push(read::<TargetRecord>(engine, &TargetRecord::resource(&record.id, &id(n))).await.state);
    }
    all
}

#[tokio::test]
async fn each_runtime_is_upgraded_once_and_never_too_many_at_a_time() {
    let fleet = Fleet::of(12).await;
    fleet.world.put("/provisioner/script", &json!({"upgrade_ms": 20})).await;
    let (one, other) = (fleet.engine().await, fleet.engine().await);
    let record = orchestration(strategy(3));
    start(&one.engine, &record).await;
    // Two nodes sweep at the same time.
    let over = async {
        let mut backoff = Backoff::default();
        loop {
            sweep(&other.engine, &Windows::default(), CHECK, &mut backoff).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let mut most = 0;
    let ended = tokio::select! {
        never = over => never,
        ended = until(&one.engine, &record, &[OrchestrationState::Succeeded], |now| {
            most = most.max(now.running.len());
        }) => ended,
    };
    assert!(most <= 3, "{most} at a time");
    assert_eq!((ended.begun, ended.durations.count), (12, 12));
    assert_eq!(fleet.upgraded(12).await, [1; 12]);
    assert_eq!(states(&one.engine, &record, 12).await, [TargetState::Succeeded; 12]);
    one.close().await;
    other.close().await;
}

#[tokio::test]
async fn runtimes_of_infrastructure_manager_are_upgraded_once() {
    let fleet = Fleet::on(MANAGER, 6).await;
    let test_engine = fleet.engine().await;
    let engine = &test_engine.engine;
    let mut record = orchestration(strategy(2));
    record.change.machine_image = Some("gardenlinux".into());
    record.change.machine_image_version = Some("1592.1.0".into());
    start(engine, &record).await;
    // Of two runtimes the answer is lost.
    let fault =
        json!({"system": "infrastructure_manager", "kind": "drop_after", "method": "PATCH", "times": 2});
    fleet.world.fault(&fault).await;
    let ended = until(engine, &record, &[OrchestrationState::Succeeded], |now| {
        assert!(now.running.len() <= 2);
    })
    .await;
    assert_eq!(ended.begun, 6);
    assert_eq!(fleet.upgraded(6).await, [1; 6]);
    assert_eq!(fleet.world.made("upgrade").await, 6, "the clusters were brought to the version");
    assert_eq!(states(engine, &record, 6).await, [TargetState::Succeeded; 6]);
    test_engine.close().await;
}

/// Kyma is upgraded where the back end can, and what is left out says why.
#[tokio::test]
async fn an_upgrade_of_kyma_skips_runtimes_of_infrastructure_manager() {
    let fleet = Fleet::of(2).await;
    let test_engine = fleet.engine().await;
    let engine = &test_engine.engine;
    let mut other = instance(engine, "managed", json!({"name": "n", "region": "westeurope"}), json!({}));
    (other.ready, other.backend, other.runtime_id) = (true, Some(MANAGER), Some("runtime-1".into()));
    write(engine, &InstanceRecord::resource("managed"), &other).await;
    let change = Change { kyma_version: Some("2.0.0".into()), ..Change::default() };
    let record = OrchestrationRecord { kind: UpgradeKind::Kyma, change, ..orchestration(strategy(3)) };
    start(engine, &record).await;
    let ended = until(engine, &record, &[OrchestrationState::Succeeded], |_| {}).await;
    assert_eq!(ended.begun, 2);
    assert_eq!(fleet.upgraded(2).await, [1; 2]);
    let skipped: TargetRecord = read(engine, &TargetRecord::resource(&record.id, "managed")).await;
    assert_eq!(skipped.state, TargetState::Skipped);
    assert!(skipped.description.contains("Infrastructure Manager has no upgrade of Kyma"), "{skipped:?}");
    test_engine.close().await;
}

#[tokio::test]
async fn after_the_canary_it_waits_for_an_operator() {
    let fleet = Fleet::of(5).await;
    let test_engine = fleet.engine().await;
    let engine = &test_engine.engine;
    let record = orchestration(Strategy { canary: Some(2), ..strategy(5) });
    start(engine, &record).await;
    let paused = until(engine, &record, &[OrchestrationState::Paused], |now| {
        assert!(now.begun <= 2, "{}", now.begun);
    })
    .await;
    assert_eq!(paused.begun, 2);
    assert_eq!(fleet.upgraded(5).await.iter().sum::<u64>(), 2);
    change(engine, &name(&record), |record| {
        record.state = OrchestrationState::InProgress;
        record.is_canary_over = true;
    })
    .await;
    until(engine, &record, &[OrchestrationState::Succeeded], |_| {}).await;
    assert_eq!(fleet.upgraded(5).await, [1; 5]);
    test_engine.close().await;
}

#[tokio::test]
async fn none_begins_after_the_last_failure_and_retry_goes_on() {
    let fleet = Fleet::of(6).await;
    fleet.fails(&id(0)).await;
    fleet.fails(&id(2)).await;
    let test_engine = fleet.engine().await;
    let engine = &test_engine.engine;
    let record = orchestration(Strategy { max_failures: Some(2), ..strategy(1) });
    start(engine, &record).await;
    let failed = until(engine, &record, &[OrchestrationState::Failed], |_| {}).await;
    assert_eq!((failed.begun, failed.failures), (3, 2), "{}", failed.description);
    assert_eq!(fleet.upgraded(6).await, [1, 1, 1, 0, 0, 0]);
    change(engine, &name(&record), |record| {
        record.state = OrchestrationState::Retrying;
        record.finished_at = None;
        record.retry = Some(RetryRequest::default());
    })
    .await;
    until(engine, &record, &[OrchestrationState::Succeeded], |_| {}).await;
    assert_eq!(fleet.upgraded(6).await, [2, 1, 2, 1, 1, 1], "what failed was tried once more");
    test_engine.close().await;
}

#[tokio::test]
async fn cancel_stops_what_has_not_begun_and_waits_for_what_runs() {
    let fleet = Fleet::of(6).await;
    fleet.world.put("/provisioner/script", &json!({"upgrade_ms": 200})).await;
    let test_engine = fleet.engine().await;
    let engine = &test_engine.engine;
    let record = orchestration(strategy(2));
    start(engine, &record).await;
    let mut backoff = Backoff::default();
    sweep(engine, &Windows::default(), CHECK, &mut backoff).await.unwrap();
    change(engine, &name(&record), |record| record.state = OrchestrationState::Canceling).await;
    until(engine, &record, &[OrchestrationState::Canceled], |now| assert_eq!(now.begun, 2)).await;
    let states = states(engine, &record, 6).await;
    let of = |wanted| states.iter().filter(|state| **state == wanted).count();
    assert_eq!((of(TargetState::Succeeded), of(TargetState::Canceled)), (2, 4));
    assert_eq!(fleet.upgraded(6).await.iter().sum::<u64>(), 2);
    test_engine.close().await;
}

#[tokio::test]
async fn what_goes_before_its_turn_is_skipped() {
    let fleet = Fleet::of(2).await;
    let test_engine = fleet.engine().await;
    let engine = &test_engine.engine;
    let later = engine.now().plus(Duration::from_millis(100));
    let record = orchestration(Strategy { begins_at: Some(later), ..strategy(1) });
    start(engine, &record).await;
    sweep(engine, &Windows::default(), CHECK, &mut Backoff::default()).await.unwrap();
    // It was chosen; then its instance was removed.
    let name = InstanceRecord::resource(&id(1));
    let row = engine.resource(&name).await.unwrap().unwrap();
    let mut gone: InstanceRecord = serde_json::from_str(&row.record).unwrap();
    gone.gone_at = Some(engine.now());
    let update = Some(gone.record_update().unwrap());
    assert!(engine.write_resource(&name, "test", Expect::Version(row.version), update).await.unwrap());
    until(engine, &record, &[OrchestrationState::Succeeded], |_| {}).await;
    assert_eq!(states(engine, &record, 2).await, [TargetState::Succeeded, TargetState::Skipped]);
    assert_eq!(fleet.upgraded(2).await, [1, 0]);
    test_engine.close().await;
}

/// The process dies at every save, of the orchestration, of its targets and of the upgrades, before and after it.
#[tokio::test]
async fn death_at_any_save_upgrades_each_once() {
    let mut deaths = 0;
    for number in 0.. {
        let mut is_over = false;
        for death in [Death::Before(number), Death::After(number)] {
            let fleet = Fleet::of(2).await;
            let dying = Arc::new(DyingStore::new(Arc::clone(&fleet.store) as Arc<dyn Store>, death));
            let record = orchestration(strategy(2));
            let first = fleet.open(Arc::clone(&dying) as Arc<dyn Store>).await;
            let setup = fleet.engine().await;
            start(&setup.engine, &record).await;
            setup.close().await;
            let died = tokio::select! {
                () = async {
                    while !dying.is_dead() {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                } => true,
                () = async {
                    let mut backoff = Backoff::default();
                    loop {
                        let _ = sweep(&first.engine, &Windows::default(), CHECK, &mut backoff).await;
                        let now: OrchestrationRecord =
                            serde_json::from_str(&fleet.store.resource(&name(&record)).await.unwrap().unwrap().record)
                                .unwrap();
                        if now.state.is_final() || dying.is_dead() {
                            break;
                        }
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                } => dying.is_dead(),
            };
            let node = first.node;
            first.engine.stop(Duration::ZERO).await;
            let builder = TestEngine::plan(Arc::clone(&fleet.store) as Arc<dyn Store>, Arc::new(WallClock));
            let second = TestEngine::open(builder.workflow(upgrade::plan(&fleet.drivers)), Some(node)).await;
            until(&second.engine, &record, &[OrchestrationState::Succeeded], |now| {
                assert!(now.running.len() <= 2);
            })
            .await;
            assert_eq!(fleet.upgraded(2).await, [1, 1], "{death:?}");
            assert_eq!(states(&second.engine, &record, 2).await, [TargetState::Succeeded; 2], "{death:?}");
            second.close().await;
            is_over |= !died;
            deaths += u64::from(died);
        }
        if is_over {
            break;
        }
    }
    assert!(deaths > 10, "{deaths}");
    testing::count("kills", deaths);
}
