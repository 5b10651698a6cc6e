//! `demo.hello` as it is.

use ::demo::workflows::hello;
use engine::Phase;
use serde_json::json;
use testing::workflow_test::{self, WorkflowTest};

use crate::hello_test::HelloTest;

#[tokio::test]
async fn passes_all_workflow_tests() {
    workflow_test::check_all(&HelloTest::of(|drivers| hello::plan(&drivers.greeter)).await).await;
}

#[tokio::test]
async fn a_greeter_that_breaks_and_loses_answers_is_greeted_once() {
    let workflow_test = HelloTest::of(|drivers| hello::plan(&drivers.greeter)).await;
    workflow_test.world.fault(&json!({"system": "greeter", "kind": "error", "times": 2})).await;
    workflow_test.world.fault(&json!({"system": "greeter", "kind": "drop_after", "after": 2})).await;
    let test_engine = workflow_test.test_engine(workflow_test.plan()).await;
    let id = test_engine.submit("demo.hello", None, json!({"name": "Ada"})).await;
    let ended = test_engine.finished(id).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!(test_engine.kinds(id).await, "created retried retried retried finished");
    assert_eq!(workflow_test.standing().await.len(), 1);
}

#[tokio::test]
async fn the_secret_of_the_greeter_is_sealed_everywhere() {
    let workflow_test = HelloTest::of(|drivers| hello::plan(&drivers.greeter)).await;
    let test_engine = workflow_test.test_engine(workflow_test.plan()).await;
    let id = test_engine.submit("demo.hello", None, json!({"name": "Ada", "wait_ms": 5})).await;
    let ended = test_engine.finished(id).await;
    let token = workflow_test.standing().await.pop().unwrap();
    let answer = workflow_test.drivers.greeter.find(&token).await.unwrap().unwrap();
    let secret = engine::secret::ExposeSecret::expose_secret(&answer.token).to_owned();
    let all = format!("{:?} {:?} {:?}", ended.shown, ended.memory, test_engine.journal(id).await);
    assert!(!all.contains(&secret), "the secret is in the store");
    assert!(all.contains("sealed:1:k1:"));
    let letter = ended.memory.state["letter"].as_str().unwrap().to_owned();
    assert_eq!(letter, "letter.greeting.text: Hello, Ada!\nletter.greeting.token: (enclosed)");
}

#[tokio::test]
async fn bad_params_are_refused_with_the_field() {
    let workflow_test = HelloTest::of(|drivers| hello::plan(&drivers.greeter)).await;
    let test_engine = workflow_test.test_engine(workflow_test.plan()).await;
    for (params, part) in [
        (json!({"nome": "x"}), "unknown field `nome`"),
        (json!({"name": ""}), "name must have 1 to 200 characters"),
        (json!({"wait_ms": -1}), "wait_ms"),
        (json!({"wait_ms": 100_000_000_000_u64}), "wait_ms must be at most"),
        (json!([1]), "invalid type"),
    ] {
        let command = engine::Command {
            name: None,
            workflow: "demo.hello".into(),
            tenant: "t".into(),
            resource: None,
            params,
            by: "t".into(),
            idempotency_key: None,
            queue: false,
        };
        let error = test_engine.engine.submit_json(command).await.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
