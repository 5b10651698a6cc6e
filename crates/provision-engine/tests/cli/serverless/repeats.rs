//! Asking again, not waiting for the answer, and asking another user.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use testing::private_postgres::{PrivatePostgres, PrivatePostgresOptions};

use super::{
    EngineOutput, NOTHING, RUNTIMES, ServerlessClient, ServerlessServer, answer, function, quick, runtime,
};
use crate::stage::until;

impl ServerlessClient {
    fn post_with_key(&self, key: &str, body: &Value) -> RequestBuilder {
        self.ask(Method::POST, RUNTIMES).header("Idempotency-Key", key).json(body)
    }

    fn without_waiting(&self, method: Method, path: &str, body: &Value) -> RequestBuilder {
        self.ask(method, path).header("Prefer", "respond-async").json(body)
    }
}

impl ServerlessServer {
    /// Looks until the operation at this path is over.
    #[track_caller]
    fn over(&self, path: &str) -> Value {
        until("the end of the operation", || {
            let operation = self.send(self.client.ask(Method::GET, path)).is(200).json["OPERATION"].clone();
            (operation["STATE"] != "RUNNING").then_some(operation)
        })
    }
}

#[test]
fn the_same_key_is_the_same_runtime_also_after_a_crash_and_another_body_is_refused() {
    let scene = ServerlessServer::open(quick());
    let post = |scene: &ServerlessServer, key: &str, flavour: &str| {
        scene.send(scene.client.post_with_key(key, &function(flavour)))
    };
    let first = post(&scene, "k", "Function").is(201);
    assert_eq!(first.header("idempotency-replayed"), "");
    let is_same = |again: &EngineOutput| {
        assert_eq!((again.status, again.header("idempotency-replayed")), (201, "true"), "{}", again.text);
        assert_eq!((&again.text, again.header("location")), (&first.text, first.header("location")));
    };
    is_same(&post(&scene, "k", "Function"));
    let other = post(&scene, "k", "nature").is(422);
    assert_eq!(other.json["error"], "Idempotency-Key reused");
    assert_ne!(post(&scene, "k2", "Function").is(201).id(), first.id());
    let failed = post(&scene, "broken", "FAILED_DEPLOY").is(500);

    let ServerlessServer { server, sandbox, place, .. } = scene;
    server.kill();
    let scene = ServerlessServer::at(place, sandbox);
    is_same(&post(&scene, "k", "Function"));
    assert_eq!(post(&scene, "broken", "FAILED_DEPLOY").is(500).text, failed.text);
    post(&scene, "k", "nature").is(422);
    assert_eq!(scene.standing().len(), 6, "two runtimes: {:?}", scene.standing());
    testing::count("kills", 1);
}

/// The server dies while the first request is under way. The device, which has heard nothing, asks again.
#[test]
fn a_device_that_asks_again_with_its_key_after_a_crash_gets_the_runtime_that_was_begun() {
    let scene = ServerlessServer::open(quick());
    scene.tell("/opennebula/pace", &json!({"nets_ms": 1500}));
    let request = scene.client.post_with_key("k", &function("Function"));
    let unheard = scene.runtime.spawn(request.send());
    until("the service", || (scene.standing().len() == 2).then_some(()));
    let ServerlessServer { server, sandbox, place, runtime: old, .. } = scene;
    server.kill();
    assert!(old.block_on(unheard).unwrap().is_err(), "the answer came too early to prove anything");
    let scene = ServerlessServer::at(place, sandbox);
    let received = scene.send(scene.client.post_with_key("k", &function("Function"))).is(201);
    assert_eq!(received.header("idempotency-replayed"), "true");
    scene.until_state(received.id(), "RUNNING");
    assert_eq!(scene.standing().len(), 3, "{:?}", scene.standing());
    assert_eq!(super::ever_made(&scene.sandbox.url).len(), 3);
    scene.delete(received.id()).is(204);
    assert_eq!(scene.standing(), NOTHING);
    testing::count("kills", 1);
}

