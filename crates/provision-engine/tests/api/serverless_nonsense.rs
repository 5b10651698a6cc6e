//! Any method, any path, any header and any body: always JSON, never trouble, and never an answer that is not
//! described.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::stream;
use serde_json::json;
use server::body_within;

use crate::serverless_world::{FixtureOptions, RUNTIMES, nebula, nebula_with};

/// Numbers that look like chance and are the same every time.
struct ServerlessRandom(u64);

impl ServerlessRandom {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.roll(from.len())]
    }
}

const ROUNDS: usize = 1500;

fn path(dice: &mut ServerlessRandom) -> String {
    let id = dice.pick(&[
        "0",
        "1",
        "2147483647",
        "2147483648",
        "-1",
        "abc",
        "12abc",
        "%20",
        "%ff",
        "%00",
        "%2f",
        "..",
        "schema",
        "operations",
        "operations/x",
        "operations/00000000-0000-0000-0000-000000000000",
        "1/2",
        "",
    ]);
    let query = dice.pick(&[
        "",
        "",
        "",
        "?limit=5",
        "?limit=x",
        "?%ff=%ff&&==",
        "?state=RUNNING",
        "?name=%00",
        "?a=b",
    ]);
    match dice.roll(8) {
        0 | 1 => format!("{RUNTIMES}{query}"),
        2 => format!("/server/{id}{query}"),
        3 => format!("/engine/{id}{query}"),
        _ => format!("{RUNTIMES}/{id}{query}"),
    }
}

/// No flavour that exists: nothing is to be made here.
fn body(dice: &mut ServerlessRandom) -> Vec<u8> {
    let odd = [
        json!(null),
        json!(0),
        json!(-1),
        json!(1e308),
        json!(u64::MAX),
        json!(""),
        json!("\u{0}"),
        json!("NoSuch"),
        json!([]),
        json!([[[]]]),
        json!({}),
        json!(true),
        json!({"FLAVOUR": "NoSuch"}),
        json!({"FLAVOUR": 7}),
        json!({"FLAVOUR": ""}),
        json!("😀".repeat(200)),
        json!({"": {"": {"": null}}}),
        json!("]]>\"]\nCPU=9"),
        json!({"LATENCY_TO_PE": "x"}),
        json!({"POLICY": ["$USER"]}),
        json!({"FLAVOUR": "NoSuch", "CPU": 1.5}),
    ];
    let fields = ["NAME", "ID", "FAAS", "DAAS", "SCHEDULING", "DEVICE_INFO", "SERVICE_ID", "unknown", ""];
    let mut body = match dice.roll(5) {
        0 => odd[dice.roll(odd.len())].clone(),
        1 => json!({"SERVERLESS_RUNTIME": odd[dice.roll(odd.len())]}),
        _ => json!({"SERVERLESS_RUNTIME": {"FAAS": {"FLAVOUR": "NoSuch"}}}),
    };
    for _ in 0..dice.roll(3) {
        if let Some(members) = body.get_mut("SERVERLESS_RUNTIME").and_then(|inner| inner.as_object_mut()) {
            members.insert((*dice.pick(&fields)).to_owned(), odd[dice.roll(odd.len())].clone());
        }
    }
    let mut bytes = body.to_string().into_bytes();
    if dice.roll(6) == 0 {
        let at = dice.roll(bytes.len());
        bytes[at] = u8::try_from(dice.roll(256)).unwrap();
    }
    if dice.roll(15) == 0 {
        bytes.truncate(dice.roll(bytes.len()));
    }
    bytes
}

#[tokio::test]
async fn nothing_that_a_device_sends_brings_the_api_into_failure() {
    let world = nebula().await;
    let dice = &mut ServerlessRandom(7);
    let mut seen = BTreeSet::new();
    for _ in 0..ROUNDS {
        let method =
            dice.pick(&["GET", "GET", "POST", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS", "BREW"]);
        let (path, body) = (path(dice), body(dice));
        let line = format!("{method} {path} {}", String::from_utf8_lossy(&body));
        let mut ask = world.ask(method, &path).body(body);
        for header in ["authorization", "content-type", "prefer", "idempotency-key", "x-request-id"] {
            if dice.roll(20) == 0 {
                let values: [&[u8]; 6] =
                    [b"\xff\xfe", b"\t", b"", b"respond-async", b"Basic Og==", b"Bearer a b"];
                ask = ask.header_bytes(header, Some(dice.pick(&values)));
            }
        }
        // The call itself asserts that the answer is JSON and described.
        let answer = ask.send().await;
        let is_info = answer.status == 200 && ["GET", "HEAD"].contains(&method);
        assert!((400..500).contains(&answer.status) || is_info, "{line}: {answer:?}");
        seen.insert(answer.status);
    }
    let expect = [200, 400, 401, 404, 405, 422];
    assert!(expect.iter().all(|status| seen.contains(status)), "{seen:?}");
    assert_eq!((world.rows().await, world.standing().await.len()), ((0, 0), 0));
}

#[tokio::test]
async fn a_body_has_a_size_and_a_time() {
    let controls = FixtureOptions { body_limit_bytes: 1000, ..FixtureOptions::default() };
    let world = nebula_with(controls).await;
    for method in ["POST", "PUT"] {
        let path = if method == "POST" { RUNTIMES } else { "/serverless-runtimes/1" };
        let large = world.ask(method, path).body("x".repeat(1001)).send().await;
        large.is(413, "Request body too large");
        let pieces = stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(&[b' '; 100])));
        world
            .ask(method, path)
            .body(Body::from_stream(pieces))
            .send()
            .await
            .is(413, "Request body too large");
        let never = stream::pending::<Result<Bytes, std::io::Error>>();
        let never = body_within(Duration::from_millis(30), Body::from_stream(never));
        world.ask(method, path).body(never).send().await.is(408, "Request timeout");
        let broken = stream::iter([Err::<Bytes, _>(std::io::Error::other("cut"))]);
        world.ask(method, path).body(Body::from_stream(broken)).send().await.is(400, "Invalid JSON");
    }
    // A request without a known user is not read.
    let outsider = world.outsider("POST", RUNTIMES).body("x".repeat(1001)).send().await;
    outsider.is(401, "Authentication required");
}
