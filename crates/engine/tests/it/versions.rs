//! Plans that arrive at run time: versions that operations are bound to, and that are freed when none needs them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use async_trait::async_trait;
use engine::store::MemoryStore;
use engine::{
    Cause, Command, Declared, Done, Effect, Halt, OnFailure, Operation, Outcome, Phase, PhaseVerb, Plan,
    Step, SubmitError, Workflow, done, wait_for,
};
use serde_json::{Value, json};
use testing::{TestEngine, VirtualClock};

const NAME: &str = "acme.letters";

struct VersionedLetters;
impl Workflow for VersionedLetters {
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

type Answer = fn(&Operation<VersionedLetters>) -> Outcome;

struct Write {
    name: String,
    version: u32,
    effect: Effect,
    ledger: Arc<Ledger>,
    answer: Answer,
}

#[async_trait]
impl Step<VersionedLetters> for Write {
    fn name(&self) -> &str {
        &self.name
    }
    fn title(&self) -> &'static str {
        "Writing"
    }
    fn effect(&self) -> Effect {
        self.effect
    }
    async fn run(&self, op: &mut Operation<VersionedLetters>) -> Outcome {
        if op.recall_as::<bool>(&self.name)?.is_none() {
            self.ledger.add(format!("{}@{}", self.name, self.version));
            op.remember_as(&self.name, &true)?;
        }
        (self.answer)(op)
    }
    async fn undo(&self, _op: &mut Operation<VersionedLetters>) -> Outcome {
        self.ledger.add(format!("undo {}@{}", self.name, self.version));
        done()
    }
}

fn waits(op: &Operation<VersionedLetters>) -> Outcome {
    if op.signalled("go").is_some() { done() } else { wait_for("go", Duration::from_secs(600), "go") }
}

