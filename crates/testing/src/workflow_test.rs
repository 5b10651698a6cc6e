//! Every workflow must pass these tests: each step twice, failure at each step, each undo twice, death at
//! each save, each attempted call lost. A workflow gets them by saying how its plan is made and how to see what it left in the world.

mod case;
mod schema;
mod steps;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use engine::store::{MemoryStore, Store};
use engine::{Clock, Engine, LoseCalls, LostCall, OperationId, Phase, Plan, WallClock, Workflow};
use serde_json::Value;

use crate::dying_store::{Death, DyingStore};
use crate::test_engine::{TestEngine, command};

pub use case::Case;
use schema::fits_schema;
use steps::{FailsAt, LosesCalls, Twice};

/// A workflow under test.
#[async_trait]
pub trait WorkflowTest: Send + Sync {
    type Workflow: Workflow;

    /// The plan as production has it.
    fn plan(&self) -> Plan<Self::Workflow>;

    /// Params with which an undisturbed operation succeeds.
    fn params(&self) -> Value;

    /// What the operation works on, where it works on something that has a name.
    fn resource(&self) -> Option<String> {
        None
    }

    /// Makes what must be there before an operation is submitted: the record of its resource, and what that stands
    /// for in the world.
    async fn prepare(&self, _engine: &Engine) {}

    /// The names of the calls that may not be repeated blindly, in order: the attempts of the workflow.
    fn attempts(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(WallClock)
    }

    /// Tokens or names of everything that stands in the world now.
    async fn standing(&self) -> Vec<String>;

    /// Empties the world between two runs.
    async fn clear(&self);
}

/// All trials, one after the other.
pub async fn check_all<T: WorkflowTest>(workflow_test: &T) {
    every_step_twice(workflow_test).await;
    fail_at_every_step(workflow_test).await;
    die_at_every_save(workflow_test).await;
    lose_every_call(workflow_test).await;
}

/// Sends the operation through a whole new pass after every step: steps that ran before must cope with that and
/// leave nothing more in the world.
pub async fn every_step_twice<T: WorkflowTest>(workflow_test: &T) {
    let once = undisturbed(workflow_test).await;
    workflow_test.clear().await;
    let plan = workflow_test.plan().wrapped(|step| Box::new(Twice { step, is_first: AtomicBool::new(true) }));
    let test_engine =
        TestEngine::open(TestEngine::plan(store(), workflow_test.clock()).workflow(plan), None).await;
    let id = submit(&test_engine, workflow_test).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!(workflow_test.standing().await.len(), once, "a step that ran twice left more in the world");
    test_engine.close().await;
    workflow_test.clear().await;
}

/// Lets every step fail in turn, after it has done its work, with every undo called twice.
pub async fn fail_at_every_step<T: WorkflowTest>(workflow_test: &T) {
    // A clean-up step does not fail an operation: it is skipped and tried again.
    for info in workflow_test.plan().describe().into_iter().filter(|info| !info.clean_up) {
        let plan = workflow_test.plan().wrapped(|step| Box::new(FailsAt { step, name: info.name.clone() }));
        let unwinds = is_unwinding(workflow_test);
        let test_engine =
            TestEngine::open(TestEngine::plan(store(), workflow_test.clock()).workflow(plan), None).await;
        let id = submit(&test_engine, workflow_test).await;
        let ended = test_engine.finished(id).await;
        if info.conditional && ended.shown.summary.phase == Phase::Succeeded {
            // These params do not lead through the step.
            test_engine.close().await;
            workflow_test.clear().await;
            continue;
        }
        let error = ended.memory.last_error.expect("a failed operation says why");
        assert_eq!(error.step, info.name, "the failure must come from the injected step: {}", error.cause);
        if unwinds {
            assert_eq!(ended.shown.summary.phase, Phase::Undone, "fail at {}", info.name);
            let standing = workflow_test.standing().await;
            assert!(standing.is_empty(), "failing at {} left {standing:?}", info.name);
        } else {
            assert_eq!(ended.shown.summary.phase, Phase::Failed, "fail at {}", info.name);
        }
        test_engine.close().await;
        workflow_test.clear().await;
    }
}

