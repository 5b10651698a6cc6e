//! Plans that arrive at run time: versions that operations are bound to, and that are freed when none needs them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use async_trait::async_trait;
use engine::store::MemoryStore;
use engine::{
    Cause, Command, Declared, Done, Effect, Halt, OnFailure, Operation, Outcome, Phase, Plan, Step,
    SubmitError, Verb, Workflow, done, wait_for,
};
use serde_json::{Value, json};
use testing::{House, VirtualClock};

const NAME: &str = "acme.letters";

struct Letters;
impl Workflow for Letters {
    const KIND: &'static str = "declared";
    const ABOUT: &'static str = "";
    type Params = Value;
    type State = ();
    type Input = ();
}

/// Which letters were written and taken back, by version.
#[derive(Default)]
struct Ledger(Mutex<Vec<String>>);

impl Ledger {
    fn add(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

type Answer = fn(&Operation<Letters>) -> Outcome;

struct Write {
    name: String,
    version: u32,
    effect: Effect,
    ledger: Arc<Ledger>,
    answer: Answer,
}

#[async_trait]
impl Step<Letters> for Write {
    fn name(&self) -> &str {
        &self.name
    }
    fn title(&self) -> &'static str {
        "Writing"
    }
    fn effect(&self) -> Effect {
        self.effect
    }
    async fn run(&self, op: &mut Operation<Letters>) -> Outcome {
        if op.recall_as::<bool>(&self.name)?.is_none() {
            self.ledger.add(format!("{}@{}", self.name, self.version));
            op.remember_as(&self.name, &true)?;
        }
        (self.answer)(op)
    }
    async fn undo(&self, _op: &mut Operation<Letters>) -> Outcome {
        self.ledger.add(format!("undo {}@{}", self.name, self.version));
        done()
    }
}

fn waits(op: &Operation<Letters>) -> Outcome {
    if op.signalled("go").is_some() { done() } else { wait_for("go", Duration::from_secs(600), "go") }
}

fn plan(version: u32, ledger: &Arc<Ledger>, steps: &[(&str, Answer)]) -> Plan<Letters> {
    let declared = Declared {
        workflow: NAME.into(),
        version,
        about: format!("Version {version}."),
        deadline: Duration::from_secs(3600),
        schema: Arc::new(json!({"type": "object"})),
        admit: Box::new(|asked, _| Ok(asked)),
        resource: Some(Box::new(|tenant, asked| Ok(format!("letters:{tenant}:{}", asked["to"])))),
    };
    steps.iter().zip(1_u16..).fold(
        Plan::declared(OnFailure::Unwind, declared),
        |plan, ((name, answer), weight)| {
            let (name, ledger, answer) = ((*name).to_owned(), Arc::clone(ledger), *answer);
            plan.step(weight, Write { name, version, effect: Effect::Keyed, ledger, answer })
        },
    )
}

async fn open() -> (House, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::new());
    let house = House::open(House::plan(store.clone(), Arc::new(VirtualClock::seeded(1))), None).await;
    (house, store)
}

fn begin(to: &str) -> Command {
    Command {
        workflow: NAME.into(),
        tenant: "default".into(),
        resource: None,
        params: json!({"to": to}),
        by: "ann".into(),
        idempotency_key: None,
        queue: false,
    }
}

fn offer(house: &House, version: u32, kept: impl IntoIterator<Item = u32>) {
    house.engine.offer_version(NAME, Some(version), &kept.into_iter().collect());
}