fn plan(version: u32, ledger: &Arc<Ledger>, steps: &[(&str, Answer)]) -> Plan<VersionedLetters> {
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

async fn open() -> (TestEngine, Arc<MemoryStore>) {
    let store = Arc::new(MemoryStore::new());
    let test_engine =
        TestEngine::open(TestEngine::plan(store.clone(), Arc::new(VirtualClock::seeded(1))), None).await;
    (test_engine, store)
}

fn begin(to: &str) -> Command {
    Command {
        name: None,
        workflow: NAME.into(),
        tenant: "default".into(),
        resource: None,
        params: json!({"to": to}),
        by: "ann".into(),
        idempotency_key: None,
        queue: false,
    }
}

fn offer(test_engine: &TestEngine, version: u32, kept: impl IntoIterator<Item = u32>) {
    test_engine.engine.offer_version(NAME, Some(version), &kept.into_iter().collect());
}

#[tokio::test(start_paused = true)]
async fn an_operation_ends_with_the_version_that_it_began_with_undo_included() {
    let (test_engine, _) = open().await;
    let ledger = Arc::new(Ledger::default());
    test_engine.engine.keep_version(plan(1, &ledger, &[("a", |_| done()), ("b", waits)]));
    offer(&test_engine, 1, [1]);
    let old = test_engine.submit(NAME, None, json!({"to": "ann"})).await;
    let cancelled = test_engine.submit(NAME, None, json!({"to": "bob"})).await;
    for id in [old, cancelled] {
        test_engine.until(id, |phase| phase == Phase::Waiting).await;
    }
    test_engine.engine.keep_version(plan(2, &ledger, &[("a", |_| done()), ("c", |_| done())]));
    offer(&test_engine, 2, [1, 2]);
    let new = test_engine.submit(NAME, None, json!({"to": "eve"})).await;
    assert_eq!(test_engine.finished(new).await.memory.version(), Some(2));
    test_engine.engine.ask(cancelled, PhaseVerb::Cancel, "ann", "").await.unwrap();
    assert_eq!(test_engine.finished(cancelled).await.shown.summary.phase, Phase::Cancelled);
    test_engine.engine.signal("go", Value::Null).await.unwrap();
    let ended = test_engine.finished(old).await;
    assert_eq!((ended.shown.summary.phase, ended.memory.version()), (Phase::Succeeded, Some(1)));
    assert_eq!(ended.shown.summary.resource.as_deref(), Some("letters:test:\"ann\""));
    assert_eq!(test_engine.engine.plan_of(&ended).unwrap().steps[1].name, "b");
    assert_eq!(test_engine.engine.workflow(NAME).unwrap().steps[1].name, "c");
    let lines = ledger.lines();
    for line in ["undo b@1", "undo a@1", "c@2"] {
        assert!(lines.iter().any(|one| one == line), "{line} is not in {lines:?}");
    }
    assert!(!lines.iter().any(|line| ["b@2", "c@1", "undo a@2"].contains(&line.as_str())), "{lines:?}");
    test_engine.close().await;
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
    let second =
        TestEngine::open(TestEngine::plan(store, Arc::new(VirtualClock::seeded(1))), Some(first.node)).await;
    second.engine.signal("go", Value::Null).await.unwrap();
    let reason = "this node has not read version 1 of acme.letters";
    let has_reason = async || second.inspect(id).await.shown.summary.reason.as_deref() == Some(reason);
    TestEngine::eventually(has_reason).await;
    let left = second.inspect(id).await.shown.summary;
    let rest = left.due_at.unwrap().since(second.engine.now());
    assert!(rest <= Duration::from_secs(1), "it is about to be read: {rest:?}");
    // A version that is older than one that is here does not come any more.
    second.engine.keep_version(plan(2, &ledger, &table));
    tokio::time::sleep(Duration::from_secs(5)).await;
    let rest = second.inspect(id).await.shown.summary.due_at.unwrap().since(second.engine.now());
    assert!(rest > Duration::from_secs(30), "another node may have it: {rest:?}");
    second.engine.keep_version(plan(1, &ledger, &table));
    assert_eq!(second.finished(id).await.shown.summary.phase, Phase::Succeeded);
    second.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_withdrawn_is_not_begun_any_more_and_ends_all_the_same() {
    let (test_engine, _) = open().await;
    let ledger = Arc::new(Ledger::default());
    test_engine.engine.keep_version(plan(1, &ledger, &[("b", waits)]));
    offer(&test_engine, 1, [1]);
    let id = test_engine.submit(NAME, None, json!({"to": "ann"})).await;
    test_engine.until(id, |phase| phase == Phase::Waiting).await;
    test_engine.engine.offer_version(NAME, None, &BTreeSet::from([1]));
    let refused = test_engine.engine.submit_json(begin("bob")).await;
    assert!(matches!(refused, Err(SubmitError::UnknownWorkflow { .. })), "{refused:?}");
    assert!(test_engine.engine.workflow(NAME).is_none() && test_engine.engine.workflows().is_empty());
    test_engine.engine.signal("go", Value::Null).await.unwrap();
    assert_eq!(test_engine.finished(id).await.shown.summary.phase, Phase::Succeeded);
    test_engine.close().await;
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_versions_leave_nothing_behind() {
    let (test_engine, _) = open().await;
    let mut before: Vec<Weak<Ledger>> = Vec::new();
    for version in 1..=10_000 {
        let ledger = Arc::new(Ledger::default());
        before.push(Arc::downgrade(&ledger));
        test_engine.engine.keep_version(plan(version, &ledger, &[("a", |_| done())]));
        offer(&test_engine, version, [version]);
    }
    let kept = before.iter().filter(|ledger| ledger.strong_count() > 0).count();
    assert_eq!(kept, 1, "only the version that is offered");
    assert_eq!(test_engine.engine.workflows().len(), 1);
    test_engine.engine.offer_version(NAME, None, &BTreeSet::new());
    assert!(before.iter().all(|ledger| ledger.strong_count() == 0));
    assert!(test_engine.engine.workflow_version(NAME, Some(10_000)).is_none());
    test_engine.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_step_without_work_is_done_and_one_that_may_have_happened_waits_for_a_person() {
    let (test_engine, _) = open().await;
    let ledger = Arc::new(Ledger::default());
    let unneeded = |_: &Operation<VersionedLetters>| Ok(Done::Unneeded { reason: Cause::from("no letter") });
    let unknown = |op: &Operation<VersionedLetters>| match op.signalled("go") {
        None if op.params["to"] == "bob" => Err(Halt::Unknown { cause: Cause::from("no answer came") }),
        _ => done(),
    };
    test_engine.engine.keep_version(plan(1, &ledger, &[("a", unneeded), ("b", unknown)]));
    offer(&test_engine, 1, [1]);
    let id = test_engine.submit(NAME, None, json!({"to": "ann"})).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded);
    assert_eq!(ended.memory.unneeded["a"].as_str(), "no letter");
    assert!(ended.memory.skipped.is_empty() && ended.memory.done.contains("a"));
    let id = test_engine.submit(NAME, None, json!({"to": "bob"})).await;
    let stuck = test_engine.until(id, |phase| phase == Phase::Stuck).await;
    assert_eq!(stuck.memory.stuck.unwrap().left_over, ["b"]);
    test_engine.engine.ask(id, PhaseVerb::Cancel, "ann", "it did not happen").await.unwrap();
    assert_eq!(test_engine.finished(id).await.shown.summary.phase, Phase::Cancelled);
    test_engine.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_names_the_resource_takes_no_other() {
    let (test_engine, _) = open().await;
    test_engine.engine.keep_version(plan(1, &Arc::default(), &[("a", |_| done())]));
    offer(&test_engine, 1, [1]);
    let other = Command { resource: Some("letters:default:\"bob\"".into()), ..begin("ann") };
    let error = test_engine.engine.submit_json(other).await.unwrap_err().to_string();
    assert!(error.contains(r#"resource is "letters:default:\"ann\"""#), "{error}");
    let same = Command { resource: Some("letters:default:\"ann\"".into()), ..begin("ann") };
    let id = test_engine.engine.submit_json(same).await.unwrap().id;
    assert_eq!(test_engine.finished(id).await.shown.summary.resource.unwrap(), "letters:default:\"ann\"");
    let info = test_engine.engine.workflow(NAME).unwrap();
    assert_eq!((info.version, info.about.as_str(), info.deadline_seconds), (Some(1), "Version 1.", 3600));
    assert!(!test_engine.engine.is_compiled(NAME));
    test_engine.close().await;
}
