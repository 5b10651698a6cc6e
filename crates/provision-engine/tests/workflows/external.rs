//! Steps that a service of another client does, from the list to the runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::world::Drivers;
use ::runtimes::model::override_source::{OverrideFiles, OverrideObjects, OverrideSource};
use ::runtimes::model::{InstanceRecord, RuntimesSettings, seal_json};
use ::runtimes::workflows::external::ExternalSteps;
use ::runtimes::workflows::{deprovision, provision, update};
use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use engine::store::MemoryStore;
use engine::{DryRun, Inspection, OperationId, Phase, Resource, WallClock};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use testing::TestEngine;
use testing::workflow_test::{self, WorkflowTest};

use crate::runtime_greeting::provision_with_greeting;
use crate::runtime_test::{Before, RuntimeTest, instance, read, write};

const SECRET: &str = "s3cret-0123456789abcdef0123456789abcdef";
const CANARY: &str = "c4n4ry-92be";

type Calls = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

/// A service that answers as it is told, with the number of the call and what was said.
struct ScriptedService {
    url: String,
    calls: Calls,
}

impl ScriptedService {
    async fn start(
        answer: impl Fn(usize, &Value) -> (u16, String) + Clone + Send + Sync + 'static,
    ) -> ScriptedService {
        let calls = Calls::default();
        let seen = Arc::clone(&calls);
        let router = Router::new().fallback(move |headers: HeaderMap, body: String| async move {
            let call: Value = serde_json::from_str(&body).unwrap();
            let mut seen = seen.lock().unwrap();
            let (status, text) = answer(seen.len(), &call);
            seen.push((headers, call));
            (StatusCode::from_u16(status).unwrap(), text)
        });
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        ScriptedService { url, calls }
    }

    fn calls(&self) -> Vec<(HeaderMap, Value)> {
        self.calls.lock().unwrap().clone()
    }

    /// This step in this workflow, with more fields or none.
    fn steps(&self, workflow: &str, weight: u16, more: &str) -> Arc<ExternalSteps> {
        let list = format!(
            "[{{name: motto, workflow: {workflow}, weight: {weight}, url: \"{}\", secret_file: secret.txt, \
             budget: 1s{more}}}]",
            self.url
        );
        Arc::new(load(&list).unwrap())
    }
}

fn load(list: &str) -> Result<ExternalSteps, String> {
    load_with(list, &drivers())
}

/// The same with everything that configuration can add to a plan.
pub(crate) fn with_all_steps(dir: &Path) -> Drivers {
    let mut drivers = drivers();
    let cluster = drivers.clusters.open(&KUBECONFIG.into()).unwrap();
    let objects = OverrideObjects::new(cluster, "kcp-system".into(), Arc::new(WallClock));
    let override_sources: Vec<Arc<dyn OverrideSource>> =
        vec![Arc::new(OverrideFiles::open(dir).unwrap()), Arc::new(objects)];
    drivers.override_sources = override_sources;
    drivers
}

/// Of a cluster that is never called.
const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\ncurrent-context: here\n\
    contexts: [{name: here, context: {cluster: there, user: me}}]\n\
    clusters: [{name: there, cluster: {server: 'http://127.0.0.1:1'}}]\n\
    users: [{name: me, user: {token: none}}]\n";

/// Drivers that are connected to nothing.
fn drivers() -> Drivers {
    let second = Duration::from_secs(1);
    Drivers::at("http://127.0.0.1:1", second, RuntimesSettings::default(), Arc::new(MemoryStore::new()))
}

fn load_with(list: &str, drivers: &Drivers) -> Result<ExternalSteps, String> {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("secret.txt"), format!("{SECRET}\n")).unwrap();
    std::fs::write(dir.path().join("short.txt"), &SECRET[..31]).unwrap();
    std::fs::write(dir.path().join("steps.yaml"), list).unwrap();
    ExternalSteps::load(&dir.path().join("steps.yaml"), drivers)
}

fn params(instance: &str, _runtime: &str) -> Value {
    json!({"instance_id": instance})
}