#[test]
fn the_one_who_does_not_want_to_wait_is_told_where_to_look() {
    let scene = ServerlessServer::open(quick());
    let ask = |method: Method, path: &str, body: &Value| {
        let accepted = scene.send(scene.client.without_waiting(method, path, body)).is(202);
        assert_eq!(accepted.header("preference-applied"), "respond-async");
        accepted.header("location").to_owned()
    };
    let operation = scene.over(&ask(Method::POST, RUNTIMES, &function("Function")));
    assert_eq!(
        (&operation["STATE"], &operation["STATUS"]),
        (&json!("SUCCEEDED"), &json!(201)),
        "{operation}"
    );
    let path = operation["LOCATION"].as_str().unwrap().to_owned();
    let id: i64 = path.rsplit('/').next().unwrap().parse().unwrap();
    scene.until_state(id, "RUNNING");
    let body = runtime(&json!({"NAME": "later", "FAAS": {"FLAVOUR": "", "CPU": 2}}));
    let operation = scene.over(&ask(Method::PUT, &path, &body));
    assert_eq!((&operation["ACTION"], &operation["STATUS"]), (&json!("update"), &json!(200)), "{operation}");
    assert_eq!(scene.get(id).seen()["NAME"], "later");
    let operation = scene.over(&ask(Method::DELETE, &path, &json!({})));
    assert_eq!((&operation["ACTION"], &operation["STATUS"]), (&json!("delete"), &json!(204)), "{operation}");
    let failed = ask(Method::POST, RUNTIMES, &function("FAILED_DEPLOY"));
    let operation = scene.over(&failed);
    assert_eq!((&operation["STATE"], &operation["STATUS"]), (&json!("FAILED"), &json!(500)), "{operation}");
    let others = scene.client.outsider(Method::GET, &failed).basic_auth("other", Some("otherpass"));
    scene.send(others).is(404);
    assert_eq!(scene.standing(), NOTHING);
}

#[test]
fn what_one_replica_made_the_other_shows_changes_and_deletes() {
    let postgres = PrivatePostgres::start(&PrivatePostgresOptions::default()).unwrap();
    postgres.create_database("engine").unwrap();
    let url = postgres.url("engine");
    let place = || quick().env("PROVISION_ENGINE_STORE__DATABASE_URL", &url);
    let scene = ServerlessServer::open(place());
    let neighbour = place();
    let second = neighbour.serve(&["--sandbox-url", &scene.sandbox.url, "--log-level", "error"]);
    let other = ServerlessClient::of(&second);
    let ask = |request: RequestBuilder| scene.runtime.block_on(answer(request));

    let made = scene.send(scene.client.post_with_key("k", &function("Function"))).is(201);
    let id = made.id();
    let again = ask(other.post_with_key("k", &function("Function"))).is(201);
    assert_eq!((again.text.as_str(), again.header("idempotency-replayed")), (made.text.as_str(), "true"));
    until("a runtime that runs", || {
        let shown = ask(other.about(Method::GET, id)).is(200);
        (shown.seen()["FAAS"]["STATE"] == "RUNNING").then_some(())
    });
    let larger = runtime(&json!({"NAME": "n", "FAAS": {"FLAVOUR": "", "CPU": 2, "DISK_SIZE": 2048}}));
    let changed = ask(other.about(Method::PUT, id).json(&larger)).is(200);
    assert_eq!(scene.get(id).is(200).text, changed.text);
    // While one of them changes it, the other one does not.
    scene.tell("/opennebula/pace", &json!({"resize_ms": 1000}));
    let third = runtime(&json!({"FAAS": {"FLAVOUR": "", "CPU": 3}}));
    scene.send(scene.client.about(Method::PUT, id).header("Prefer", "respond-async").json(&third)).is(202);
    ask(other.about(Method::PUT, id).json(&larger)).is(423);
    let gone = scene.runtime.block_on(async {
        let (one, two) =
            (answer(scene.client.about(Method::DELETE, id)), answer(other.about(Method::DELETE, id)));
        tokio::join!(one, two)
    });
    let statuses = [gone.0.status, gone.1.status];
    assert!(statuses.contains(&204) && statuses.iter().all(|one| [204, 404].contains(one)), "{gone:?}");
    assert_eq!(scene.standing(), NOTHING);
    ask(other.about(Method::GET, id)).is(404);
}
