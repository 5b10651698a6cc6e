//! Kills while a serverless runtime is made, changed and removed. OneFlow makes a service for every call, so what
//! counts is what was ever made: one document, one service and one machine, and nothing of them at the end.

use std::cell::LazyCell;
use std::ops::Deref;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ::opennebula::OpenNebulaOptions;
use ::serverless::model::caller_credentials::{self, Request};
use ::serverless::model::{
    CREATE, CallerCredentials, DELETE, Serverless, ServerlessSettings, Spec, UPDATE, view,
};
use ::serverless::workflows::{create, delete, update};
use engine::store::OperationQuery;
use engine::{OperationId, Phase, Workflow};
use rand::RngExt as _;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::boundaries::{Drama, Life, block_on, script};
use super::durable_postgres;
use crate::serverless::{
    NOTHING, RUNTIMES, ServerlessClient, ServerlessServer, at_sandbox, credentials, ever_made, function,
    quick, runtime, standing,
};
use crate::stage::{DataDirectory, Sandbox, ServerProcess, until_or};

const RUNTIME: Drama = Drama {
    player: "kills::serverless::the_process_that_is_killed",
    kills_min: 40,
    judge: one_was_made_and_none_stands,
};

#[test]
fn a_kill_at_any_save_of_the_life_of_a_serverless_runtime_on_sqlite_leaves_none_and_makes_one() {
    RUNTIME.on_sqlite();
}

#[test]
fn a_kill_at_any_save_of_the_life_of_a_serverless_runtime_on_postgres_leaves_none_and_makes_one() {
    RUNTIME.on_postgres();
}

/// Not a test of its own: what the tests above start, and kill.
#[test]
fn the_process_that_is_killed() {
    let Some(script) = script() else { return };
    let sandbox = script["sandbox"].as_str().unwrap().to_owned();
    // A little of everything takes a moment, so that all operations have to wait, and no longer than they must.
    let delay_times = json!({
        "nets_ms": 5, "pending_ms": 0, "prolog_ms": 0, "boot_ms": 0, "ready_ms": 0, "resize_ms": 10,
        "disk_resize_ms": 0, "terminate_ms": 10, "undeploy_ms": 0,
    });
    if script["number"] == 0 {
        at_sandbox(&sandbox, "PUT", "/opennebula/pace", Some(&delay_times));
    }
    block_on(async {
        let options = OpenNebulaOptions::beside(&sandbox);
        let serverless =
            LazyCell::new(move || Serverless::new(&options, ServerlessSettings::default()).unwrap());
        let actor = Actor { life: Life::begin(&script).await, serverless: &serverless, sandbox };
        actor.create("broken", "FAILED_DEPLOY", Phase::Undone).await;
        let made = actor.create("good", "Function", Phase::Succeeded).await;
        let state = actor.life.fixture.inspect(made).await.memory.state;
        let id = i32::try_from(state["document"].as_i64().unwrap()).unwrap();
        actor.update(id).await;
        actor.delete(id).await;
        actor.life.close(4).await;
    });
}

struct Actor<'a, S> {
    life: Life,
    /// Made when it is needed first, which takes longer than a short life.
    serverless: &'a S,
    sandbox: String,
}