async fn provisioning(
    service: &ScriptedService,
    weight: u16,
    more: &str,
) -> RuntimeTest<provision::Provision> {
    let mut workflow_test = RuntimeTest::of(provision_with_greeting, Before::Asked, params).await;
    workflow_test.drivers.external = service.steps("runtime.provision", weight, more);
    workflow_test
}

async fn run<W: engine::Workflow>(
    workflow_test: &RuntimeTest<W>,
    test_engine: &TestEngine,
) -> (OperationId, Inspection) {
    workflow_test.prepare(&test_engine.engine).await;
    let id = test_engine.submit(W::KIND, workflow_test.resource().as_deref(), workflow_test.params()).await;
    (id, test_engine.finished(id).await)
}

/// What the Provisioner got for a component, or for all of them, with the values of secrets.
async fn configuration(
    workflow_test: &RuntimeTest<provision::Provision>,
    component: Option<&str>,
) -> BTreeMap<String, Value> {
    let runtimes = workflow_test.world.get("/provisioner/runtimes?reveal=true").await;
    let kyma = &runtimes["runtimes"][0]["input"]["kymaConfig"];
    let entries = match component {
        None => &kyma["configuration"],
        Some(name) => {
            let all = kyma["components"].as_array().unwrap();
            &all.iter().find(|one| one["component"] == name).unwrap()["configuration"]
        }
    };
    let entry = |entry: &Value| {
        let secret = entry["secret"] == json!(true);
        (entry["key"].as_str().unwrap().to_owned(), json!([entry["value"], secret]))
    };
    entries.as_array().unwrap().iter().map(entry).collect()
}

fn motto() -> String {
    json!({"outcome": "done", "overrides": [{"component": "hello", "key": "motto", "value": "onward"}]})
        .to_string()
}

#[tokio::test]
async fn provisioning_with_an_external_step_passes_all_workflow_tests() {
    let service = ScriptedService::start(|_, _| (200, motto())).await;
    workflow_test::check_all(&provisioning(&service, 4, "").await).await;
    let mut keys: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (headers, call) in service.calls() {
        let key = headers["idempotency-key"].to_str().unwrap().to_owned();
        assert_eq!(call["operation"]["token"], key.as_str());
        keys.entry(call["operation"]["id"].to_string()).or_default().insert(key);
    }
    assert!(keys.len() > 10, "{}", keys.len());
    assert!(service.calls().len() > keys.len(), "a client died between the answer and the save");
    assert!(keys.values().all(|keys| keys.len() == 1), "one key per operation, also after a death");
}

