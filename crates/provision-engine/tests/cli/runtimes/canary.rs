//! A canary in every secret and in all that users send. It must reach the external systems, and be heard nowhere else.

use std::fs;
use std::sync::{Arc, Mutex};

use axum::routing::post;
use reqwest::Method;
use serde_json::{Value, json};
use testing::private_postgres::{PrivatePostgres, PrivatePostgresOptions};

use super::{AZURE, RuntimesCli, SERVICE, changed, quick, wanted};
use crate::stage::{DataDirectory, Sandbox};

const CANARY: &str = "kanarie";
/// As PostgreSQL writes bytes.
const CANARY_IN_HEX: &str = "6b616e61726965";
/// Of the identity provider in the sandbox, which knows no other.
const CLIENT_SECRET: &str = "sandbox-secret";
/// Below these names it has to arrive at the Provisioner.
const ARRIVE: [&str; 7] = ["name", "admin", "manager", "platform", "auditlog", "file", "step"];
const BINDING: &str = "/service_instances/i1/service_bindings/b1";

#[test]
fn no_secret_is_told_or_kept_in_the_clear_on_sqlite() {
    let (scene, token) = live(quick());
    let mut found = Vec::new();
    for entry in fs::read_dir(scene.place.path("data")).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("engine.db") {
            found.push(fs::read(path).unwrap());
        }
    }
    assert!(found.len() > 1, "the write-ahead log counts too");
    kept(&scene, &token, &String::from_utf8_lossy(&found.concat()));
}

#[test]
fn no_secret_is_told_or_kept_in_the_clear_on_postgres() {
    let postgres = PrivatePostgres::start(&PrivatePostgresOptions::default()).unwrap();
    postgres.create_database("engine").unwrap();
    let url = postgres.url("engine");
    let (scene, token) = live(quick().env("PROVISION_ENGINE_STORE__DATABASE_URL", &url));
    kept(&scene, &token, &scene.runtime.block_on(dump(&url)));
}

/// What the database holds.
#[track_caller]
fn kept(scene: &RuntimesCli, token: &str, dump: &str) {
    assert!(dump.contains("runtime:i1") && dump.contains("create_runtime"), "this is not the database");
    scene.silent("the database", dump);
    assert!(!dump.contains(token), "the database has the token of a binding");
}

/// All rows of all tables as text; bytes are written in hexadecimal.
async fn dump(url: &str) -> String {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let tables = "select format('%I.%I', schemaname, tablename) from pg_tables \
                  where schemaname not in ('pg_catalog', 'information_schema')";
    let mut dump = String::new();
    for table in client.query(tables, &[]).await.unwrap() {
        let table: String = table.get(0);
        for row in client.query(&format!("select t::text from {table} t"), &[]).await.unwrap() {
            dump.push_str(row.get(0));
            dump.push('\n');
        }
    }
    dump
}

fn canary(name: &str) -> String {
    // A secret that signs has to be long.
    format!("{CANARY}-{name}-{}", "0123456789abcdef".repeat(2))
}

/// A service that does a step, and what it was told.
fn partner(runtime: &tokio::runtime::Runtime) -> (String, Arc<Mutex<String>>) {
    let received = Arc::new(Mutex::new(String::new()));
    let told = Arc::clone(&received);
    let answer = json!({
        "outcome": "done", "secret_facts": {"fact": canary("fact")},
        "overrides": [{"component": "core", "key": "step", "value": canary("step"), "secret": true}],
    });
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let handler = post(move |body: String| async move {
        told.lock().unwrap().push_str(&body);
        axum::Json(answer)
    });
    runtime.spawn(async { axum::serve(listener, axum::Router::new().route("/", handler)).await });
    (url, received)
}

