//! The example of `docs/guide/add-a-step.md`: the text of the guide is the code that is built and run here.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::world::Drivers;
use ::demo::workflows::hello::{self, Hello};
use async_trait::async_trait;
use engine::{Body, Effect, Operation, Outcome, Phase, Plan, Step, done, named, wait};
use serde_json::json;
use testing::workflow_test::{self, WorkflowTest};

use crate::hello_test::HelloTest;
use crate::hello_world;

const GUIDE: &str = include_str!("../../../../docs/guide/add-a-step.md");
const STEP: &str = include_str!("hello_world.rs");
const TABLE: &str = include_str!("../../../products/demo/src/workflows/hello/mod.rs");

/// The weight in the guide's line.
const WEIGHT: u16 = 15;

/// The texts of all Rust blocks of a guide, in order.
fn blocks(guide: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in guide.lines() {
        match (is_open, line) {
            (false, "```rust") => blocks.push(String::new()),
            (true, "```") => {}
            (true, _) => {
                let block = blocks.last_mut().unwrap();
                block.push_str(line);
                block.push('\n');
                continue;
            }
            (false, _) => continue,
        }
        is_open = !is_open;
    }
    blocks
}

/// The lines that are there with and without the example, so that following the guide breaks no test.
fn without_the_example(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains("hello_world"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn the_guide_shows_the_file_the_mod_line_and_the_table_line() {
    let blocks = blocks(GUIDE);
    assert_eq!(blocks.len(), 3, "the step, the mod lines, the table");
    assert_eq!(
        blocks[0], STEP,
        "docs/guide/add-a-step.md and crates/provision-engine/tests/workflows/hello_world.rs are the same text"
    );
    let added = [
        "mod hello_world;".to_owned(),
        format!("        .step({WEIGHT}, hello_world::HelloWorld::new(greeter))"),
    ];
    for (block, added) in blocks[1..].iter().zip(added) {
        assert!(block.lines().any(|line| line == added), "{added:?} is not in\n{block}");
        let rest = without_the_example(block);
        assert!(
            without_the_example(TABLE).contains(&rest),
            "src/workflows/hello/mod.rs has no longer\n{rest}"
        );
    }
}

#[test]
fn the_guide_to_products_shows_what_the_example_has() {
    let files = [
        include_str!("../../../../examples/own-product/src/main.rs"),
        include_str!("../../../../examples/own-product/src/lib.rs"),
        include_str!("../../../../examples/own-product/src/order.rs"),
        include_str!("../../../../examples/own-product/tests/it.rs"),
    ];
    let blocks = blocks(include_str!("../../../../docs/guide/own-product.md"));
    assert!(blocks.len() > 10, "the guide shows the code");
    for block in blocks {
        assert!(
            files.iter().any(|file| file.contains(&block)),
            "no file of examples/own-product has\n{block}"
        );
    }
}

/// The table with the guide's line in it.
fn with_the_step(drivers: &Drivers) -> Plan<Hello> {
    let plan = hello::plan(&drivers.greeter);
    if plan.describe().iter().any(|info| info.name == "hello_world") {
        // A client has followed the guide.
        return plan;
    }
    plan.insert(WEIGHT, hello_world::HelloWorld::new(&drivers.greeter))
}

#[tokio::test]
async fn the_plan_with_the_step_passes_all_workflow_tests() {
    workflow_test::check_all(&HelloTest::of(with_the_step).await).await;
}

/// Sends the operation through three more passes.
struct Again(Arc<AtomicU32>);

#[async_trait]
impl Step<Hello> for Again {
    named!("again", "Going through all steps again");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, _op: &mut Operation<Hello>) -> Outcome {
        if self.0.fetch_add(1, Ordering::SeqCst) < 3 { wait(Duration::ZERO, "once more") } else { done() }
    }
}

#[tokio::test]
async fn it_asks_once_but_its_overrides_are_there_on_every_pass() {
    let workflow_test = HelloTest::of(with_the_step).await;
    let passes = Arc::new(AtomicU32::new(0));
    // After the letter took the overrides, so that every pass has to bring them again.
    let plan = workflow_test.plan().insert(45, Again(Arc::clone(&passes)));
    let test_engine = workflow_test.test_engine(plan).await;
    let id = test_engine.submit("demo.hello", None, json!({"name": "Ada"})).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!(passes.load(Ordering::SeqCst), 4);
    assert_eq!(
        ended.memory.state["letter"],
        "hello.greeting.text: Hello, Ada!\nhello.greeting.token: (enclosed)\n\
         letter.greeting.text: Hello, Ada!\nletter.greeting.token: (enclosed)"
    );
    let counts = json!({"greeter/greet": {"made": 2, "taken_back": 0, "standing": 2, "repeats": 0}});
    assert_eq!(
        workflow_test.world.get("/ledger/summary").await,
        counts,
        "one greeting of each step, asked for once"
    );
    let fact = &ended.memory.facts["hello_world.greeting"];
    assert_eq!(fact["text"], "Hello, Ada!");
    assert!(fact["token"].as_str().unwrap().starts_with("sealed:"), "{fact}");
}

#[tokio::test]
async fn a_greeter_that_breaks_for_it_is_asked_again() {
    let workflow_test = HelloTest::of(with_the_step).await;
    // The first call belongs to the step before.
    workflow_test.world.fault(&json!({"system": "greeter", "kind": "error", "after": 1})).await;
    workflow_test.world.fault(&json!({"system": "greeter", "kind": "drop_after", "after": 2})).await;
    let test_engine = workflow_test.test_engine(workflow_test.plan()).await;
    let id = test_engine.submit("demo.hello", None, json!({})).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let journal = test_engine.journal(id).await;
    let retried: Vec<&str> = journal
        .iter()
        .filter_map(|event| match &event.body {
            Body::Retried { step, .. } => Some(step.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(retried, ["hello_world", "hello_world"]);
    assert_eq!(workflow_test.standing().await.len(), 2);
}

#[tokio::test]
async fn what_it_made_is_taken_back_when_a_later_step_fails() {
    let workflow_test = HelloTest::of(with_the_step).await;
    let test_engine = workflow_test.test_engine(workflow_test.plan()).await;
    let id = test_engine.submit("demo.hello", None, json!({"fail": true})).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Undone);
    assert!(ended.memory.undone.contains("hello_world"), "{:?}", ended.memory.undone);
    let counts = json!({"greeter/greet": {"made": 2, "taken_back": 2, "standing": 0, "repeats": 0}});
    assert_eq!(workflow_test.world.get("/ledger/summary").await, counts);
}

#[tokio::test]
async fn too_high_a_weight_fails_the_operation_with_the_reason() {
    let workflow_test = HelloTest::of(with_the_step).await;
    let plan = hello::plan(&workflow_test.drivers.greeter);
    if plan.describe().iter().any(|info| info.name == "hello_world") {
        // A client has followed the guide, and its line is not at the end of the table.
        return;
    }
    let test_engine = workflow_test
        .test_engine(plan.insert(60, hello_world::HelloWorld::new(&workflow_test.drivers.greeter)))
        .await;
    let id = test_engine.submit("demo.hello", None, json!({})).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Undone);
    let error = ended.memory.last_error.unwrap();
    assert_eq!(error.step, "hello_world");
    assert!(error.cause.as_str().contains("overrides for hello come after the step that takes them"));
    assert!(workflow_test.standing().await.is_empty());
}