impl<S: Deref<Target = Serverless>> Actor<'_, S> {
    async fn create(&self, name: &str, flavour: &str, phase: Phase) -> OperationId {
        let resource = CallerCredentials::resource_of_new(name);
        let mut operation = self.known(CREATE, &resource).await;
        if operation.is_none() {
            let spec = Spec::parse(function(flavour).to_string().as_bytes()).unwrap();
            let params = create::prepare(self.serverless, &credentials(), spec).await.unwrap();
            operation = Some(self.order::<create::Create>(&resource, &params).await);
        }
        self.life.ends(operation.unwrap(), phase).await;
        operation.unwrap()
    }

    async fn update(&self, id: i32) {
        let resource = CallerCredentials::resource(id);
        let mut operation = self.known(UPDATE, &resource).await;
        if operation.is_none() {
            let sandbox = self.sandbox.clone();
            let stands = tokio::task::spawn_blocking(move || standing(&sandbox)).await.unwrap();
            assert_eq!(stands.len(), 3, "one document, one service and one machine: {stands:?}");
            while self.shown(id).await["FAAS"]["STATE"] != "RUNNING" {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let body = json!({"NAME": "changed", "FAAS": {"FLAVOUR": "", "CPU": 2, "DISK_SIZE": 1100}});
            let body = runtime(&body).to_string();
            let params = update::prepare(self.serverless, &credentials(), id, body.as_bytes()).await.unwrap();
            operation = Some(self.order::<update::Update>(&resource, &params).await);
        }
        self.life.ends(operation.unwrap(), Phase::Succeeded).await;
    }

    async fn delete(&self, id: i32) {
        let resource = CallerCredentials::resource(id);
        let mut operation = self.known(DELETE, &resource).await;
        if operation.is_none() {
            let shown = self.shown(id).await;
            let (name, faas) = (&shown["NAME"], &shown["FAAS"]);
            assert_eq!(
                (name, &faas["CPU"], &faas["DISK_SIZE"]),
                (&json!("changed"), &json!(2), &json!(1100))
            );
            let params = delete::prepare(self.serverless, &credentials(), id).await.unwrap();
            operation = Some(self.order::<delete::Delete>(&resource, &params).await);
        }
        self.life.ends(operation.unwrap(), Phase::Succeeded).await;
    }

    async fn shown(&self, id: i32) -> Value {
        let shown = view::read(self.serverless, &credentials(), id).await.unwrap().to_answer();
        serde_json::from_str::<Value>(&shown).unwrap()["SERVERLESS_RUNTIME"].clone()
    }

    /// What the process before has ordered.
    async fn known(&self, workflow: &str, resource: &str) -> Option<OperationId> {
        let (workflow, resource) = (Some(workflow.to_owned()), Some(resource.to_owned()));
        let query = OperationQuery { workflow, resource, limit: 2, ..OperationQuery::default() };
        let found = self.life.truth.list(&query).await.unwrap();
        assert!(found.len() < 2, "{found:?}");
        found.first().map(|operation| operation.id)
    }

    /// As the API does: the credentials and the operation in one write.
    async fn order<W: Workflow>(&self, resource: &str, params: &W::Params) -> OperationId {
        let credentials = credentials();
        let request =
            Request::<W> { resource, name: None, params, credentials: &credentials, idempotency_key: None };
        caller_credentials::accept(&self.life.fixture.engine, &request).await.unwrap().id
    }
}

fn one_was_made_and_none_stands(script: &Value) {
    let sandbox = script["sandbox"].as_str().unwrap();
    assert_eq!(standing(sandbox), NOTHING, "after {script}");
    let made = ever_made(sandbox);
    let count = |kind: &str| made.iter().filter(|effect| effect.starts_with(kind)).count();
    // Those of the one that fails are made once too, and it has no machine.
    assert_eq!((count("document"), count("service"), count("vm")), (2, 2, 1), "{made:?} after {script}");
}

/// The service is made, its answer is lost, and the program is killed before it can try again.
#[test]
fn a_kill_between_the_making_of_a_service_and_its_save_leads_to_one_service() {
    let mut scene = ServerlessServer::open(quick());
    for (key, about, system) in [("a", "instantiate", "oneflow"), ("b", "document.allocate", "oned")] {
        scene.sandbox.arm(&json!({"system": system, "kind": "drop_after", "about": about}));
        let request = with_key(&scene.client, key);
        let unheard = scene.runtime.spawn(request.send());
        scene.wait_for_the_fault();
        let ServerlessServer { server, sandbox, place, runtime: old, .. } = scene;
        server.kill();
        assert!(old.block_on(unheard).unwrap().is_err(), "the answer came too early to prove anything");
        scene = ServerlessServer::at(place, sandbox);
        let made = scene.send(with_key(&scene.client, key)).is(201);
        assert_eq!(scene.standing().len(), 3, "{about}: {:?}", scene.standing());
        scene.delete(made.id()).is(204);
        assert_eq!(scene.standing(), NOTHING, "{about}");
    }
    assert_eq!(ever_made(&scene.sandbox.url).len(), 6, "one of each, twice");
    testing::count("kills", 2);
}

/// The program is killed while OneFlow still works on the service, and the next one begins before it is there.
#[test]
fn a_kill_while_oneflow_is_asked_for_a_service_leads_to_one_service() {
    let scene = ServerlessServer::open(quick());
    scene.sandbox.arm(&json!({"system": "oneflow", "kind": "hold", "about": "instantiate"}));
    drop(scene.runtime.spawn(with_key(&scene.client, "k").send()));
    scene.wait_for_the_fault();
    let ServerlessServer { server, sandbox, place, .. } = scene;
    server.kill();
    assert_eq!(standing(&sandbox.url).len(), 1, "OneFlow was not held");
    let scene = ServerlessServer::at(place, sandbox);
    scene.sandbox.release();
    let made = scene.send(with_key(&scene.client, "k")).is(201);
    scene.until_state(made.id(), "RUNNING");
    scene.delete(made.id()).is(204);
    assert_eq!(scene.standing(), NOTHING, "of {:?}", ever_made(&scene.sandbox.url));
    testing::count("kills", 1);
}