#[tokio::test]
async fn its_answer_is_kept_sealed_and_reaches_the_runtime_and_no_one_asks_twice() {
    let service = ScriptedService::start(|number, _| {
        let answer = match number {
            0 => json!({"outcome": "wait", "after_seconds": 0, "reason": "thinking",
                        "facts": {"begun": [1, null]}, "secret_facts": {"session": CANARY}}),
            1 => json!({"outcome": "wait", "after_seconds": 0}),
            _ => json!({"outcome": "done", "facts": {"ended": true}, "overrides": [
                {"component": "hello", "key": "motto", "value": "onward", "set": true},
                {"component": "hello", "key": "key", "value": format!("{CANARY}-key"), "secret": true},
                {"component": null, "key": "everywhere", "value": "yes"},
            ]}),
        };
        (200, answer.to_string())
    });
    let service = service.await;
    // At 5 after hello_world, whose overrides for the same component it replaces.
    let workflow_test = provisioning(&service, 5, "").await;
    let test_engine = workflow_test.test_engine().await;
    let (id, ended) = run(&workflow_test, &test_engine).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);

    let calls: Vec<Value> = service.calls().into_iter().map(|(_, call)| call).collect();
    assert_eq!(calls.len(), 3, "asked until it was done, and in no later pass");
    assert_eq!((&calls[0]["facts"], calls[0].get("secret_facts")), (&json!({}), None));
    for call in &calls[1..] {
        assert_eq!(call["facts"], json!({"begun": [1, null]}), "facts stay when an answer brings none");
        assert_eq!(call["secret_facts"], json!({"session": CANARY}));
    }
    assert_eq!(calls[0]["operation"]["id"], id.to_string());
    assert_eq!(calls[0]["operation"]["workflow"], "runtime.provision");
    let record: InstanceRecord = read(&test_engine.engine, &workflow_test.resource().unwrap()).await;
    assert_eq!(calls[0]["instance"]["shoot"], record.shoot.as_str());
    assert_eq!(calls[0]["instance"]["runtime_id"], Value::Null);
    assert!(calls.iter().all(|call| call.get("parameters").is_none() && call.get("context").is_none()));

    let hello = configuration(&workflow_test, Some("hello")).await;
    let expected = [
        ("motto".to_owned(), json!(["onward", false])),
        ("key".to_owned(), json!([format!("{CANARY}-key"), true])),
    ];
    assert_eq!(hello, BTreeMap::from(expected));
    assert_eq!(configuration(&workflow_test, None).await["everywhere"], json!(["yes", false]));

    let all = format!("{:?} {:?} {:?}", ended.shown, ended.memory, test_engine.journal(id).await);
    assert!(!all.contains(CANARY) && !all.contains(SECRET), "a secret is in the journal");
    let fact = &ended.memory.facts["motto.answer"];
    assert_eq!(fact["facts"], json!({"ended": true}));
    assert!(fact["secret_facts"]["session"].as_str().unwrap().starts_with("sealed:"), "{fact}");
    assert!(test_engine.kinds(id).await.contains("waited"), "{}", test_engine.kinds(id).await);
}

#[tokio::test]
async fn it_sees_what_users_sent_only_where_the_list_says_so() {
    for (more, parameters, context) in [
        ("", false, false),
        (", sees: [parameters]", true, false),
        (", sees: [context, parameters]", true, true),
    ] {
        let service = ScriptedService::start(|_, _| (200, motto())).await;
        let workflow_test = provisioning(&service, 4, more).await;
        let test_engine = workflow_test.test_engine().await;
        let sent = json!({"name": CANARY, "region": "westeurope"});
        let record = instance(&test_engine.engine, "i-s", sent.clone(), json!({"password": CANARY}));
        let resource = InstanceRecord::resource("i-s");
        write(&test_engine.engine, &resource, &record).await;
        let id =
            test_engine.submit("runtime.provision", Some(&resource), json!({"instance_id": "i-s"})).await;
        let ended = test_engine.finished(id).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
        let (_, call) = service.calls().remove(0);
        assert_eq!(call.get("parameters"), parameters.then_some(&sent), "{more}");
        assert_eq!(call.get("context"), context.then_some(&json!({"password": CANARY})), "{more}");
        assert_eq!(call.to_string().contains(CANARY), parameters, "{more}");
    }
}

