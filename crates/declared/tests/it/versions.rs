//! Versions in the database: replicas, pruning, a change in the middle of many operations.

use std::sync::Arc;
use std::time::Duration;

use declared::{Declarations, DeclareError, Reach, Source, StepClient};
use engine::store::{Expect, RecordUpdate};
use engine::{Phase, SubmitError, WallClock};
use serde_json::{Value, json};
use testing::TestEngine;

use crate::service::{Instead, SECRET, StepService, declaration, declare, world};

#[tokio::test]
async fn a_hundred_operations_end_with_their_own_versions_through_a_change_and_a_rollback() {
    let (test_engine, declarations, _) = world().await;
    let service = StepService::start().await;
    let first = declaration(&service.url);
    let second = first.replace("name: create,", "name: build,").replace("has create.key", "has build.key");
    let mut ids = Vec::new();
    for (version, text) in [(1, &first), (2, &second), (3, &first)] {
        assert_eq!(declare(&declarations, text).await.version, version);
        assert!(!declare(&declarations, text).await.is_new, "the same content again");
        for number in 0..34 {
            for step in ["create", "build"] {
                service.next(step, Instead::Answer(json!({"outcome": "wait", "after": "30ms"})));
            }
            let team: String = format!("team{version}{number}")
                .chars()
                .map(|c| if c.is_ascii_digit() { char::from(b'a' + c as u8 - b'0') } else { c })
                .collect();
            ids.push((version, test_engine.submit("acme.database", None, json!({"team": team})).await));
        }
    }
    for (version, id) in ids {
        let ended = test_engine.finished(id).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
        assert_eq!(ended.memory.version(), Some(version));
        assert_eq!(ended.memory.done.contains("build"), version == 2, "{version}");
    }
    for call in service.calls() {
        let version = call["operation"]["workflow_version"].as_u64().unwrap();
        assert!(call["step"] != "build" || version == 2, "{call}");
        assert!(call["step"] != "create" || version != 2, "{call}");
    }
    test_engine.close().await;
}

/// The first release named the content of a version by its number alone.
#[tokio::test]
async fn a_version_that_the_first_release_saved_is_still_found() {
    let (test_engine, declarations, store) = world().await;
    let service = StepService::start().await;
    declare(&declarations, &declaration(&service.url)).await;
    let digest = declarations.get("acme.database").unwrap().head.line(1).unwrap().digest.clone();
    let place = format!("workflow:acme.database@1-{}", &digest[..16]);
    let row = test_engine.engine.resource(&place).await.unwrap().unwrap();
    let update = |gone_at| RecordUpdate {
        kind: row.kind.clone(),
        record: row.record.clone(),
        labels: Vec::new(),
        gone_at,
        due_at: None,
    };
    let first = test_engine.engine.write_resource(
        "workflow:acme.database@1",
        &row.tenant,
        Expect::Absent,
        Some(update(None)),
    );
    assert!(first.await.unwrap());
    let gone = Some(update(Some(test_engine.engine.now())));
    let moved = test_engine.engine.write_resource(&place, &row.tenant, Expect::Version(row.version), gone);
    assert!(moved.await.unwrap());
    let other = TestEngine::open(TestEngine::plan(store, Arc::new(WallClock)), None).await;
    let others = Declarations::new(other.engine.clone(), StepClient::new(Reach::default()).unwrap());
    others.read_changes().await.unwrap();
    let id = other.submit("acme.database", None, json!({"team": "red"})).await;
    assert_eq!(other.finished(id).await.shown.summary.phase, Phase::Succeeded);
    other.close().await;
    test_engine.close().await;
}

#[tokio::test]
async fn a_replica_learns_of_a_declaration_through_the_database() {
    let (test_engine, declarations, store) = world().await;
    let service = StepService::start().await;
    let other = TestEngine::open(TestEngine::plan(store, Arc::new(WallClock)), None).await;
    let client = StepClient::new(Reach::default()).unwrap();
    let others = Declarations::new(other.engine.clone(), client);
    assert!(other.engine.workflow("acme.database").is_none());
    declare(&declarations, &declaration(&service.url)).await;
    others.read_changes().await.unwrap();
    let id = other.submit("acme.database", None, json!({"team": "red"})).await;
    assert_eq!(other.finished(id).await.shown.summary.phase, Phase::Succeeded);
    declarations.withdraw("acme.database", "ann", &Source::Api).await.unwrap();
    others.read_changes().await.unwrap();
    let command = engine::Command {
        name: None,
        workflow: "acme.database".into(),
        tenant: "t".into(),
        resource: None,
        params: Value::Null,
        by: "ann".into(),
        idempotency_key: None,
        queue: false,
    };
    let refused = other.engine.submit_json(command).await;
    assert!(matches!(refused, Err(SubmitError::UnknownWorkflow { .. })), "{refused:?}");
    other.close().await;
    test_engine.close().await;
}

#[tokio::test]
async fn a_version_stays_while_replicas_may_not_have_read_that_it_was_withdrawn() {
    let (test_engine, declarations, store) = world().await;
    let service = StepService::start().await;
    declare(&declarations, &declaration(&service.url)).await;
    let other = TestEngine::open(TestEngine::plan(store, Arc::new(WallClock)), None).await;
    let others = Declarations::new(other.engine.clone(), StepClient::new(Reach::default()).unwrap());
    others.read_changes().await.unwrap();
    declarations.withdraw("acme.database", "ann", &Source::Api).await.unwrap();
    let id = other.submit("acme.database", None, json!({"team": "red"})).await;
    others.read_changes().await.unwrap();
    for replica in [&test_engine, &other] {
        assert!(replica.engine.workflow("acme.database").is_none(), "nothing else begins");
        assert!(replica.engine.workflow_version("acme.database", Some(1)).is_some(), "an operation needs it");
    }
    assert_eq!(test_engine.finished(id).await.shown.summary.phase, Phase::Succeeded);
    other.close().await;
    test_engine.close().await;
}

