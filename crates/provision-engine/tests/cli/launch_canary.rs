//! A canary in everything secret that has to do with launches. It must be heard nowhere.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};

use crate::kills::launch::pad::{ACCOUNT, BASE, Customer, LaunchEnd, Ticket, hurry, order, quick};
use crate::serverless::at_sandbox;
use crate::stage::{DataDirectory, Sandbox, ServerProcess, until};

const CANARY: &str = "kanarie";
const CANARY_IN_HEX: &str = "6b616e61726965";
/// Of the engine's own keys at the sandbox.
const KEY_SECRET: &str = "sandbox-secret";
const ROLE: &str = "arn:aws:iam::123456789012:role/guarded";

fn canary(name: &str) -> String {
    // A secret that signs has to be long.
    format!("{CANARY}-{name}-{}", "0123456789abcdef".repeat(2))
}

/// A place with secrets for the webhook and for callbacks.
fn furnished(sandbox_url: &str, place: DataDirectory) -> DataDirectory {
    place.write("webhook", &canary("webhook"));
    place.write("callback", &canary("callback"));
    let path = |name: &str| place.path(name).to_str().unwrap().to_owned();
    let (webhook, callback) = (path("webhook"), path("callback"));
    place
        .env("PROVISION_ENGINE_LAUNCH__WEBHOOK__URL", format!("{sandbox_url}/inbox/signed"))
        .env("PROVISION_ENGINE_LAUNCH__WEBHOOK__SECRET_FILE", webhook)
        .env("PROVISION_ENGINE_LAUNCH__CALLBACK_SECRET_FILE", callback)
}

#[test]
fn no_secret_of_a_launch_is_told_or_kept_in_the_clear() {
    let place = quick();
    let sandbox = Sandbox::start(&place);
    hurry(&sandbox.url);
    let place = furnished(&sandbox.url, place);
    let server = place.serve(&["--sandbox-url", &sandbox.url, "--log-level", "debug"]);
    let customer = Customer::of(&place, &server);
    error_responses(&customer);
    let tickets = live(&customer, &sandbox);
    customer.waits_until_all_is_over();
    let letters = at_sandbox(&sandbox.url, "GET", "/inbox/signed", None);
    let letters = letters["messages"].as_array().unwrap();
    assert_eq!(letters.len(), tickets.len(), "{letters:?}");
    let is_signed = |letter: &Value| letter["headers"]["provision-engine-signature"].is_string();
    assert!(letters.iter().all(is_signed), "{letters:?}");
    for (what, text) in said(&customer, &server, &sandbox, &tickets) {
        silent(&what, &text);
    }
    for (what, text) in kept(&place) {
        silent(&what, &text);
    }
}

/// What is wrong is told without repeating it.
fn error_responses(customer: &Customer) {
    let spoiled = |pointer: &str, value: Value| {
        let mut body = secret_order("sandbox");
        *body.pointer_mut(pointer).unwrap() = value;
        body
    };
    let launches = format!("{BASE}/launches");
    let sources = format!("{BASE}/sources");
    let keys = json!({"name": "n", "provider": "aws", "arn": ROLE, "secret_access_key": canary("key")});
    for (path, body) in [
        (&launches, spoiled("/image/build/customizations", json!(canary("customizations")))),
        (&launches, spoiled("/image/build/image_requests", json!([canary("request")]))),
        (&launches, spoiled("/parameters/user_data", json!([canary("data")]))),
        (&launches, spoiled("/parameters/user_data", json!(canary("data").repeat(2000)))),
        (&launches, spoiled("/parameters/amount", json!(0))),
        (&sources, keys),
        (&sources, json!({"name": "n", "provider": "aws", "arn": ROLE, "external_id": [canary("id")]})),
    ] {
        let (status, text) = customer.send(Method::POST, path, None, Some(&body)).unwrap();
        assert_eq!(status / 100, 4, "{text}");
        silent("a refusal", &text);
    }
}

/// A request with secrets in the build and for the first start.
fn secret_order(source: &str) -> Value {
    let mut order = order(source, ACCOUNT);
    let user = json!({"name": "anna", "password": canary("password")});
    order["image"]["build"]["customizations"] = json!({"users": [user]});
    order["parameters"]["user_data"] = json!(format!("#!/bin/sh\necho {}\n", canary("data")));
    order
}