fn with_key(client: &ServerlessClient, key: &str) -> RequestBuilder {
    client.ask(Method::POST, RUNTIMES).header("Idempotency-Key", key).json(&function("Function"))
}

const KILLS: usize = 10;
const DEVICES: usize = 3;

#[test]
fn random_kills_of_one_server_on_sqlite_leave_one_runtime_for_every_key_and_none_at_the_end() {
    hunt(&[quick()]);
}

#[test]
fn random_kills_of_two_servers_on_one_postgres_leave_one_runtime_for_every_key_and_none_at_the_end() {
    let postgres = durable_postgres();
    postgres.create_database("engine").unwrap();
    let url = postgres.url("engine");
    let place = || quick().env("PROVISION_ENGINE_STORE__DATABASE_URL", &url);
    hunt(&[place(), place()]);
}

/// Kills the servers in turn, while devices make, change and remove runtimes, and ask again when they hear nothing.
fn hunt(places: &[DataDirectory]) {
    let sandbox = Sandbox::start(&places[0]);
    let serve = |place: &DataDirectory| place.serve(&["--sandbox-url", &sandbox.url, "--log-level", "error"]);
    let mut servers: Vec<ServerProcess> = places.iter().map(serve).collect();
    let urls = Mutex::new(servers.iter().map(|server| server.url.clone()).collect::<Vec<_>>());
    let is_over = AtomicBool::new(false);
    let made: usize = thread::scope(|scope| {
        let (urls, is_over) = (&urls, &is_over);
        let client = |number| {
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(live(number, urls, is_over))
            })
        };
        let devices: Vec<_> = (0..DEVICES).map(client).collect();
        let mut dice = rand::rng();
        for kill in 0..KILLS {
            thread::sleep(Duration::from_millis(dice.random_range(0..250)));
            let turn = kill % places.len();
            servers.remove(turn).kill();
            servers.insert(turn, serve(&places[turn]));
            urls.lock().unwrap()[turn].clone_from(&servers[turn].url);
        }
        is_over.store(true, Ordering::SeqCst);
        devices.into_iter().map(|client| client.join().unwrap()).sum()
    });
    assert!(made >= DEVICES, "only {made} runtimes were made");
    until_or(
        || (standing(&sandbox.url) == NOTHING).then_some(()),
        || format!("this is left: {:?}", standing(&sandbox.url)),
    );
    assert_eq!(ever_made(&sandbox.url).len(), 3 * made, "one of each for every runtime");
    testing::count("kills", KILLS as u64);
}

/// Whole lives of runtimes, one after the other, until the hunt is over. Answers how many there were.
async fn live(number: usize, urls: &Mutex<Vec<String>>, is_over: &AtomicBool) -> usize {
    let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(20)).build().unwrap();
    let client = || {
        let urls = urls.lock().unwrap();
        ServerlessClient { http: http.clone(), url: urls[number % urls.len()].clone() }
    };
    let mut made = 0;
    while made == 0 || !is_over.load(Ordering::SeqCst) {
        let key = format!("{number}-{made}");
        let id = insist(&[201], || with_key(&client(), &key)).await["SERVERLESS_RUNTIME"]["ID"].as_i64();
        let id = id.unwrap();
        let larger = runtime(&json!({"NAME": key, "FAAS": {"FLAVOUR": "", "CPU": 2, "DISK_SIZE": 1100}}));
        let changed = insist(&[200], || client().about(Method::PUT, id).json(&larger)).await;
        assert_eq!(changed["SERVERLESS_RUNTIME"]["FAAS"]["CPU"], 2, "{changed}");
        // Nothing is there any longer when the answer to the first request was lost.
        insist(&[204, 404], || client().about(Method::DELETE, id)).await;
        made += 1;
    }
    made
}

/// Asks until the answer is one of these. It may not come, and others may be at work on the runtime.
async fn insist(statuses: &[u16], request: impl Fn() -> RequestBuilder) -> Value {
    let mut last = String::new();
    for _ in 0..2000 {
        if let Ok(response) = request().send().await {
            let status = response.status().as_u16();
            let body = response.text().await.unwrap_or_default();
            if statuses.contains(&status) {
                return serde_json::from_str(&body).unwrap_or_default();
            }
            assert!([423, 503, 504].contains(&status), "{status} {body}");
            last = format!("{status} {body}");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the last that was said: {last}");
}