/// Kills the process at every save, once before and once after it, and lets the next process go on: forward,
/// and on the way back from a failure at the last step.
pub async fn die_at_every_save<T: WorkflowTest>(workflow_test: &T) {
    let last = workflow_test.plan().describe().pop().map_or_else(String::new, |info| info.name);
    let expect = undisturbed(workflow_test).await;
    workflow_test.clear().await;
    let mut ways = vec![None];
    ways.extend(is_unwinding(workflow_test).then_some(Some(last.as_str())));
    for failing in ways {
        let mut deaths = 0;
        for number in 0.. {
            let mut is_over = false;
            for death in [Death::Before(number), Death::After(number)] {
                let died = die_once(workflow_test, death, failing, expect).await;
                is_over |= !died;
                deaths += u64::from(died);
            }
            if is_over {
                break;
            }
        }
        assert!(deaths > 2, "the trial must have killed something");
    }
}

/// Loses every call of an attempt in turn, once on its way there and once on its way back: forward, and before a failure
/// at the last step.
pub async fn lose_every_call<T: WorkflowTest>(workflow_test: &T) {
    let last = workflow_test.plan().describe().pop().map_or_else(String::new, |info| info.name);
    let expect = undisturbed(workflow_test).await;
    workflow_test.clear().await;
    let mut ways = vec![None];
    ways.extend(is_unwinding(workflow_test).then_some(Some(last.as_str())));
    for (failing, lost) in
        ways.into_iter().flat_map(|way| [(way, LostCall::Request), (way, LostCall::Answer)])
    {
        let mut names = BTreeSet::new();
        let mut number = 0;
        while let Some(name) = lose_once(workflow_test, (number, lost), failing, expect).await {
            names.insert(name);
            number += 1;
        }
        let attempts: BTreeSet<String> = workflow_test.attempts().into_iter().map(str::to_owned).collect();
        assert_eq!(names, attempts, "the attempts of {}", workflow_test.plan().kind());
    }
}

/// Loses the call with this number. Answers its name, if there was one.
async fn lose_once<T: WorkflowTest>(
    workflow_test: &T,
    (number, lost): (usize, LostCall),
    failing: Option<&str>,
    expect: usize,
) -> Option<String> {
    let calls: Arc<Mutex<Vec<String>>> = Arc::default();
    let lose: LoseCalls = {
        let calls = Arc::clone(&calls);
        Arc::new(move |name| {
            let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.push(name.to_owned());
            (calls.len() == number + 1).then_some(lost)
        })
    };
    let plan = workflow_test.plan().wrapped(|step| match failing {
        Some(name) => Box::new(FailsAt { step, name: name.to_owned() }),
        None => step,
    });
    let plan = plan.wrapped(|step| Box::new(LosesCalls { step, lose: Arc::clone(&lose) }));
    let test_engine =
        TestEngine::open(TestEngine::plan(store(), workflow_test.clock()).workflow(plan), None).await;
    let id = submit(&test_engine, workflow_test).await;
    let ended = test_engine.finished(id).await;
    let name = calls.lock().unwrap_or_else(PoisonError::into_inner).get(number).cloned();
    let (phase, expect) = if failing.is_some() { (Phase::Undone, 0) } else { (Phase::Succeeded, expect) };
    let what = format!("{lost:?} of call {number}, {name:?}, was lost");
    assert_eq!(ended.shown.summary.phase, phase, "{what}: {:?}", ended.memory.last_error);
    let standing = workflow_test.standing().await;
    assert_eq!(standing.len(), expect, "{what}, which left {standing:?}");
    test_engine.close().await;
    workflow_test.clear().await;
    name
}

