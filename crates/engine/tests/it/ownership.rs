//! Who works on an operation, and what becomes of it when they die.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::store::{MemoryStore, OperationQuery, Store};
use engine::{Body, Effect, Engine, OnFailure, Phase, Plan};
use serde_json::json;
use testing::workflow_test::Tally;
use testing::{CallFault, Death, DyingStore, FakeClient, FakeSystem, TestEngine, VirtualClock, key_ring};

use crate::scripted::{Props, Scripted, ScriptedEngine, register};

/// Two processes on one store.
struct Pair {
    truth: Arc<MemoryStore>,
    world: Arc<FakeSystem>,
    tally: Arc<Tally>,
    clock: Arc<VirtualClock>,
}

impl Pair {
    fn new() -> Pair {
        Pair {
            truth: Arc::new(MemoryStore::new()),
            world: Arc::default(),
            tally: Arc::default(),
            clock: Arc::new(VirtualClock::seeded(7)),
        }
    }

    async fn process(&self, effect: Effect) -> (TestEngine, Arc<DyingStore>) {
        let store = Arc::new(DyingStore::new(self.truth.clone(), Death::Never));
        let far = FakeClient::new(&self.world, store.death_flag());
        let builder = TestEngine::plan(store.clone(), self.clock.clone());
        let props = Props { effect, ..Props::default() };
        (TestEngine::open(register(builder, &props, &far, &self.tally), None).await, store)
    }

