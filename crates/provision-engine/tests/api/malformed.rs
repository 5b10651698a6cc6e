//! Nonsense of every kind gets a problem, never a panic, never HTML.

use std::net::SocketAddr;

use axum::body::{Body, Bytes};
use futures_util::stream;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::world::{ApiFixture, settings, world, world_with};

async fn submit(world: &ApiFixture, body: impl Into<Body>) -> crate::world::TestResponse {
    let call = world.call("POST", "/operations").token(&world.admin);
    call.header("content-type", "application/json; charset=utf-8").body(body).send().await
}

#[tokio::test]
async fn bodies_that_are_not_json_say_where() {
    let world = world().await;
    for body in [
        &b""[..],
        b"{",
        b"\0",
        b"{\"workflow\": \"test.letters\"",
        b"{\"workflow\": \"\xff\xfe\"}",
        b"\xef\xbb\xbf{}",
        b"{'workflow': 'x'}",
        b"<html></html>",
        b"{\"workflow\": \"test.letters\"} {}",
        b"{\"workflow\": \"\\ud800\"}",
        b"{\"workflow\": \"a\nb\"}",
    ] {
        let answer = submit(&world, body).await.is(400, "malformed-json");
        assert!(answer.json["line"].is_u64() && answer.json["column"].is_u64(), "{}", answer.text);
    }
    for opening in ["[", "{\"a\":"] {
        let deep = format!("{{\"workflow\": \"test.letters\", \"params\": {}", opening.repeat(10_000));
        let answer = submit(&world, deep).await.is(400, "malformed-json");
        assert!(answer.json["detail"].as_str().unwrap().contains("recursion limit"), "{}", answer.text);
    }
}

#[tokio::test]
async fn bodies_of_the_wrong_shape_name_the_field() {
    let world = world().await;
    for (body, part) in [
        ("null", "expected struct"),
        ("[]", ""),
        ("7", "expected struct"),
        ("\"x\"", "expected struct"),
        ("{}", "missing field `workflow`"),
        ("{\"workflow\": null}", "workflow"),
        ("{\"workflow\": [\"a\"]}", "workflow"),
        ("{\"workflow\": \"a\", \"workflow\": \"b\"}", "duplicate field `workflow`"),
        ("{\"workflow\": \"a\", \"queue\": \"yes\"}", "queue"),
        ("{\"workflow\": \"a\", \"tenant\": 5}", "tenant"),
        ("{\"workflow\": \"a\", \"WORKFLOW\": \"b\"}", "unknown field `WORKFLOW`"),
        ("{\"workflow\": \"a\", \"__proto__\": {}}", "unknown field `__proto__`"),
    ] {
        let answer = submit(&world, body).await.is(400, "invalid-body");
        assert!(answer.json["detail"].as_str().unwrap().contains(part), "{body}: {}", answer.text);
    }
    let nul = "{\"workflow\": \"test\\u0000letters\"}";
    submit(&world, nul).await.is(422, "unknown-workflow");
    let twice = "{\"workflow\": \"test.letters\", \"params\": {\"then\": \"fail\", \"then\": \"succeed\"}}";
    assert_eq!(submit(&world, twice).await.status, 202, "in params the last one counts, as JSON says");
    let big = "{\"workflow\": \"test.letters\", \"params\": {\"then\": 1e999}}";
    submit(&world, big).await.is(400, "malformed-json");
}

#[tokio::test]
async fn a_body_must_be_json_by_name_and_not_too_large() {
    let world = world_with(server::ServerSettings { body_limit_bytes: 1000, ..settings() }).await;
    let body = json!({"workflow": "test.letters", "params": {"then": "succeed"}}).to_string();
    let call = |kind: &str| {
        world
            .call("POST", "/operations")
            .token(&world.admin)
            .header("content-type", kind)
            .body(body.clone())
            .send()
    };
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "", "json"] {
        call(kind).await.is(415, "unsupported-media-type");
    }
    let none = world.call("POST", "/operations").token(&world.admin).body(body.clone()).send().await;
    none.is(415, "unsupported-media-type");
    for kind in ["application/json", "Application/JSON; charset=utf-8", "application/vnd.x+json"] {
        assert_eq!(call(kind).await.status, 202);
    }
    let large = format!("{{\"workflow\": \"{}\"}}", "x".repeat(1000));
    let answer = submit(&world, large).await.is(413, "body-too-large");
    assert_eq!(answer.json["limit"], 1000);
    // Without a length in the head the limit holds all the same.
    let chunks = (0..1000).map(|_| Ok::<_, std::io::Error>(Bytes::from_static(&[b' '; 100])));
    submit(&world, Body::from_stream(stream::iter(chunks))).await.is(413, "body-too-large");
    let broken = stream::iter([Ok(Bytes::from_static(b"{")), Err(std::io::Error::other("gone"))]);
    submit(&world, Body::from_stream(broken)).await.is(400, "invalid-body");
}