#[tokio::test]
async fn old_versions_are_forgotten_unless_an_operation_needs_them() {
    let (test_engine, declarations, _) = world().await;
    let service = StepService::start().await;
    let text =
        |number: u32| declaration(&service.url).replace("deadline: 2h", &format!("deadline: {number}h"));
    for number in 1..=40 {
        declare(&declarations, &text(number)).await;
    }
    let head = declarations.get("acme.database").unwrap().head;
    assert_eq!(head.offered, Some(40));
    assert_eq!(head.versions.len(), 11, "the last ten for people, and the one in force");
    assert!(declarations.version("acme.database", 1).await.unwrap().is_none());
    assert!(declarations.version("acme.database", 39).await.unwrap().is_some());
    assert!(test_engine.engine.workflow_version("acme.database", Some(1)).is_none());
    let id = test_engine.submit("acme.database", None, json!({"team": "red"})).await;
    test_engine.finished(id).await;
    for number in 41..=60 {
        declare(&declarations, &text(number)).await;
    }
    let versions: Vec<u32> =
        declarations.get("acme.database").unwrap().head.versions.iter().map(|v| v.version).collect();
    assert!(versions.contains(&40), "an operation that can be started again needs it: {versions:?}");
    test_engine.close().await;
}

#[tokio::test]
async fn params_are_checked_completed_and_never_repeated() {
    let (test_engine, declarations, _) = world().await;
    let service = StepService::start().await;
    declare(&declarations, &declaration(&service.url)).await;
    let submit = async |params: Value, resource: Option<&str>| {
        let command = engine::Command {
            name: None,
            workflow: "acme.database".into(),
            tenant: "default".into(),
            resource: resource.map(str::to_owned),
            params,
            by: "ann".into(),
            idempotency_key: None,
            queue: false,
        };
        test_engine.engine.submit_json(command).await.map_err(|error| error.to_string())
    };
    for (params, part) in [
        (json!({"size": "small"}), "team is needed"),
        (json!({"team": "RED"}), "team"),
        (json!({"team": "red", "size": "huge"}), "size"),
        (json!({"team": "red", "colour": "x"}), "colour"),
        (json!({"team": "red", "password": 7}), "password"),
        (json!([]), "object"),
    ] {
        let error = submit(params, None).await.unwrap_err();
        assert!(error.contains(part), "{part}: {error}");
    }
    let error = submit(json!({"team": "re", "password": ["hunter2"]}), None).await.unwrap_err();
    assert!(!error.contains("hunter2"), "{error}");
    let error = submit(json!({"team": "red"}), Some("database:blue")).await.unwrap_err();
    assert!(error.contains("database:red"), "{error}");
    let calls = declarations.dry_run("acme.database", "default", &json!({"team": "red"})).await.unwrap();
    let steps: Vec<&str> = calls.iter().map(|call| call.step.as_str()).collect();
    assert_eq!(steps, ["reserve", "look", "create", "finish"], "size is small, and finish depends on a fact");
    assert_eq!(calls[3].depends_on.as_deref(), Some("create"));
    assert!(service.calls().is_empty(), "a dry run calls nothing");
    test_engine.close().await;
}

#[tokio::test]
async fn an_operation_has_the_name_in_its_params_unless_that_is_secret() {
    let (test_engine, declarations, _) = world().await;
    let service = StepService::start().await;
    let text = declaration(&service.url);
    for (kind, name) in [("type: string", Some("red-1")), ("type: string, writeOnly: true", None)] {
        declare(
            &declarations,
            &text.replace("  properties:", &format!("  properties:\n    name: {{{kind}}}")),
        )
        .await;
        let id = test_engine.submit("acme.database", None, json!({"team": "red", "name": "red-1"})).await;
        let shown = test_engine.finished(id).await.shown;
        assert_eq!(shown.summary.name.as_deref(), name, "{kind}");
    }
    test_engine.close().await;
}

#[tokio::test]
async fn sources_do_not_change_each_others_workflows_and_a_new_secret_is_no_new_version() {
    let (test_engine, declarations, _) = world().await;
    let service = StepService::start().await;
    let declaration = declarations.check(&declaration(&service.url)).unwrap();
    let missing = declarations.declare(&declaration, None, "ann", &Source::Api).await.unwrap_err();
    assert!(missing.to_string().contains("secret is missing"), "{missing}");
    let file = Source::File("a.yaml".into());
    declarations.declare(&declaration, Some(SECRET.into()), "file a.yaml", &file).await.unwrap();
    let refused = declarations.declare(&declaration, None, "ann", &Source::Api).await.unwrap_err();
    assert!(matches!(&refused, DeclareError::Conflict(why) if why.contains("a.yaml")), "{refused}");
    let again =
        declarations.declare(&declaration, Some("x".repeat(32).into()), "file a.yaml", &file).await.unwrap();
    assert_eq!((again.version, again.is_new), (1, false));
    let refused = declarations.withdraw("acme.database", "ann", &Source::Api).await.unwrap_err();
    assert!(refused.to_string().contains("a.yaml"), "{refused}");
    tokio::time::sleep(Duration::from_millis(1)).await;
    test_engine.close().await;
}