    /// With two steps, each with an effect of its own.
    async fn mixed_process(&self, effects: [Effect; 2]) -> (TestEngine, Arc<DyingStore>) {
        let store = Arc::new(DyingStore::new(self.truth.clone(), Death::Never));
        let far = FakeClient::new(&self.world, store.death_flag());
        let [a, b] = [("a", effects[0]), ("b", effects[1])].map(|(name, effect)| Scripted {
            name,
            effect,
            far: far.clone(),
            tally: Arc::clone(&self.tally),
        });
        let plan = Plan::new(OnFailure::Unwind).step(10, a).step(20, b);
        let builder = TestEngine::plan(store.clone(), self.clock.clone()).workflow(plan);
        (TestEngine::open(builder, None).await, store)
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_comes_back_too_late_is_refused_and_lets_go() {
    let pair = Pair::new();
    let (zombie, frozen) = pair.process(Effect::Keyed).await;
    let id = zombie.submit("test.script", None, json!({"a": ["make"], "b": ["make"], "c": ["make"]})).await;
    // It is frozen in the middle; the others wait for its lease and take over.
    frozen.freeze();
    let (second, _) = pair.process(Effect::Keyed).await;
    pair.truth.expire(zombie.node);
    let ended = second.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded);
    let before = second.journal(id).await;
    frozen.thaw();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(second.journal(id).await, before, "the late process wrote something");
    assert_eq!(pair.world.standing().len(), 3);
    assert!(pair.world.ledger().values().all(|line| line.made == 1), "{:?}", pair.world.ledger());
    assert!(before.iter().any(|event| matches!(event.body, Body::Adopted { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_must_not_be_repeated_waits_for_a_person_after_a_crash() {
    let pair = Pair::new();
    let (first, store) = pair.process(Effect::Once).await;
    let id = first.submit("test.script", None, json!({"a": ["make"], "b": ["hang"]})).await;
    TestEngine::eventually(async || pair.tally.seen().iter().any(|seen| seen.ends_with(":b"))).await;
    store.kill();
    let (second, _) = pair.process(Effect::Once).await;
    pair.truth.expire(first.node);
    let ended = second.until(id, |phase| phase == Phase::Stuck).await;
    let stuck = ended.memory.stuck.unwrap();
    assert_eq!(stuck.step, "b");
    assert!(stuck.cause.as_str().starts_with("it is unknown whether b happened"), "{}", stuck.cause);
    assert_eq!(pair.tally.seen().iter().filter(|seen| seen.ends_with(":b")).count(), 1, "b was not repeated");
}

#[tokio::test(start_paused = true)]
async fn a_graceful_stop_hands_everything_over_without_an_adoption() {
    let pair = Pair::new();
    let (first, _) = pair.process(Effect::Keyed).await;
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(first.submit("test.script", None, json!({"a": ["make"], "b": ["wait", "make"]})).await);
    }
    first.close().await;
    let owned = pair.truth.list(&OperationQuery { limit: 100, ..OperationQuery::default() }).await.unwrap();
    assert!(owned.iter().all(|summary| summary.owner.is_none()), "nothing is owned by a stopped node");
    let (second, _) = pair.process(Effect::Keyed).await;
    for id in ids {
        assert_eq!(second.finished(id).await.shown.summary.phase, Phase::Succeeded);
        assert!(!second.kinds(id).await.contains("adopted"), "a clean hand-over needs no adoption");
    }
}

#[tokio::test(start_paused = true)]
async fn one_tenant_with_a_long_queue_does_not_hold_up_another() {
    let truth = Arc::new(MemoryStore::new());
    let (world, tally) = (Arc::new(FakeSystem::default()), Arc::new(Tally::default()));
    let clock = Arc::new(VirtualClock::seeded(3));
    let settings = engine::Settings { max_running: 4, ..engine::Settings::default() };
    let builder = Engine::builder(truth.clone(), clock, key_ring()).settings(settings);
    let far = FakeClient::immortal(&world);
    let engine = register(builder, &Props::default(), &far, &tally).build();
    let submit = |tenant: &'static str| engine::Command {
        name: None,
        workflow: "test.script".into(),
        tenant: tenant.into(),
        resource: None,
        params: json!({"a": ["make"], "b": ["make"]}),
        by: "t".into(),
        idempotency_key: None,
        queue: true,
    };
    for _ in 0..300 {
        engine.submit_json(submit("greedy")).await.unwrap();
    }
    let modest = engine.submit_json(submit("modest")).await.unwrap().id;
    engine.start(None).await.unwrap();
    let test_engine = TestEngine { engine: engine.clone(), node: engine::NodeId(uuid_nil()) };
    test_engine.finished(modest).await;
    let begun = tally
        .seen()
        .iter()
        .filter(|seen| seen.ends_with(":a"))
        .position(|seen| seen.starts_with(&modest.to_string()));
    assert!(begun.unwrap() < 4, "the modest tenant waited for {begun:?} of the greedy one");
    engine.stop(Duration::from_secs(5)).await;
}

fn uuid_nil() -> uuid::Uuid {
    uuid::Uuid::nil()
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_than_allowed_are_under_way_to_one_driver() {
    let truth = Arc::new(MemoryStore::new());
    let (world, tally) = (Arc::new(FakeSystem::default()), Arc::new(Tally::default()));
    let clock = Arc::new(VirtualClock::seeded(3));
    let limits = BTreeMap::from([("script".to_owned(), 3)]);
    let builder = Engine::builder(truth.clone(), clock, key_ring()).limits(limits, 64);
    let far = FakeClient::immortal(&world);
    let engine = register(builder, &Props::default(), &far, &tally).build();
    let node = engine.start(None).await.unwrap();
    let test_engine = TestEngine { engine, node };
    for _ in 0..10 {
        test_engine.submit("test.script", None, json!({"a": ["hang"]})).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(tally.count(), 3, "three hang, seven wait for a place");
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_cannot_be_read_harms_no_one_else() {
    let stage = ScriptedEngine::new().await;
    let good = stage.test_engine.submit("test.script", None, json!({"a": ["wait", "make"]})).await;
    let bad = stage.test_engine.submit("test.script", None, json!({"a": ["signal"]})).await;
    stage.test_engine.until(bad, |phase| phase == Phase::Waiting).await;
    // Another release wrote a state that this one cannot read.
    let hold = {
        let claims = loop {
            stage.test_engine.engine.signal("ready", json!(null)).await.unwrap();
            let node = engine::NodeId(uuid_nil());
            stage.store.join(node, None, Duration::from_secs(5)).await.unwrap();
            let claims = stage.store.claim(node, stage.test_engine.engine.now(), 10).await.unwrap();
            if claims.operations.iter().any(|claimed| claimed.id == bad) {
                break claims;
            }
        };
        let claimed = claims.operations.into_iter().find(|claimed| claimed.id == bad).unwrap();
        engine::store::Ownership { id: bad, node: engine::NodeId(uuid_nil()), epoch: claimed.epoch }
    };
    let park = engine::store::Park {
        hold,
        event: None,
        phase: Phase::Waiting,
        at: stage.test_engine.engine.now(),
        due_at: Some(stage.test_engine.engine.now()),
        key: None,
        step: None,
        reason: None,
        memory: Some((r#"{"state":{"notes":"not a number"}}"#.into(), 2)),
        processed: 0,
        not_before: None,
        record_update: None,
    };
    stage.store.commit(engine::store::Write::Park(Box::new(park))).await.unwrap();
    assert_eq!(stage.test_engine.finished(good).await.shown.summary.phase, Phase::Succeeded);
    let (count, found) = stage.test_engine.engine.check_unfinished(&*stage.store).await.unwrap();
    assert_eq!((count, found.len()), (1, 1));
    assert_eq!(found[0].operation, bad);
    // A node of another release may be able to read it, until its time is over.
    tokio::time::sleep(Duration::from_secs(1800)).await;
    assert_eq!(stage.test_engine.inspect(bad).await.shown.summary.phase, Phase::Waiting);
    tokio::time::sleep(Duration::from_secs(1900)).await;
    let ended = stage.test_engine.inspect(bad).await.shown.summary;
    let reason = ended.reason.unwrap();
    assert!(ended.phase == Phase::Stuck && reason.starts_with("its state cannot be read"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn a_workflow_that_left_the_release_waits_for_a_node_that_has_it() {
    let pair = Pair::new();
    let (first, _) = pair.process(Effect::Keyed).await;
    let id = first.submit("test.script", None, json!({"a": ["wait", "make"]})).await;
    first.until(id, |phase| phase == Phase::Waiting).await;
    first.close().await;
    let empty = TestEngine::open(TestEngine::plan(pair.truth.clone(), pair.clock.clone()), None).await;
    let set_aside = |inspection: &engine::Inspection| {
        inspection.shown.summary.reason.as_deref().is_some_and(|reason| reason.contains("has no workflow"))
    };
    TestEngine::eventually(async || set_aside(&empty.inspect(id).await)).await;
    let (_, found) = empty.engine.check_unfinished(&*pair.truth).await.unwrap();
    assert_eq!(found[0].reason, "this release has no workflow test.script");
    empty.close().await;
    let (second, _) = pair.process(Effect::Keyed).await;
    assert_eq!(second.finished(id).await.shown.summary.phase, Phase::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_does_not_wait_for_the_answer_strands_nothing() {
    let pair = Pair::new();
    let (first, store) = pair.process(Effect::Keyed).await;
    let command = |key: &str| engine::Command {
        name: None,
        workflow: "test.script".into(),
        tenant: "t".into(),
        resource: None,
        params: json!({"a": ["make"]}),
        by: "t".into(),
        idempotency_key: Some(key.into()),
        queue: false,
    };
    store.set_mute(true);
    let hasty = tokio::time::timeout(Duration::from_millis(5), first.engine.submit_json(command("k"))).await;
    assert!(hasty.is_err(), "the caller gave up");
    store.set_mute(false);
    let again = first.engine.submit_json(command("k")).await.unwrap();
    assert!(again.repeated, "it had been saved all the same");
    let id = again.id;
    assert_eq!(first.finished(id).await.shown.summary.phase, Phase::Succeeded);
}

/// The step takes longer than the lease, and less than the operation is given.
#[tokio::test(start_paused = true)]
async fn a_graceful_stop_keeps_the_lease_until_the_last_step_has_ended() {
    let stage = ScriptedEngine::new().await;
    stage.world.plan_fault(CallFault::Slow(Duration::from_secs(8)));
    let id = stage.test_engine.submit("test.script", None, json!({"a": ["make"]})).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let engine = stage.test_engine.engine.clone();
    let looking = async {
        for _ in 0..6 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(engine.is_ready().await, Ok(()), "others would take over a step that is under way");
        }
    };
    tokio::join!(engine.stop(Duration::from_secs(10)), looking);
    assert!(engine.is_ready().await.is_err(), "it has left");
    assert_eq!(stage.test_engine.kinds(id).await, "created stepped");
    assert_eq!(stage.world.standing().len(), 1);
}

/// A node that others declared dead is a new node from then on.
#[tokio::test(start_paused = true)]
async fn a_node_that_was_declared_dead_joins_again_and_works_on() {
    let pair = Pair::new();
    let (first, _) = pair.process(Effect::Keyed).await;
    pair.truth.expire(first.node);
    tokio::time::sleep(Duration::from_secs(3)).await;
    let again = first.engine.node().unwrap();
    assert_ne!(again, first.node);
    assert_eq!(first.engine.is_ready().await, Ok(()));
    let id = first.submit("test.script", None, json!({"a": ["make"]})).await;
    assert_eq!(first.finished(id).await.shown.summary.phase, Phase::Succeeded);
    assert_eq!(first.engine.node(), Some(again), "once");
}

#[tokio::test(start_paused = true)]
async fn a_database_that_is_gone_is_not_saving_and_not_ready() {
    let pair = Pair::new();
    let (first, store) = pair.process(Effect::Keyed).await;
    assert!(first.engine.is_saving().await && first.engine.is_ready().await.is_ok());
    store.kill();
    assert!(!first.engine.is_saving().await && first.engine.is_ready().await.is_err());
}

#[tokio::test(start_paused = true)]
async fn what_is_due_and_held_by_others_is_looked_for_ten_times_a_second() {
    let pair = Pair::new();
    let (first, store) = pair.process(Effect::Keyed).await;
    store.hide_due_work();
    tokio::time::sleep(Duration::from_secs(10)).await;
    // The poll of the test is half of the rest.
    let looks = store.empty_claims();
    assert!((90..=210).contains(&looks), "{looks} looks in ten seconds");
    first.close().await;
}

/// A retry after two milliseconds does not make two claims within a tenth of a second.
#[tokio::test(start_paused = true)]
async fn two_claims_of_one_operation_are_a_tenth_of_a_second_apart() {
    let pair = Pair::new();
    let (first, store) = pair.process(Effect::Keyed).await;
    let id =
        first.submit("test.script", None, json!({"a": ["retry", "retry", "retry", "retry", "make"]})).await;
    let ended = first.finished(id).await;
    let claims: Vec<_> = store.claims().into_iter().filter(|(of, _)| *of == id).map(|(_, at)| at).collect();
    assert_eq!(claims.len(), 4, "the first run needs none");
    let distances: Vec<_> = claims.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(distances.iter().all(|apart| *apart >= Duration::from_millis(100)), "{distances:?}");
    let took = ended.shown.summary.finished_at.unwrap().since(ended.shown.summary.created_at);
    assert!(took < Duration::from_millis(400), "the first claim may come at once: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn finished_operations_are_forgotten_after_their_time() {
    let stage =
        ScriptedEngine::with_settings(|settings| settings.retention = Duration::from_secs(3600)).await;
    let id = stage.test_engine.submit("test.script", None, json!({"a": ["done"]})).await;
    stage.test_engine.finished(id).await;
    tokio::time::sleep(Duration::from_secs(3500)).await;
    assert!(stage.store.show(id).await.unwrap().is_some());
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert!(stage.store.show(id).await.unwrap().is_none(), "it has been finished for more than an hour");
}

/// Only the step that was under way counts, not the ones beside it.
#[tokio::test(start_paused = true)]
async fn a_crash_in_a_step_that_may_run_twice_needs_no_person_although_another_may_not() {
    for (effects, hangs, phase) in [
        ([Effect::Keyed, Effect::Once], "a", Phase::Succeeded),
        ([Effect::Keyed, Effect::Once], "b", Phase::Stuck),
        ([Effect::Once, Effect::Keyed], "b", Phase::Succeeded),
    ] {
        let pair = Pair::new();
        let (first, store) = pair.mixed_process(effects).await;
        let id = first.submit("test.script", None, json!({hangs: ["hang", "make"]})).await;
        let end = format!(":{hangs}");
        TestEngine::eventually(async || pair.tally.seen().iter().any(|seen| seen.ends_with(&end))).await;
        store.kill();
        let (second, _) = pair.mixed_process(effects).await;
        pair.truth.expire(first.node);
        let ended = second.until(id, |phase| phase.is_final() || phase == Phase::Stuck).await;
        assert_eq!(ended.shown.summary.phase, phase, "{effects:?} {hangs}");
    }
}