/// A place with a canary in each credential that can be configured.
fn furnished(place: DataDirectory, sandbox: &str, partner: &str) -> DataDirectory {
    let mut place = place;
    for (section, name) in [("SERVICE_MANAGER", "manager"), ("AUDIT_LOG", "auditlog")] {
        place.write(name, &canary(name));
        let path = place.path(name).to_str().unwrap().to_owned();
        place = place
            .env(&format!("PROVISION_ENGINE_RUNTIME__{section}__URL"), "https://far.example.com")
            .env(&format!("PROVISION_ENGINE_RUNTIME__{section}__USERNAME"), "someone")
            .env(&format!("PROVISION_ENGINE_RUNTIME__{section}__PASSWORD_FILE"), path);
    }
    place.write("client", CLIENT_SECRET);
    place.write("step", &canary("signature"));
    let steps = format!(
        "- {{name: partner, workflow: runtime.provision, weight: 4, url: '{partner}', secret_file: step, \
         sees: [parameters, context]}}\n"
    );
    place.write("steps.yaml", &steps);
    fs::create_dir(place.path("overrides")).unwrap();
    let overrides = json!({
        "name": "o", "labels": {"component": "core"}, "secret": true, "data": {"file": canary("file")},
    });
    place.write("overrides/o.yaml", &overrides.to_string());
    let path = |name: &str| place.path(name).to_str().unwrap().to_owned();
    let (client, steps, overrides) = (path("client"), path("steps.yaml"), path("overrides"));
    place
        .env("PROVISION_ENGINE_DRIVERS__DIRECTOR__TOKEN_URL", format!("{sandbox}/identity/token"))
        .env("PROVISION_ENGINE_DRIVERS__DIRECTOR__CLIENT_ID", "engine")
        .env("PROVISION_ENGINE_DRIVERS__DIRECTOR__CLIENT_SECRET_FILE", client)
        .env("PROVISION_ENGINE_RUNTIME__STEPS", steps)
        .env("PROVISION_ENGINE_RUNTIME__OVERRIDES", overrides)
}

/// A whole life with canaries, in which also something goes wrong, heard from everywhere.
fn live(place: DataDirectory) -> (RuntimesCli, String) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (partner, received) = partner(&runtime);
    let sandbox = Sandbox::start(&place);
    let place = furnished(place, &sandbox.url, &partner);
    let scene = RuntimesCli { runtime, ..RuntimesCli::at(place, sandbox, "debug") };

    let mut first = wanted(&canary("name"));
    first["parameters"]["administrators"] = json!([canary("admin")]);
    first["context"]["note"] = json!(canary("context"));
    let mut second = wanted("second");
    second["context"]["sm_platform_credentials"] = json!({
        "url": "https://far.example.com",
        "credentials": {"basic": {"username": "someone", "password": canary("platform")}},
    });
    error_responses(&scene, &first);
    for (id, body) in [("i1", &first), ("i2", &second)] {
        let operation = scene.put(id, body).operation().to_owned();
        scene.ends(id, &operation, "succeeded");
    }
    let quoted = format!("cannot use {:?}", canary("file"));
    scene.fail(&json!({"operation": "Provision", "kind": "error", "error_code": 400, "message": quoted}));
    let operation = scene.put("i3", &wanted("third")).operation().to_owned();
    let told = scene.ends("i3", &operation, "failed");
    assert!(told.contains("cannot use \"<secret>\""), "{told}");

    let token = bound(&scene);
    arrived(&scene, &ARRIVE);
    scene.fail(&json!({"operation": "UpgradeShoot", "kind": "error", "error_code": 400}));
    for state in ["failed", "succeeded"] {
        let body = changed(&json!({"administrators": [canary("later")]}));
        let operation = scene.patch("i1", &body).operation().to_owned();
        scene.ends("i1", &operation, state);
    }
    arrived(&scene, &["later"]);
    let received = received.lock().unwrap().clone();
    for name in ["name", "context", "platform"] {
        assert!(received.contains(&canary(name)), "the step was not told {name}: {received}");
    }

    listen(&scene, &token);
    let query = format!("{BINDING}?service_id={SERVICE}&plan_id={AZURE}");
    let unbound = scene.runtime.block_on(scene.platform.send(Method::DELETE, &query, None));
    assert_eq!(unbound.status, 200, "{unbound:?}");
    for id in ["i1", "i2", "i3"] {
        let operation = scene.delete(id).operation().to_owned();
        scene.ends(id, &operation, "succeeded");
    }
    listen(&scene, &token);
    (scene, token)
}

