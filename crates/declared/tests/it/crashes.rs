//! The workflow tests of the engine over a declared workflow, and answers that are lost at every call.

use async_trait::async_trait;
use declared::DeclaredWorkflow;
use engine::{Phase, PhaseVerb, Plan};
use serde_json::{Value, json};
use std::sync::Arc;
use testing::TestEngine;
use testing::workflow_test::{self, WorkflowTest};

use crate::service::{Instead, SECRET, StepService, declaration, front, parse, plan};

struct OverHttp(StepService);

#[async_trait]
impl WorkflowTest for OverHttp {
    type Workflow = DeclaredWorkflow;

    fn plan(&self) -> Plan<DeclaredWorkflow> {
        plan(&self.0)
    }

    fn params(&self) -> Value {
        json!({"team": "red", "size": "large", "password": "hunter2"})
    }

    async fn standing(&self) -> Vec<String> {
        self.0.standing()
    }

    async fn clear(&self) {
        *self.0.ledger.lock().unwrap() = crate::service::CallLedger::default();
    }
}

/// Every step twice, every undo twice, a failure at every step, and a kill before and after every save.
#[tokio::test]
async fn a_declared_workflow_passes_all_workflow_tests() {
    let over_http = OverHttp(StepService::start().await);
    workflow_test::check_all(&over_http).await;
}

/// The answer of each call in turn is lost, after the work and before it: one effect for each step in the end.
#[tokio::test]
async fn an_answer_that_is_lost_at_any_call_doubles_nothing() {
    let steps = ["reserve", "look", "create", "grow", "finish"];
    for lost in steps {
        for instead in [Instead::DoAndCut, Instead::Cut, Instead::Hang, Instead::Status(502, "")] {
            let service = StepService::start().await;
            let text = declaration(&service.url).replace("title:", "timeout: 300ms, title:");
            let text = text.replacen("timeout: 300ms, title: Database", "title: Database", 1);
            let text = text.replace("timeout: 300ms, sees", "sees");
            let plan = compile_quick(&text);
            service.next(lost, instead);
            let test_engine = TestEngine::open(TestEngine::plan(store(), clock()).workflow(plan), None).await;
            let id = test_engine.submit("acme.database", None, params()).await;
            let ended = test_engine.finished(id).await;
            assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{lost}: {:?}", ended.memory.last_error);
            assert_eq!(service.made(), ["reserve", "create", "grow", "finish"], "{lost}");
            let keys: Vec<Value> = service
                .calls()
                .iter()
                .filter(|call| call["step"] == lost)
                .map(|call| call["idempotency_key"].clone())
                .collect();
            assert_eq!((keys.len(), &keys[0]), (2, &keys[1]), "the same key for each attempt of {lost}");
            test_engine.close().await;
        }
    }
}

/// The answer to each undo is lost once: nothing stands in the end.
#[tokio::test]
async fn an_answer_to_undo_that_is_lost_leaves_nothing() {
    for lost in ["reserve", "create", "grow"] {
        let service = StepService::start().await;
        let test_engine =
            TestEngine::open(TestEngine::plan(store(), clock()).workflow(plan(&service)), None).await;
        service.next("finish", Instead::Answer(json!({"outcome": "fail", "reason": "no room"})));
        service.next(&format!("undo {lost}"), Instead::DoAndCut);
        let id = test_engine.submit("acme.database", None, params()).await;
        let ended = test_engine.finished(id).await;
        assert_eq!(ended.shown.summary.phase, Phase::Undone, "{lost}");
        assert!(service.standing().is_empty(), "{lost} left {:?}", service.standing());
        test_engine.close().await;
    }
}

fn params() -> Value {
    json!({"team": "red", "size": "large", "password": "hunter2"})
}

fn store() -> Arc<dyn engine::store::Store> {
    Arc::new(engine::store::MemoryStore::new())
}

fn clock() -> Arc<dyn engine::Clock> {
    Arc::new(engine::WallClock)
}

fn compile_quick(text: &str) -> Plan<DeclaredWorkflow> {
    declared::compile(parse(text), 1, &front(), SECRET.into())
}

/// A call that may not be repeated waits for a person when its answer is lost; a call that never left does not.
#[tokio::test]
async fn what_must_happen_once_waits_for_a_person_when_its_answer_is_lost() {
    let text =
        |url: &str| declaration(url).replace("timeout: 300ms, sees", "effect: once, timeout: 300ms, sees");
    for (instead, is_unknown) in [
        (Instead::DoAndCut, true),
        (Instead::Hang, true),
        (Instead::Status(500, ""), true),
        (Instead::Bytes(b"nonsense".to_vec()), true),
        (Instead::RetryAfter(0), false),
        (Instead::Status(429, ""), false),
    ] {
        let service = StepService::start().await;
        service.next("create", instead);
        let test_engine = TestEngine::open(
            TestEngine::plan(store(), clock()).workflow(compile_quick(&text(&service.url))),
            None,
        )
        .await;
        let id = test_engine.submit("acme.database", None, params()).await;
        let rests = test_engine.until(id, |phase| phase == Phase::Stuck || phase.is_final()).await;
        if is_unknown {
            assert_eq!(rests.shown.summary.phase, Phase::Stuck);
            let cause = rests.memory.stuck.unwrap().cause.to_string();
            assert!(cause.contains("unknown whether create happened"), "{cause}");
            assert_eq!(
                service.trace().iter().filter(|line| *line == "run create").count(),
                1,
                "never by itself"
            );
            test_engine.engine.ask(id, PhaseVerb::Retry, "ann", "it did not happen").await.unwrap();
        }
        assert_eq!(test_engine.finished(id).await.shown.summary.phase, Phase::Succeeded);
        test_engine.close().await;
    }
}
