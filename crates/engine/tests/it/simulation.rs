//! Whole lives of several processes on virtual time, from one seed each: submits, control requests, signals, external systems
//! that break, processes that die, freeze and come back too late, clocks that disagree and jump. A seed that fails is run again with
//! `SEED=<n> cargo test -p engine --test it simulation`.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use engine::store::{MemoryStore, OperationQuery, Store, Summary};
use engine::{Body, Clock, Command, OperationId, Phase, PhaseVerb, Timestamp};
use serde_json::{Value, json};
use testing::workflow_test::Tally;
use testing::{
    CallFault, Death, DyingStore, FakeClient, FakeSystem, SkewedClock, TestEngine, VirtualClock,
    claims_in_a_second,
};

use crate::scripted::{Props, register};

/// For everyday runs. `./test` asks for 2,000.
const SEEDS: u64 = 200;
const THREADS: u64 = 2;
/// Of one operation, by all processes together. Retries, waits and whatever the simulation asks come to less.
const CLAIMS_IN_A_SECOND_MAX: usize = 20;
const SECOND: u64 = 1_000_000;

#[test]
fn no_seed_of_failure_loses_doubles_or_strands_anything() {
    if let Some(seed) = number("SEED") {
        return live(seed);
    }
    let seeds = number("SEEDS").unwrap_or(SEEDS);
    let next = AtomicU64::new(0);
    let failed = AtomicU64::new(u64::MAX);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while failed.load(Ordering::SeqCst) == u64::MAX {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= seeds {
                        break;
                    }
                    if catch_unwind(AssertUnwindSafe(|| live(seed))).is_err() {
                        failed.fetch_min(seed, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    let failed = failed.load(Ordering::SeqCst);
    assert_eq!(failed, u64::MAX, "run it again: SEED={failed} cargo test -p engine --test it simulation");
    testing::count("seeds", seeds);
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn live(seed: u64) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut sim = Simulation::new(seed).await;
        for _ in 0..40 {
            sim.act().await;
        }
        sim.calm_down().await;
        sim.check().await;
        for process in sim.processes {
            process.test_engine.engine.stop(Duration::ZERO).await;
        }
    });
}

struct Process {
    test_engine: TestEngine,
    store: Arc<DyingStore>,
    /// Each process has its own, and no two agree.
    clock: Arc<SkewedClock>,
}

struct Simulation {
    clock: Arc<VirtualClock>,
    truth: Arc<MemoryStore>,
    world: Arc<FakeSystem>,
    tally: Arc<Tally>,
    processes: Vec<Process>,
    /// What was asked under which key, and the operation if the answer arrived.
    asked: BTreeMap<String, (Command, Option<OperationId>)>,
    /// Nodes that others will declare dead, and when.
    burials: Vec<(Timestamp, engine::Engine)>,
    thaws: Vec<(Timestamp, Arc<DyingStore>)>,
    asked_last: Option<OperationId>,
    /// Of every process that there was.
    stores: Vec<Arc<DyingStore>>,
}

impl Simulation {
    async fn new(seed: u64) -> Simulation {
        let mut sim = Simulation {
            clock: Arc::new(VirtualClock::seeded(seed)),
            truth: Arc::default(),
            world: Arc::default(),
            tally: Arc::default(),
            processes: Vec::new(),
            asked: BTreeMap::new(),
            burials: Vec::new(),
            thaws: Vec::new(),
            asked_last: None,
            stores: Vec::new(),
        };
        sim.start_process().await;
        sim
    }

    async fn start_process(&mut self) {
        let store = DyingStore::new(self.truth.clone(), Death::Never);
        let store = Arc::new(store.with_claims_max(CLAIMS_IN_A_SECOND_MAX));
        self.stores.push(Arc::clone(&store));
        let clock = SkewedClock::new(&self.clock, self.some_skew(10 * SECOND), self.some_skew(5_000));
        let clock = Arc::new(clock);
        let far = FakeClient::new(&self.world, store.death_flag());
        let builder = TestEngine::plan(store.clone(), clock.clone());
        let builder = register(builder, &Props::default(), &far, &self.tally);
        self.processes.push(Process { test_engine: TestEngine::open(builder, None).await, store, clock });
    }

    /// Up to this many microseconds, forward or back.
    fn some_skew(&self, most: u64) -> i64 {
        i64::try_from(self.clock.roll(2 * most + 1)).unwrap() - i64::try_from(most).unwrap()
    }

    async fn act(&mut self) {
        match self.clock.roll(18) {
            0..=4 => self.submit_something().await,
            5..=7 => self.world.plan_fault(self.some_faults()),
            8 => self.kill_one().await,
            9 => self.freeze_one(),
            10 if self.processes.len() < 3 => self.start_process().await,
            11 | 12 | 15 | 16 => self.control_something().await,
            13 => self.signal().await,
            14 => self.set_a_clock(),
            _ => {}
        }
        let pause =
            Duration::from_millis(self.clock.roll(if self.clock.roll(4) == 0 { 15_000 } else { 200 }));
        tokio::time::sleep(pause).await;
        self.let_time_act();
    }

    fn let_time_act(&mut self) {
        let now = self.clock.now();
        for (_, engine) in self.burials.extract_if(.., |(at, _)| *at <= now) {
            // A node that was frozen may have joined anew in the meantime.
            engine.node().into_iter().for_each(|node| self.truth.expire(node));
        }
        for (_, store) in self.thaws.extract_if(.., |(at, _)| *at <= now) {
            store.thaw();
        }
    }

    fn some_faults(&self) -> CallFault {
        match self.clock.roll(3) {
            0 => CallFault::Before,
            1 => CallFault::LostAnswer,
            _ => CallFault::Slow(Duration::from_millis(self.clock.roll(5000))),
        }
    }

    fn some_script(&self) -> Value {
        let pick = |words: &[&[&str]]| -> Value {
            let index = usize::try_from(self.clock.roll(words.len() as u64)).unwrap();
            json!(words[index])
        };
        let a = pick(&[&["make"], &["retry", "make"], &["wait", "make"], &["note"]]);
        let b = pick(&[
            &["make"],
            &["wait", "make"],
            &["signal"],
            &["retry", "retry", "make"],
            &["make_and_fail"],
            &["hang", "make"],
            &["fail"],
        ]);
        let c = pick(&[&["make"], &["make"], &["done"], &["note"], &["fail"]]);
        let undo = pick(&[&["done"], &["done"], &["retry", "done"], &["fail", "done"]]);
        json!({"a": a, "b": b, "c": c, "undo": undo})
    }

    async fn submit_something(&mut self) {
        let key = format!("key-{}", self.asked.len());
        let resource = (self.clock.roll(3) == 0).then(|| format!("resource-{}", self.clock.roll(3)));
        let command = Command {
            name: None,
            workflow: "test.script".into(),
            tenant: format!("tenant-{}", self.clock.roll(3)),
            resource,
            params: self.some_script(),
            by: "sim".into(),
            idempotency_key: Some(key.clone()),
            queue: true,
        };
        let id = match self.some_process() {
            // A frozen process does not answer, and its caller gives up.
            Some(process) => tokio::time::timeout(
                Duration::from_secs(2),
                process.test_engine.engine.submit_json(command.clone()),
            )
            .await
            .ok()
            .and_then(Result::ok)
            .map(|accepted| accepted.id),
            None => None,
        };
        self.asked.insert(key, (command, id));
    }

    fn some_process(&self) -> Option<&Process> {
        let alive: Vec<&Process> = self.processes.iter().filter(|process| !process.store.is_dead()).collect();
        alive.get(usize::try_from(self.clock.roll(alive.len().max(1) as u64)).unwrap()).copied()
    }

    async fn kill_one(&mut self) {
        if self.processes.is_empty() {
            return;
        }
        let index = usize::try_from(self.clock.roll(self.processes.len() as u64)).unwrap();
        let process = self.processes.swap_remove(index);
        process.store.kill();
        self.burials
            .push((self.clock.now().plus(Duration::from_secs(6)), process.test_engine.engine.clone()));
        process.test_engine.engine.stop(Duration::ZERO).await;
    }

    fn freeze_one(&mut self) {
        let now = self.clock.now();
        let Some(process) = self.some_process() else { return };
        process.store.freeze();
        let (engine, store) = (process.test_engine.engine.clone(), Arc::clone(&process.store));
        self.burials.push((now.plus(Duration::from_secs(6)), engine));
        self.thaws.push((now.plus(Duration::from_secs(10)), store));
    }

    fn set_a_clock(&self) {
        if let Some(process) = self.some_process() {
            process.clock.jump(self.some_skew(60 * SECOND));
        }
    }

    async fn control_something(&mut self) {
        let known: Vec<OperationId> = self.asked.values().filter_map(|(_, id)| *id).collect();
        let Some(process) = self.some_process() else { return };
        if known.is_empty() {
            return;
        }
        let some = known[usize::try_from(self.clock.roll(known.len() as u64)).unwrap()];
        // Requests for one operation come close together, and through any process.
        let id = self.asked_last.filter(|_| self.clock.roll(3) > 0).unwrap_or(some);
        let verbs = [PhaseVerb::Cancel, PhaseVerb::Pause, PhaseVerb::Resume, PhaseVerb::Retry];
        let verb = verbs[usize::try_from(self.clock.roll(4)).unwrap()];
        let asking = process.test_engine.engine.ask(id, verb, "sim", "");
        let _ = tokio::time::timeout(Duration::from_secs(2), asking).await;
        self.asked_last = Some(id);
    }

    async fn signal(&self) {
        let Some(process) = self.some_process() else { return };
        let signal = process.test_engine.engine.signal("ready", json!(1));
        let _ = tokio::time::timeout(Duration::from_secs(2), signal).await;
    }

    async fn all(&self) -> Vec<Summary> {
        self.truth.list(&OperationQuery { limit: 1000, ..OperationQuery::default() }).await.unwrap()
    }

    /// The trouble ends; everything that was asked must now come to its end.
    async fn calm_down(&mut self) {
        tokio::time::sleep(Duration::from_secs(20)).await;
        self.let_time_act();
        self.check_claims();
        if self.processes.is_empty() {
            self.start_process().await;
        }
        for (command, id) in self.asked.values_mut() {
            let accepted = self.processes[0].test_engine.engine.submit_json(command.clone()).await.unwrap();
            assert!(id.is_none_or(|id| id == accepted.id), "the same key gave another operation");
            *id = Some(accepted.id);
        }
        for _ in 0..5000 {
            let open: Vec<Summary> = self.all().await.into_iter().filter(|s| !s.phase.is_final()).collect();
            if open.is_empty() {
                return;
            }
            for summary in open.iter().filter(|s| matches!(s.phase, Phase::Paused | Phase::Stuck)) {
                let engine = &self.processes[0].test_engine.engine;
                let _ = engine.ask(summary.id, PhaseVerb::Resume, "sim", "").await;
            }
            self.signal().await;
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        panic!("stranded: {:?}", self.all().await.iter().find(|summary| !summary.phase.is_final()));
    }

    fn check_claims(&self) {
        let claims = self.stores.iter().flat_map(|store| store.claims()).collect();
        let most = claims_in_a_second(claims);
        assert!(most.is_none_or(|(_, most)| most <= CLAIMS_IN_A_SECOND_MAX), "claimed too often: {most:?}");
    }

    async fn check(&self) {
        self.check_claims();
        let all = self.all().await;
        assert_eq!(all.len(), self.asked.len(), "one operation for each key, no more and no fewer");
        for (token, line) in self.world.ledger() {
            assert!(line.made <= 1, "{token} was made {} times", line.made);
        }
        let standing = self.world.standing();
        for (command, id) in self.asked.values() {
            let id = id.unwrap();
            let summary = all.iter().find(|summary| summary.id == id).unwrap();
            let prefix = id.0.simple().to_string();
            let stands = standing.iter().filter(|token| token.starts_with(&prefix)).count();
            let expected = if summary.phase == Phase::Succeeded { makes(&command.params) } else { 0 };
            assert_eq!(stands, expected, "{} {} left something else: {}", id, summary.phase, command.params);
            self.check_journal(id, summary.phase).await;
        }
        let ids: Vec<String> =
            self.asked.values().map(|(_, id)| id.unwrap().0.simple().to_string()).collect();
        let strays = standing.iter().filter(|token| !ids.iter().any(|id| token.starts_with(id))).count();
        assert_eq!(strays, 0, "an instance exists that belongs to no launch");
    }

    async fn check_journal(&self, id: OperationId, phase: Phase) {
        let events = self.truth.journal(id, 0, 100_000).await.unwrap();
        let count = u32::try_from(events.len()).unwrap();
        assert!(events.iter().map(|event| event.seq).eq(1..=count), "the journal of {id} has a gap");
        assert!(matches!(events[0].body, Body::Created { .. }));
        let ends = events.iter().rev().find_map(|event| match &event.body {
            Body::Finished { phase, .. } => Some(*phase),
            _ => None,
        });
        assert_eq!(ends, Some(phase), "the row and the journal of {id} disagree");
    }
}

/// How many of the three steps make something when all goes well.
fn makes(params: &Value) -> usize {
    ["a", "b", "c"].iter().filter(|step| params[**step].as_array().unwrap().last().unwrap() == "make").count()
}