async fn die_once<T: WorkflowTest>(
    workflow_test: &T,
    death: Death,
    failing: Option<&str>,
    expect: usize,
) -> bool {
    let make = || {
        let plan = workflow_test.plan();
        match failing {
            Some(name) => plan.wrapped(|step| Box::new(FailsAt { step, name: name.to_owned() })),
            None => plan,
        }
    };
    let truth = store();
    let dying = Arc::new(DyingStore::new(Arc::clone(&truth), death));
    let first =
        TestEngine::open(TestEngine::plan(dying.clone(), workflow_test.clock()).workflow(make()), None).await;
    prepare_in(workflow_test, &truth).await;
    let resource = workflow_test.resource();
    let submitted = first
        .engine
        .submit_json(command(workflow_test.plan().kind(), resource.as_deref(), workflow_test.params()))
        .await;
    if let Ok(accepted) = &submitted {
        let mut updates = first.engine.event_feed().watch();
        while !dying.is_dead() {
            let shown =
                truth.show(accepted.id).await.expect("memory answers").expect("accepted and not lost");
            if shown.summary.phase.is_final() {
                break;
            }
            let _ = tokio::time::timeout(Duration::from_millis(10), updates.recv()).await;
        }
    }
    let died = dying.is_dead();
    let node = first.node;
    first.engine.stop(Duration::ZERO).await;
    let second =
        TestEngine::open(TestEngine::plan(truth, workflow_test.clock()).workflow(make()), Some(node)).await;
    let all = second.engine.list(&engine::store::OperationQuery { limit: 10, ..Default::default() }).await;
    for summary in all.expect("memory answers") {
        let ended = second.finished(summary.id).await;
        let phase = if failing.is_some() { Phase::Undone } else { Phase::Succeeded };
        assert_eq!(ended.shown.summary.phase, phase, "{death:?} {:?}", ended.memory.last_error);
        let standing = workflow_test.standing().await;
        let expect = if failing.is_some() { 0 } else { expect };
        assert_eq!(standing.len(), expect, "{death:?} left {standing:?}");
        let seqs: Vec<u32> = second.journal(summary.id).await.iter().map(|event| event.seq).collect();
        assert!(seqs.iter().copied().eq(1..=u32::try_from(seqs.len()).unwrap_or(0)), "gaps: {seqs:?}");
    }
    if let Ok(accepted) = submitted {
        second.inspect(accepted.id).await;
    }
    second.close().await;
    workflow_test.clear().await;
    died
}

/// How much an undisturbed operation leaves in the world.
async fn undisturbed<T: WorkflowTest>(workflow_test: &T) -> usize {
    workflow_test.clear().await;
    let test_engine = TestEngine::open(
        TestEngine::plan(store(), workflow_test.clock()).workflow(workflow_test.plan()),
        None,
    )
    .await;
    let id = submit(&test_engine, workflow_test).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    test_engine.close().await;
    workflow_test.standing().await.len()
}

async fn submit<T: WorkflowTest>(test_engine: &TestEngine, workflow_test: &T) -> OperationId {
    workflow_test.prepare(&test_engine.engine).await;
    fits_schema(&test_engine.engine, workflow_test);
    test_engine
        .submit(workflow_test.plan().kind(), workflow_test.resource().as_deref(), workflow_test.params())
        .await
}

/// In a store that does not die, by an engine that does not work.
async fn prepare_in<T: WorkflowTest>(workflow_test: &T, store: &Arc<dyn Store>) {
    workflow_test.prepare(&TestEngine::plan(Arc::clone(store), workflow_test.clock()).build()).await;
}

fn store() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

fn is_unwinding<T: WorkflowTest>(workflow_test: &T) -> bool {
    workflow_test.plan().on_failure() == engine::OnFailure::Unwind
}

/// Counts calls across threads and passes, for assertions about how often something happened.
#[derive(Default)]
pub struct Tally(AtomicU64, Mutex<Vec<String>>);

impl Tally {
    pub fn note(&self, what: impl Into<String>) {
        self.0.fetch_add(1, Ordering::SeqCst);
        self.1.lock().unwrap_or_else(PoisonError::into_inner).push(what.into());
    }

    pub fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    pub fn seen(&self) -> Vec<String> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
