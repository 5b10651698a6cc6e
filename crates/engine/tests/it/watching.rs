//! What is told to observers, what is counted, and what a step sees of those before it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use engine::store::{MemoryStore, OperationQuery};
use engine::{
    Observer, OnFailure, Operation, Outcome, Phase, Plan, Step, StepResult, Workflow, done, retry, skip,
};
use serde_json::json;
use testing::{TestEngine, VirtualClock};

use crate::scripted::{Props, ScriptedEngine};

/// Writes down what it is told.
#[derive(Default)]
struct Notes(std::sync::Mutex<Vec<String>>);

impl Observer for Notes {
    fn step_ran(&self, workflow: &str, step: &str, result: StepResult, took: Duration) {
        let line = format!("{workflow} {step} {} {}", result.as_str(), took.as_secs());
        self.0.lock().unwrap().push(line);
    }
    fn finished(&self, workflow: &str, phase: Phase, took: Duration) {
        self.0.lock().unwrap().push(format!("{workflow} {phase} {}", took.as_secs()));
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_is_told_of_every_run_and_of_the_end() {
    let notes = Arc::new(Notes::default());
    let props = Props { is_clean_up: true, ..Props::default() };
    let stage = ScriptedEngine::build(&props, |builder| builder.observer(notes.clone())).await;
    let params =
        json!({"a": ["slow", "done"], "b": ["retry", "skip", "done"], "c": ["wait", "done", "fail"]});
    let id = stage.test_engine.submit("test.script", None, params).await;
    stage.test_engine.finished(id).await;
    let expected = [
        "a done 5",
        "b retried 0",
        "a done 0",
        "b skipped 0",
        "c waited 0",
        "a done 0",
        "b done 0",
        "c done 0",
        "succeeded 15",
    ];
    let notes = notes.0.lock().unwrap();
    let told: Vec<&str> = notes.iter().map(|line| line.strip_prefix("test.script ").unwrap()).collect();
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn operations_are_counted_by_phase_and_by_when_they_ended() {
    let stage = ScriptedEngine::new().await;
    let engine = &stage.test_engine.engine;
    let from = engine.now();
    for params in [json!({"a": ["slow"]}), json!({"a": ["fail"]})] {
        let id = stage.test_engine.submit("test.script", None, params).await;
        stage.test_engine.finished(id).await;
    }
    let query = OperationQuery { limit: 10, ..OperationQuery::default() };
    let totals = engine.totals(&query).await.unwrap();
    let shown: Vec<_> = totals.iter().map(|total| (total.phase, total.count)).collect();
    assert_eq!(shown, [(Phase::Succeeded, 1), (Phase::Undone, 1)]);
    let history = engine.history(from, Duration::from_secs(60), 10).await.unwrap();
    let [ended] = history[..] else { panic!("one minute: {history:?}") };
    assert_eq!((ended.nth, ended.count, ended.failed, ended.took.as_secs()), (0, 2, 1, 5));
}

/// A workflow whose last step looks at what became of those before it.
struct LooksBack;

impl Workflow for LooksBack {
    const KIND: &'static str = "test.looks_back";
    const ABOUT: &'static str = "Looks at what earlier steps did.";
    type Params = ();
    type State = Vec<String>;
    type Input = ();
}

struct Earlier(&'static str);

#[async_trait]
impl Step<LooksBack> for Earlier {
    fn name(&self) -> &'static str {
        self.0
    }
    fn title(&self) -> &'static str {
        "Looking back"
    }
    async fn run(&self, op: &mut Operation<LooksBack>) -> Outcome {
        match self.0 {
            "skips" if op.tries("tries", false) < 2 => skip("not today"),
            "tries" if op.tries("tries", false) < 2 => retry("not yet"),
            "looks" => {
                let line = format!("{} {:?}", op.tries("tries", false), op.skipped());
                op.state.push(line);
                done()
            }
            _ => done(),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_sees_how_often_another_was_tried_and_which_are_skipped() {
    let builder = TestEngine::plan(Arc::new(MemoryStore::new()), Arc::new(VirtualClock::seeded(9)));
    let plan = Plan::new(OnFailure::Leave).step(1, Earlier("skips")).step(2, Earlier("looks"));
    let test_engine = TestEngine::open(builder.workflow(plan.step(3, Earlier("tries"))), None).await;
    let id = test_engine.submit("test.looks_back", None, json!(null)).await;
    let ended = test_engine.finished(id).await;
    let expected = [r#"0 ["skips"]"#, r#"1 ["skips"]"#, "2 []"];
    assert_eq!(ended.memory.state, json!(expected), "the third time the first step is done");
}
