//! What a declared step costs: no save beyond those of a step that is compiled, and one call on a kept connection.

use std::sync::Arc;

use declared::{DeclaredWorkflow, compile};
use engine::prelude::*;
use engine::store::MemoryStore;
use engine::{Plan, WallClock};
use serde_json::json;
use testing::TestEngine;

use crate::service::{SECRET, StepService, front, parse};

struct BuiltIn;

impl Workflow for BuiltIn {
    const KIND: &'static str = "test.built_in";
    const ABOUT: &'static str = "Saves a fact in each step.";
    type Params = serde_json::Value;
    type State = ();
    type Input = ();
}

#[derive(Serialize, Deserialize)]
struct MadeId<const N: usize> {
    id: String,
}

impl<const N: usize> Fact for MadeId<N> {
    const KEY: &'static str = ["made.0", "made.1", "made.2"][N];
}

struct Make<const N: usize>;

#[async_trait]
impl<const N: usize> Step<BuiltIn> for Make<N> {
    fn name(&self) -> &'static str {
        ["zero", "one", "two"][N]
    }

    fn title(&self) -> &'static str {
        "Making something"
    }

    async fn run(&self, op: &mut Operation<BuiltIn>) -> Outcome {
        op.remember(&MadeId::<N> { id: op.idempotency_key("make") })?;
        done()
    }
}

/// Each save appends one event to the journal.
async fn saves(test_engine: &TestEngine, workflow: &str) -> usize {
    let id = test_engine.submit(workflow, None, json!({})).await;
    test_engine.finished(id).await;
    test_engine.engine.journal(id, 0, 1000).await.unwrap().len()
}

#[tokio::test]
async fn a_declared_step_saves_as_often_as_a_built_in_one() {
    let service = StepService::start().await;
    let steps: Vec<String> = ["zero", "one", "two"]
        .iter()
        .enumerate()
        .map(|(at, name)| {
            format!("{{name: {name}, weight: {}, title: Making, url: {name}, undo: undo/{name}}}", at + 1)
        })
        .collect();
    let text = format!(
        "{{workflow: test.declared, title: x, base_url: '{}', steps: [{}]}}",
        service.url,
        steps.join(", ")
    );
    let declared: Plan<DeclaredWorkflow> = compile(parse(&text), 1, &front(), SECRET.into());
    let built_in =
        Plan::<BuiltIn>::new(OnFailure::Unwind).step(1, Make::<0>).step(2, Make::<1>).step(3, Make::<2>);
    let builder = TestEngine::plan(Arc::new(MemoryStore::new()), Arc::new(WallClock));
    let test_engine = TestEngine::open(builder.workflow(declared).workflow(built_in), None).await;
    let expected = saves(&test_engine, "test.built_in").await;
    assert_eq!(saves(&test_engine, "test.declared").await, expected);
    assert_eq!(service.calls().len(), 3, "one call for each step");
    test_engine.close().await;
}