/// Launches that succeed and that fail, with everything that is secret.
fn live(customer: &Customer, sandbox: &Sandbox) -> Vec<Ticket> {
    let source = |body: &Value| {
        let path = format!("{BASE}/sources");
        let (status, text) = customer.send(Method::POST, &path, None, Some(body)).unwrap();
        assert_eq!(status, 201, "{text}");
        silent("a source", &text);
        serde_json::from_str::<Value>(&text).unwrap()["id"].as_str().unwrap().to_owned()
    };
    at_sandbox(&sandbox.url, "PUT", "/aws/external_ids", Some(&json!({ROLE: canary("id")})));
    let guarded = source(&json!({
        "name": "guarded", "provider": "aws", "arn": ROLE, "external_id": canary("id"),
    }));
    source(&json!({
        "name": "keyed", "provider": "aws", "access_key_id": format!("AKIA{ACCOUNT}"),
        "secret_access_key": canary("key"),
    }));

    // Without a callback that is signed as it should be it would wait forever.
    let mut called_back = secret_order(&guarded);
    called_back["profile"] = json!("images");
    let called_back = customer.launch("called-back", &called_back, LaunchEnd::Lucky);
    customer.ended(&called_back);

    let mut late = secret_order(&guarded);
    let parameters = late["parameters"].take();
    let late = customer.launch("late", &late, LaunchEnd::Lucky);
    let path = format!("{BASE}/launches/{}/parameters", late.launch);
    let (status, text) = customer.send(Method::POST, &path, None, Some(&parameters)).unwrap();
    assert_eq!(status / 100, 2, "{text}");
    silent("an answer to parameters", &text);
    customer.ended(&late);

    // EC2 quotes what it was sent.
    let message = format!("the user data {} is not valid", canary("data"));
    let error_response =
        json!({"action": "RunInstances", "code": "InvalidParameterValue", "message": message});
    at_sandbox(&sandbox.url, "POST", "/aws/faults/fail", Some(&error_response));
    let refused = customer.launch("refused", &secret_order(&guarded), LaunchEnd::Doomed);
    customer.ended(&refused);

    at_sandbox(&sandbox.url, "POST", "/image-builder/faults/fail", Some(&json!({"at": "building"})));
    let unbuilt = customer.launch("unbuilt", &secret_order(&guarded), LaunchEnd::Doomed);
    customer.ended(&unbuilt);
    let tickets = vec![called_back, late, refused, unbuilt];
    let letters = || at_sandbox(&sandbox.url, "GET", "/inbox/signed", None)["messages"].clone();
    until("all notices", || (letters().as_array().unwrap().len() >= tickets.len()).then_some(()));
    tickets
}

/// What is said at every API, to others, and in the log.
fn said(
    customer: &Customer,
    server: &ServerProcess,
    sandbox: &Sandbox,
    tickets: &[Ticket],
) -> Vec<(String, String)> {
    let mut paths: Vec<String> =
        ["/audit", "/tokens", "/metrics", "/operations?limit=200"].map(str::to_owned).into();
    for name in ["launches", "reservations", "sources", "pubkeys", "inventory", "images"] {
        paths.push(format!("{BASE}/{name}"));
    }
    for Ticket { launch, number, .. } in tickets {
        paths.push(format!("{BASE}/launches/{launch}"));
        paths.push(format!("{BASE}/launches/{launch}/events"));
        paths.push(format!("{BASE}/reservations/aws/{number}"));
    }
    let operations = customer.get("/operations?limit=200");
    let operations = operations["items"].as_array().unwrap();
    assert!(operations.len() > 2 * tickets.len(), "{operations:?}");
    for operation in operations {
        let id = operation["id"].as_str().unwrap();
        paths.extend(["", "/journal?limit=200", "/explain"].map(|rest| format!("/operations/{id}{rest}")));
    }
    let mut said = Vec::new();
    for path in paths {
        let (status, text) = customer.send(Method::GET, &path, None, None).unwrap();
        assert_eq!(status, 200, "{path}: {text}");
        said.push((path, text));
    }
    for path in ["/kafka/platform.notifications.ingress", "/inbox/signed"] {
        said.push((path.to_owned(), at_sandbox(&sandbox.url, "GET", path, None).to_string()));
    }
    let log = server.going.err();
    assert!(log.contains("DEBUG"), "it says too little to prove anything: {log}");
    said.push(("the log".to_owned(), log));
    said
}

/// What is in the files of the database.
fn kept(place: &DataDirectory) -> Vec<(String, String)> {
    let mut kept = Vec::new();
    for entry in fs::read_dir(place.path("data")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with("engine.db") {
            kept.push((name, String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()));
        }
    }
    assert!(kept.len() > 1, "the write-ahead log counts too");
    assert!(kept.iter().any(|(_, text)| text.contains("launch_instances")), "this is not the database");
    kept
}

#[track_caller]
fn silent(what: &str, text: &str) {
    for secret in [CANARY, CANARY_IN_HEX, KEY_SECRET] {
        let Some(at) = text.find(secret) else { continue };
        let from = text[..at].char_indices().rev().nth(300).map_or(0, |(from, _)| from);
        let rest: String = text[at..].chars().take(200).collect();
        panic!("{what} has {secret}: …{}{rest}…", &text[from..at]);
    }
}
