//! A password that can be recognised. It must reach OpenNebula, and be heard nowhere else; and when an operation is
//! over, nothing is kept of it, not even sealed.

use std::fs;

use ::opennebula::{NebulaCredentials, OpenNebulaOptions};
use engine::secret::ExposeSecret;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{RUNTIMES, ServerlessServer, USER, function, quick, runtime};
use crate::stage::{DataDirectory, Sandbox, until};

const CANARY: &str = "kanarie-8c1f05d2";
const CANARY_IN_HEX: &str = "6b616e617269652d3863316630356432";
/// In a password that is wrong.
const OUTSIDER: &str = "kanarie-of-a-stranger";

impl ServerlessServer {
    fn with_canary(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.outsider(method, path).basic_auth(USER.0, Some(CANARY))
    }

    /// What the functions of a runtime find in their context, and the whole service as OneFlow shows it.
    fn handed_over(&self, made: &super::EngineOutput) -> (Option<String>, String) {
        let machine = self.machine(&made.seen()["FAAS"]);
        let auth = machine.template.vectors("CONTEXT").find_map(|context| context.get("SR_AUTH"));
        let auth = auth.map(str::to_owned);
        let oneflow = OpenNebulaOptions::beside(&self.sandbox.url).oneflow;
        let request = self.client.http.get(format!("{oneflow}/service/{}", made.seen()["SERVICE_ID"]));
        let service = self.runtime.block_on(async {
            let request = request.basic_auth(USER.0, Some(USER.1)).header("Connection", "close");
            request.send().await.unwrap().text().await.unwrap()
        });
        assert!(service.contains("MEMORY_RESIZE_MODE"), "{service}");
        (auth, service)
    }
}

/// Gives the user a second password. OpenNebula calls it a login token.
fn log_in(scene: &ServerlessServer) {
    let text = |text: &str| format!("<param><value><string>{text}</string></value></param>");
    let params = [&format!("{}:{}", USER.0, USER.1), USER.0, CANARY].map(text).concat();
    let call = format!(
        "<?xml version=\"1.0\"?><methodCall><methodName>one.user.login</methodName><params>{params}\
         <param><value><i4>3600</i4></value></param></params></methodCall>"
    );
    let request = scene.client.http.post(OpenNebulaOptions::beside(&scene.sandbox.url).oned).body(call);
    let answer = scene.runtime.block_on(async { request.send().await.unwrap().text().await.unwrap() });
    assert!(answer.contains(CANARY), "{answer}");
}

