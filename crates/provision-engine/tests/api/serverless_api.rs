//! The description of the API is the API, its lines are in the log, and a socket sees what a caller sees.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::serverless_world::{RUNTIMES, basic, function, nebula};

const SNAPSHOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api/serverless.json");

#[test]
fn the_description_is_the_one_in_the_docs() {
    let text = format!("{}\n", ::serverless::api::openapi().to_pretty_json().unwrap());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(Path::new(SNAPSHOT).parent().unwrap()).unwrap();
        std::fs::write(SNAPSHOT, &text).unwrap();
    }
    let saved = std::fs::read_to_string(SNAPSHOT).unwrap_or_default();
    assert!(
        saved == text,
        "the API changed: look at the difference after `UPDATE=1 cargo test -p provision-engine --test api serverless`, \
         and keep docs/api/serverless.json if it is meant"
    );
}

#[test]
fn every_reference_leads_somewhere_and_every_route_says_who_may_use_it() {
    let api = serde_json::to_value(::serverless::api::openapi()).unwrap();
    let text = api.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1) {
        let pointer = reference.split('"').next().unwrap();
        assert!(api.pointer(pointer).is_some(), "{pointer} leads nowhere");
    }
    let mut names = BTreeSet::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            assert!(names.insert(operation["operationId"].to_string()), "{}", operation["operationId"]);
            let is_public = operation["tags"] == json!(["server"]);
            assert_eq!(is_public, operation["security"].is_null(), "{method} {path}");
            assert!(operation["summary"].is_string(), "{method} {path}");
        }
    }
    assert_eq!(names.len(), 11);
}

#[tokio::test]
async fn the_description_is_served() {
    let world = crate::world::world().await;
    let served = world.call("GET", "/openapi/serverless.json").send().await;
    assert_eq!(served.json, serde_json::to_value(::serverless::api::openapi()).unwrap());
}

#[tokio::test]
async fn without_opennebula_there_is_no_such_api() {
    let world = crate::world::world().await;
    for path in [RUNTIMES, "/server/version", "/serverless-runtimes/schema"] {
        world.call("GET", path).send().await.is(404, "not-found");
    }
}

/// Sends a request over a socket and answers the head and the body of what comes back.
async fn over_a_socket(address: SocketAddr, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_lowercase(), body.to_owned())
}

#[tokio::test]
async fn a_socket_sees_the_headers_of_the_engine_whose_place_this_takes() {
    let world = nebula().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = world.router.clone().into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    let (user, body) = (basic("cognit:cognitpass"), function("Function").to_string());
    let end = format!("host: a\r\nauthorization: {user}\r\nconnection: close\r\n");
    let length = body.len();
    let post = format!("POST {RUNTIMES} HTTP/1.1\r\n{end}content-length: {length}\r\n\r\n{body}");
    let (head, answer) = over_a_socket(address, &post).await;
    assert!(head.starts_with("http/1.1 201 created"), "{head}");
    let made: Value = serde_json::from_str(&answer).unwrap();
    let id = made["SERVERLESS_RUNTIME"]["ID"].as_i64().unwrap();
    for line in [
        "content-type: application/json",
        "x-content-type-options: nosniff",
        &format!("location: {RUNTIMES}/{id}"),
        &format!("content-length: {}", answer.len()),
    ] {
        assert!(head.lines().any(|own| own == line), "{line} is not in {head}");
    }
    let delete = format!("DELETE {RUNTIMES}/{id} HTTP/1.1\r\n{end}\r\n");
    let (head, answer) = over_a_socket(address, &delete).await;
    assert!(head.starts_with("http/1.1 204 no content") && answer.is_empty(), "{head}");
    assert!(!head.contains("content-type:") && !head.contains("content-length:"), "{head}");
    let (head, answer) = over_a_socket(address, &format!("HEAD /server/version HTTP/1.1\r\n{end}\r\n")).await;
    assert!(head.contains("content-length: 7") && answer.is_empty(), "{head}");
}