#[tokio::test(start_paused = true)]
async fn an_operation_ends_with_the_version_that_it_began_with_undo_included() {
    let (house, _) = open().await;
    let ledger = Arc::new(Ledger::default());
    house.engine.keep_version(plan(1, &ledger, &[("a", |_| done()), ("b", waits)]));
    offer(&house, 1, [1]);
    let old = house.submit(NAME, None, json!({"to": "ann"})).await;
    let cancelled = house.submit(NAME, None, json!({"to": "bob"})).await;
    for id in [old, cancelled] {
        house.until(id, |phase| phase == Phase::Waiting).await;
    }
    house.engine.keep_version(plan(2, &ledger, &[("a", |_| done()), ("c", |_| done())]));
    offer(&house, 2, [1, 2]);
    let new = house.submit(NAME, None, json!({"to": "eve"})).await;
    assert_eq!(house.finished(new).await.memory.version(), Some(2));
    house.engine.ask(cancelled, Verb::Cancel, "ann", "").await.unwrap();
    assert_eq!(house.finished(cancelled).await.shown.summary.phase, Phase::Cancelled);
    house.engine.signal("go", Value::Null).await.unwrap();
    let ended = house.finished(old).await;
    assert_eq!((ended.shown.summary.phase, ended.memory.version()), (Phase::Succeeded, Some(1)));
    assert_eq!(ended.shown.summary.resource.as_deref(), Some("letters:test:\"ann\""));
    assert_eq!(house.engine.plan_of(&ended).unwrap().steps[1].name, "b");
    assert_eq!(house.engine.workflow(NAME).unwrap().steps[1].name, "c");
    let lines = ledger.lines();
    for line in ["undo b@1", "undo a@1", "c@2"] {
        assert!(lines.iter().any(|one| one == line), "{line} is not in {lines:?}");
    }
    assert!(!lines.iter().any(|line| ["b@2", "c@1", "undo a@2"].contains(&line.as_str())), "{lines:?}");
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_has_not_read_a_version_leaves_its_operations_until_it_has() {
    let (first, store) = open().await;
    let ledger = Arc::new(Ledger::default());
    let table: [(&str, Answer); 2] = [("a", |_| done()), ("b", waits)];
    first.engine.keep_version(plan(1, &ledger, &table));
    offer(&first, 1, [1]);
    let id = first.submit(NAME, None, json!({"to": "ann"})).await;
    first.until(id, |phase| phase == Phase::Waiting).await;
    first.engine.stop(Duration::ZERO).await;
    let second = House::open(House::plan(store, Arc::new(VirtualClock::seeded(1))), Some(first.node)).await;
    second.engine.signal("go", Value::Null).await.unwrap();
    let reason = "this node has not read version 1 of acme.letters";
    loop {
        if second.inspect(id).await.shown.summary.reason.as_deref() == Some(reason) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    second.engine.keep_version(plan(1, &ledger, &table));
    assert_eq!(second.finished(id).await.shown.summary.phase, Phase::Succeeded);
    second.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_withdrawn_is_not_begun_any_more_and_ends_all_the_same() {
    let (house, _) = open().await;
    let ledger = Arc::new(Ledger::default());
    house.engine.keep_version(plan(1, &ledger, &[("b", waits)]));
    offer(&house, 1, [1]);
    let id = house.submit(NAME, None, json!({"to": "ann"})).await;
    house.until(id, |phase| phase == Phase::Waiting).await;
    house.engine.offer_version(NAME, None, &BTreeSet::from([1]));
    let refused = house.engine.submit_json(begin("bob")).await;
    assert!(matches!(refused, Err(SubmitError::UnknownWorkflow { .. })), "{refused:?}");
    assert!(house.engine.workflow(NAME).is_none() && house.engine.workflows().is_empty());
    house.engine.signal("go", Value::Null).await.unwrap();
    assert_eq!(house.finished(id).await.shown.summary.phase, Phase::Succeeded);
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_versions_leave_nothing_behind() {
    let (house, _) = open().await;
    let mut before: Vec<Weak<Ledger>> = Vec::new();
    for version in 1..=10_000 {
        let ledger = Arc::new(Ledger::default());
        before.push(Arc::downgrade(&ledger));
        house.engine.keep_version(plan(version, &ledger, &[("a", |_| done())]));
        offer(&house, version, [version]);
    }
    let kept = before.iter().filter(|ledger| ledger.strong_count() > 0).count();
    assert_eq!(kept, 1, "only the version that is offered");
    assert_eq!(house.engine.workflows().len(), 1);
    house.engine.offer_version(NAME, None, &BTreeSet::new());
    assert!(before.iter().all(|ledger| ledger.strong_count() == 0));
    assert!(house.engine.workflow_version(NAME, Some(10_000)).is_none());
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_step_without_work_is_done_and_one_that_may_have_happened_waits_for_a_person() {
    let (house, _) = open().await;
    let ledger = Arc::new(Ledger::default());
    let unneeded = |_: &Operation<Letters>| Ok(Done::Unneeded { reason: Cause::from("no letter") });
    let unknown = |op: &Operation<Letters>| match op.signalled("go") {
        None if op.params["to"] == "bob" => Err(Halt::Unknown { cause: Cause::from("no answer came") }),
        _ => done(),
    };
    house.engine.keep_version(plan(1, &ledger, &[("a", unneeded), ("b", unknown)]));
    offer(&house, 1, [1]);
    let id = house.submit(NAME, None, json!({"to": "ann"})).await;
    let ended = house.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded);
    assert_eq!(ended.memory.unneeded["a"].as_str(), "no letter");
    assert!(ended.memory.skipped.is_empty() && ended.memory.done.contains("a"));
    let id = house.submit(NAME, None, json!({"to": "bob"})).await;
    let stuck = house.until(id, |phase| phase == Phase::Stuck).await;
    assert_eq!(stuck.memory.stuck.unwrap().left_over, ["b"]);
    house.engine.ask(id, Verb::Cancel, "ann", "it did not happen").await.unwrap();
    assert_eq!(house.finished(id).await.shown.summary.phase, Phase::Cancelled);
    house.close().await;
}