/// The records of serverless operations, as they are kept.
fn records(place: &DataDirectory) -> Vec<String> {
    let db = rusqlite::Connection::open(place.data("engine.db")).unwrap();
    let mut query = db.prepare("select record from resources where kind = 'serverless'").unwrap();
    query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_password_reaches_opennebula_and_no_one_else() {
    let place = quick().env("PROVISION_ENGINE_SERVERLESS__SR_AUTH", "password");
    let logs = place.path("logs").to_str().unwrap().to_owned();
    let place =
        place.env("PROVISION_ENGINE_LOG__DIRECTORY", logs).env("PROVISION_ENGINE_LOG__SEVERITY", "debug");
    let sandbox = Sandbox::start(&place);
    let server = place.serve(&["--sandbox-url", &sandbox.url, "--log-level", "debug"]);
    let scene = ServerlessServer::around(place, sandbox, server);
    log_in(&scene);
    let (auth, answers) = live(&scene);
    let auth = auth.trim();
    let handed = NebulaCredentials::from_basic(auth).unwrap();
    assert_eq!((handed.user.as_str(), handed.secret().expose_secret()), (USER.0, CANARY));

    let kept = records(&scene.place);
    assert_eq!(kept.len(), 3, "two that were asked for, and one that was made: {kept:?}");
    assert!(kept.iter().all(|record| !record.contains("credentials")), "{kept:?}");
    let mut received = said(&scene);
    received.extend(answers.into_iter().map(|answer| ("an answer".to_owned(), answer)));
    for (what, text) in &received {
        for secret in [CANARY, CANARY_IN_HEX, auth, OUTSIDER] {
            let Some(at) = text.find(secret) else { continue };
            let from = text[..at].char_indices().rev().nth(200).map_or(0, |(from, _)| from);
            panic!("{what} has {secret}: …{}", &text[from..at + secret.len()]);
        }
    }
}

/// Everything that a device can ask for, with the canary. Answers what its machine got, and all that was said.
fn live(scene: &ServerlessServer) -> (String, Vec<String>) {
    let post = |body: &Value| scene.send(scene.with_canary(Method::POST, RUNTIMES).json(body));
    let made = post(&function("Function")).is(201);
    let (auth, _) = scene.handed_over(&made);
    let path = format!("{RUNTIMES}/{}", made.id());
    scene.until_state(made.id(), "RUNNING");
    let larger = runtime(&json!({"NAME": "n", "FAAS": {"FLAVOUR": "", "CPU": 2}}));
    let mut said =
        vec![made.text, scene.send(scene.with_canary(Method::PUT, &path).json(&larger)).is(200).text];
    scene.faults("resize_refused_quota");
    let refused = runtime(&json!({"FAAS": {"FLAVOUR": "", "CPU": 3}}));
    said.push(scene.send(scene.with_canary(Method::PUT, &path).json(&refused)).text);
    said.extend([post(&function("FAILED_DEPLOY")).is(500).text, post(&function("NoSuch")).is(422).text]);
    for path in [RUNTIMES, &path, "/server/config"] {
        said.push(scene.send(scene.with_canary(Method::GET, path)).is(200).text);
    }
    for (method, path) in [(Method::POST, RUNTIMES), (Method::GET, &path), (Method::DELETE, &path)] {
        let outsider = scene.client.outsider(method.clone(), path).basic_auth(USER.0, Some(OUTSIDER));
        said.push(scene.send(outsider.json(&function("Function"))).is(401).text);
        let bearer = scene.client.outsider(method, path).bearer_auth(CANARY);
        said.push(scene.send(bearer).is(401).text);
    }
    // While an operation needs the credentials they are kept, sealed.
    scene.tell("/opennebula/pace", &json!({"terminate_ms": 700}));
    let removal = scene.with_canary(Method::DELETE, &path).header("Prefer", "respond-async");
    let removal = scene.send(removal).is(202);
    let kept = records(&scene.place);
    assert_eq!(kept.iter().filter(|record| record.contains("credentials")).count(), 1, "{kept:?}");
    until("the end of the removal", || {
        let operation = scene.send(scene.with_canary(Method::GET, removal.header("location"))).is(200);
        (operation.json["OPERATION"]["STATE"] == "SUCCEEDED").then_some(())
    });
    (auth.unwrap(), said)
}

/// What is in every file and said at every API and by every command that only looks.
fn said(scene: &ServerlessServer) -> Vec<(String, String)> {
    let admin = fs::read_to_string(scene.place.data("admin.token")).unwrap();
    let mut said: Vec<(String, String)> = Vec::new();
    let mut ask = |path: &str| {
        let request = scene.client.outsider(Method::GET, path).bearer_auth(admin.trim());
        let text = scene.runtime.block_on(async {
            request.send().await.unwrap().error_for_status().unwrap().text().await.unwrap()
        });
        said.push((path.to_owned(), text));
    };
    for path in ["/operations?limit=200", "/audit", "/metrics", "/tokens"] {
        ask(path);
    }
    let operations = scene.operations();
    assert!(operations.len() >= 5, "{operations:?}");
    let ids = operations.iter().map(|operation| operation["id"].as_str().unwrap());
    for id in ids.clone() {
        for rest in ["", "/journal?limit=200", "/explain"] {
            ask(&format!("/operations/{id}{rest}"));
        }
    }
    for id in ids {
        let shown = scene.place.expect(0, &["operations", "show", id, "-o", "json"]);
        said.push((format!("operations show {id}"), shown.out + &shown.err));
    }
    let mut read = |directory: &str, is_meant: fn(&str) -> bool| {
        let mut names = Vec::new();
        for entry in fs::read_dir(scene.place.path(directory)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if is_meant(&name) {
                said.push((name.clone(), String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()));
                names.push(name);
            }
        }
        names
    };
    let logs = read("logs", |_| true);
    assert!(
        logs.contains(&"engine.log".to_owned()) && logs.contains(&"CloudClient.log".to_owned()),
        "{logs:?}"
    );
    let database = read("data", |name| name.starts_with("engine.db"));
    assert!(database.contains(&"engine.db-wal".to_owned()), "{database:?}");
    said.push(("stderr".into(), scene.server.going.err()));
    for (name, part) in
        [("engine.log", "Received request"), ("CloudClient.log", "DEBUG"), ("stderr", "DEBUG")]
    {
        let (_, text) = said.iter().find(|(said, _)| said == name).unwrap();
        assert!(text.contains(part), "{name} says too little to prove anything: {text}");
    }
    said
}

/// By default a machine gets nothing: the user who may look at it could read the password of its owner.
#[test]
fn a_machine_gets_a_token_or_nothing_and_a_password_only_if_it_is_configured() {
    for (mode, knows) in [("token", true), ("none", false), ("", false)] {
        let scene = ServerlessServer::open(quick().env("PROVISION_ENGINE_SERVERLESS__SR_AUTH", mode));
        let made = scene.post(&function("Function")).is(201);
        let (auth, service) = scene.handed_over(&made);
        assert_eq!((auth.is_some(), service.contains("SR_AUTH")), (knows, knows), "{mode}: {auth:?}");
        // Base64 of the user and the password that everybody here logs in with.
        assert!(!service.contains("Y29nbml0OmNvZ25pdHBhc3M") && !service.contains(USER.1), "{service}");
        if let Some(auth) = auth {
            let handed = NebulaCredentials::from_basic(auth.trim()).unwrap();
            assert_eq!(handed.user, USER.0);
            assert_ne!(handed.secret().expose_secret(), USER.1);
            let listed = scene.client.outsider(Method::GET, RUNTIMES);
            scene.send(listed.header("authorization", format!("Basic {}", auth.trim()))).is(200);
        }
        scene.delete(made.id()).is(204);
    }
}