#[tokio::test]
async fn paths_and_methods_that_do_not_exist_are_told_apart() {
    let world = world().await;
    for path in ["/", "/operation", "/operations/", "/OPERATIONS", "/%00", "/a/b/c/d/e/f", "/.git/config"] {
        world.call("GET", path).send().await.is(404, "not-found");
    }
    for (method, path, allow) in [
        ("PUT", "/operations", "GET, HEAD, POST"),
        ("DELETE", "/operations/1", "GET, HEAD"),
        ("GET", "/operations/1/cancel", "POST"),
        ("OPTIONS", "/tokens/x", "DELETE"),
        ("POST", "/healthz", "GET, HEAD"),
        ("TRACE", "/metrics", "GET, HEAD"),
        ("BREW", "/audit", "GET, HEAD"),
    ] {
        let answer = world.call(method, path).token(&world.admin).send().await.is(405, "method-not-allowed");
        assert_eq!(answer.header("allow"), allow, "{method} {path}");
    }
    let many = "a=1&".repeat(100);
    world.get(&format!("/operations?{many}")).await.is(400, "unknown-parameter");
    world.get("/operations?%ff=%ff").await.is(400, "unknown-parameter");
    world.get("/workflows/%ff").await.is(400, "invalid-parameter");
}

#[tokio::test]
async fn a_request_id_is_kept_when_it_is_sane() {
    let world = world().await;
    let call = |id: &str| world.call("GET", "/nowhere").header("x-request-id", id).send();
    let kept = call("abc-1.2_3").await;
    assert_eq!((kept.header("x-request-id"), &kept.json["instance"]), ("abc-1.2_3", &json!("abc-1.2_3")));
    for bad in ["a b", "a;b", "", &"x".repeat(65), &"x".repeat(64 * 1024)] {
        let answer = call(bad).await;
        assert_eq!(answer.header("x-request-id").len(), 16, "{bad}");
    }
    let raw = world.call("GET", "/nowhere").header_bytes("x-request-id", b"\xff\xfe").send().await;
    assert_eq!(raw.header("x-request-id").len(), 16);
}

async fn serve(world: &ApiFixture) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let router = world.router.clone();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    addr
}

async fn raw(addr: SocketAddr, request: &[u8]) -> String {
    let mut socket = TcpStream::connect(addr).await.unwrap();
    // A server that refuses may close before it has read everything.
    let _ = socket.write_all(request).await;
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn nonsense_on_a_real_socket_gets_an_answer_and_the_server_goes_on() {
    let world = world().await;
    let addr = serve(&world).await;
    let long_header = format!(
        "GET /operations HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {}\r\n\r\n",
        "a".repeat(64 * 1024)
    );
    let answer = raw(addr, long_header.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert!(answer.contains("application/problem+json"), "{answer}");
    let long_path = format!("GET /{} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", "a".repeat(20_000));
    let answer = raw(addr, long_path.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 404") && answer.contains("\"code\":\"not-found\""), "{answer}");
    let huge = format!("GET / HTTP/1.1\r\nhost: x\r\nx-a: {}\r\n\r\n", "a".repeat(600_000));
    for request in [&b"\0\0\0\0\r\n\r\n"[..], b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", huge.as_bytes()] {
        let answer = raw(addr, request).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
        assert!(!answer.contains('<'), "{answer}");
    }
    let fine = raw(addr, b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    assert!(fine.starts_with("HTTP/1.1 200") && fine.ends_with("{\"status\":\"alive\"}"), "{fine}");
}