fn arrived(scene: &RuntimesCli, names: &[&str]) {
    let received = scene.get("/provisioner/runtimes?reveal=true").to_string();
    for name in names {
        assert!(received.contains(&format!("{CANARY}-{name}")), "{name} did not arrive: {received}");
    }
}

/// What is wrong is told without repeating it.
fn error_responses(scene: &RuntimesCli, good: &Value) {
    let spoiled = |pointer: &str, value: Value| {
        let mut body = good.clone();
        *body.pointer_mut(pointer).unwrap() = value;
        body
    };
    for body in [
        spoiled("/parameters/region", json!(canary("region"))),
        spoiled("/parameters/name", json!([canary("name")])),
        spoiled("/parameters/administrators", json!(canary("admin"))),
        spoiled("/context", json!(canary("context"))),
        spoiled("/plan_id", json!(canary("plan"))),
        spoiled("/service_id", json!({"id": canary("service")})),
    ] {
        let answer = scene.put("i0", &body);
        assert_eq!(answer.status, 400, "{answer:?}");
        scene.silent("a refusal", &answer.body.to_string());
    }
}

/// Binds, and answers the token in the credentials.
fn bound(scene: &RuntimesCli) -> String {
    let body = json!({"service_id": SERVICE, "plan_id": AZURE});
    let answer = scene.runtime.block_on(scene.platform.send(Method::PUT, BINDING, Some(&body)));
    assert_eq!(answer.status, 201, "{answer:?}");
    let kubeconfig = answer.body["credentials"]["kubeconfig"].as_str().unwrap();
    let token = kubeconfig.split_whitespace().find(|word| word.starts_with("eyJ"));
    token.unwrap_or_else(|| panic!("{kubeconfig}")).to_owned()
}

/// Asks at every API and with every command that only looks.
fn listen(scene: &RuntimesCli, token: &str) {
    let admin = fs::read_to_string(scene.place.data("admin.token")).unwrap();
    let ask = |path: &str| {
        let request = scene.platform.http.get(format!("{}{path}", scene.platform.url));
        let request = request.bearer_auth(admin.trim());
        scene.runtime.block_on(async {
            let answer = request.send().await.unwrap();
            assert!(answer.status().is_success(), "{path}: {}", answer.status());
            answer.text().await.unwrap()
        })
    };
    let operations: Value = serde_json::from_str(&ask("/operations?limit=200")).unwrap();
    let mut paths: Vec<String> =
        ["/operations?limit=200", "/runtimes", "/runtimes/i1", "/runtimes/i1/operations", "/info/runtimes"]
            .into_iter()
            .chain(["/runtimes/i1/events", "/audit", "/tokens", "/metrics"])
            .map(str::to_owned)
            .collect();
    let mut said = Vec::new();
    for operation in operations["items"].as_array().unwrap() {
        let id = operation["id"].as_str().unwrap();
        paths.extend(["", "/journal?limit=200", "/explain"].map(|rest| format!("/operations/{id}{rest}")));
        for command in [&["operations", "show", id][..], &["operations", "journal", id], &["explain", id]] {
            let ran = scene.place.expect(0, command);
            said.push((command.join(" "), ran.out + &ran.err));
        }
    }
    assert!(paths.len() > 20, "{paths:?}");
    said.extend(paths.into_iter().map(|path| (path.clone(), ask(&path))));
    let log = scene.server.going.err();
    assert!(log.contains("DEBUG"), "{log}");
    said.push(("the log".into(), log));
    for (what, text) in &said {
        scene.silent(what, text);
        assert!(!text.contains(token), "{what} has the token of a binding: {text}");
    }
}

impl RuntimesCli {
    /// Insists that a text has no canary, and no credential.
    #[track_caller]
    fn silent(&self, what: &str, text: &str) {
        for secret in [CANARY, CANARY_IN_HEX, CLIENT_SECRET, &self.platform.password] {
            if let Some(at) = text.find(secret) {
                let around: String = text[..at].chars().rev().take(300).collect();
                let around: String = around.chars().rev().collect();
                let rest: String = text[at..].chars().take(200).collect();
                panic!("{what} has {secret}: …{around}{rest}…");
            }
        }
    }
}