#[tokio::test]
async fn failure_heals_within_the_budget_and_ends_with_it() {
    for (status, body, part) in [
        (500, String::new(), "external:motto is broken: 500"),
        (503, String::new(), "503"),
        (200, format!("garbage {CANARY}"), "not a JSON object"),
        (200, r#"{"outcome":"perhaps"}"#.into(), "outcome must be done, wait, retry or fail"),
        (200, r#"{"outcome":"retry","reason":"the moon is wrong"}"#.into(), "the moon is wrong"),
    ] {
        let wrong = body.clone();
        let service =
            ScriptedService::start(
                move |number, _| if number < 2 { (status, wrong.clone()) } else { (200, motto()) },
            );
        let workflow_test = provisioning(&service.await, 4, "").await;
        let test_engine = workflow_test.test_engine().await;
        let (id, ended) = run(&workflow_test, &test_engine).await;
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{body}: {:?}", ended.memory.last_error);
        let journal = format!("{:?}", test_engine.journal(id).await);
        assert!(journal.contains(part) && !journal.contains(CANARY), "{part}: {journal}");

        let wrong = body.clone();
        let service = ScriptedService::start(move |_, _| (status, wrong.clone())).await;
        let workflow_test = provisioning(&service, 4, "").await;
        let (_, ended) = run(&workflow_test, &workflow_test.test_engine().await).await;
        assert_eq!(ended.shown.summary.phase, Phase::Failed, "{body}");
        assert!(ended.shown.summary.reason.unwrap().contains(part), "{part}");
        assert!(service.calls().len() > 3, "{}", service.calls().len());
        assert_eq!(workflow_test.world.made("runtime").await, 0);
    }
}

#[tokio::test]
async fn an_error_and_a_failure_end_the_operation_at_once_and_keep_the_facts() {
    for (status, body, part) in [
        (
            422,
            json!({"reason": "no such tenant"}),
            "external:motto refused: 422 Unprocessable Entity: no such tenant",
        ),
        (
            200,
            json!({"outcome": "fail", "reason": "no quota", "facts": {"asked": 1}}),
            "external:motto: no quota",
        ),
    ] {
        let text = body.to_string();
        let service = ScriptedService::start(move |_, _| (status, text.clone())).await;
        let workflow_test = provisioning(&service, 4, "").await;
        let (_, ended) = run(&workflow_test, &workflow_test.test_engine().await).await;
        assert_eq!(ended.shown.summary.phase, Phase::Failed);
        assert!(ended.shown.summary.reason.unwrap().contains(part), "{part}");
        assert_eq!(service.calls().len(), 1);
        let facts = ended.memory.facts.get("motto.answer").map(|fact| fact["facts"].clone());
        assert_eq!(facts, body.get("facts").cloned());
    }
}

#[tokio::test]
async fn overrides_that_no_one_takes_are_ignored_and_a_fact_says_so() {
    let service = ScriptedService::start(|_, _| (200, motto())).await;
    let workflow_test = provisioning(&service, 10, "").await;
    let (_, ended) = run(&workflow_test, &workflow_test.test_engine().await).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let ignored = ended.memory.facts["motto.answer"]["ignored"].as_str().unwrap().to_owned();
    assert!(ignored.contains("1 overrides") && ignored.contains("weight 10"), "{ignored}");
    assert!(!configuration(&workflow_test, Some("hello")).await.contains_key("motto"));
    let runtime = service.calls()[0].1["instance"]["runtime_id"].clone();
    assert!(runtime.is_string(), "after create_runtime the runtime is known");

    let mut workflow_test =
        RuntimeTest::of(|drivers| deprovision::plan(drivers), Before::Ready, params).await;
    workflow_test.drivers.external = service.steps("runtime.deprovision", 3, "");
    let (_, ended) = run(&workflow_test, &workflow_test.test_engine().await).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    let ignored = ended.memory.facts["motto.answer"]["ignored"].as_str().unwrap().to_owned();
    assert!(ignored.contains("runtime.deprovision takes no overrides"), "{ignored}");
}

#[tokio::test]
async fn an_update_tells_what_is_wanted_and_takes_overrides() {
    let service = ScriptedService::start(|_, _| (200, motto())).await;
    let wanted = |instance: &str, _: &str| {
        json!({"instance_id": instance, "parameters": {
            "name": "n", "region": "westeurope", "kymaVersion": "1.25.0"}})
    };
    let mut workflow_test = RuntimeTest::of(|drivers| update::plan(drivers), Before::Ready, wanted).await;
    workflow_test.drivers.external = service.steps("runtime.update", 19, ", sees: [parameters]");
    let (_, ended) = run(&workflow_test, &workflow_test.test_engine().await).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    assert_eq!(service.calls()[0].1["parameters"]["kymaVersion"], "1.25.0");
    let sent = workflow_test.world.get("/provisioner/runtimes").await.to_string();
    assert!(sent.contains("onward"), "{sent}");
}

#[tokio::test]
async fn a_clean_up_does_not_hold_up_the_removal() {
    let service = ScriptedService::start(|_, _| (422, String::new())).await;
    let mut workflow_test =
        RuntimeTest::of(|drivers| deprovision::plan(drivers), Before::Ready, params).await;
    workflow_test.drivers.external = service.steps("runtime.deprovision", 3, ", clean_up: true");
    let test_engine = workflow_test.test_engine().await;
    workflow_test.prepare(&test_engine.engine).await;
    let id = test_engine
        .submit("runtime.deprovision", workflow_test.resource().as_deref(), workflow_test.params())
        .await;
    let mut seen = test_engine.until(id, |phase| phase == Phase::Waiting).await;
    while !seen.memory.past_the_end {
        assert!(!seen.shown.summary.phase.is_final(), "{:?}", seen.memory.last_error);
        seen = test_engine.until(id, |phase| phase == Phase::Waiting || phase.is_final()).await;
    }
    assert!(workflow_test.world.standing_of("runtime").await.is_empty());
    assert!(seen.memory.done.contains("archive"), "{:?}", seen.memory.done);
    assert!(seen.memory.skipped.contains_key("motto"), "it is listed, and tried again later");
}

#[tokio::test]
async fn a_dry_run_asks_no_one() {
    let service = ScriptedService::start(|_, _| (200, motto())).await;
    let workflow_test = provisioning(&service, 4, "").await;
    let test_engine = workflow_test.test_engine().await;
    let mut record = instance(&test_engine.engine, "i-d", json!({}), json!({}));
    let asked = DryRun {
        tenant: "test".into(),
        resource: InstanceRecord::resource("i-d"),
        params: json!({"instance_id": "i-d"}),
        clock: Arc::new(WallClock),
    };
    let plan = workflow_test.plan();
    let previewed = plan.preview(asked, |sealer| {
        record.parameters = seal_json(json!({"name": "n"}).as_object().unwrap(), sealer);
        record.context = seal_json(&Map::new(), sealer);
        record.record_update()
    });
    let previewed = previewed.await.unwrap_or_else(|error| panic!("{error}"));
    assert!(previewed.input.request.is_some());
    assert!(service.calls().is_empty());
}

#[test]
fn no_step_can_have_the_name_of_a_built_in_one() {
    let dir = TempDir::new().unwrap();
    let drivers = with_all_steps(dir.path());
    for (workflow, steps) in [
        ("runtime.provision", provision::plan(&drivers).describe()),
        ("runtime.update", update::plan(&drivers).describe()),
        ("runtime.deprovision", deprovision::plan(&drivers).describe()),
    ] {
        assert!(steps.len() > 5, "{workflow}");
        for info in steps {
            let name = info.name;
            let list = format!(
                "[{{name: {name}, workflow: {workflow}, weight: 1, url: \"https://s.example\", secret_file: secret.txt}}]"
            );
            let Err(error) = load_with(&list, &drivers) else { panic!("{workflow} takes {name}") };
            assert!(error.contains("has a step of this name already"), "{error}");
        }
    }
}

#[test]
fn a_list_whose_secret_or_address_is_wrong_is_refused() {
    let line = |rest: &str| format!("[{{name: motto, workflow: runtime.provision, weight: 4, {rest}}}]");
    for (rest, part) in [
        ("url: \"https://s.example\", secret_file: short.txt", "must have 32 characters or more"),
        ("url: \"https://s.example\", secret_file: none.txt", "none.txt: cannot be opened"),
        (
            "url: \"https://s.example\", secret_env: NOBODY_SETS_THIS",
            "the variable NOBODY_SETS_THIS is not set",
        ),
        ("url: \"http://s.example\", secret_file: secret.txt", "must begin with https"),
        ("url: \"nonsense\", secret_file: secret.txt", "cannot be read"),
    ] {
        let error = load(&line(rest)).unwrap_err();
        assert!(error.contains("step motto") && error.contains(part), "{error}");
        assert!(!error.contains(&SECRET[..31]), "{error}");
    }
    let steps = load(&line("url: \"https://s.example\", secret_file: secret.txt")).unwrap();
    assert!(!format!("{steps:?}").contains(SECRET));
    assert!(
        ExternalSteps::load(Path::new("nowhere.yaml"), &drivers()).unwrap_err().contains("cannot be opened")
    );
}
