//! The two optional headers for identities: no request fails because of them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::answer::Verdict;
use crate::call::{BrokerCall, Login};
use crate::checker::{Checker, new_id};

const REQUEST: &str = "x-broker-api-request-identity";
const ORIGINATING: &str = "x-broker-api-originating-identity";

pub(crate) async fn run(checker: &Checker) {
    request_identity(checker).await;
    originating_identity(checker).await;
}

async fn request_identity(checker: &Checker) {
    for (endpoint, call) in checker.every_endpoint() {
        let sent = new_id();
        let answer = checker.send(call.header(REQUEST, sent.as_bytes())).await;
        let echoed = answer.header(REQUEST) == Some(sent.as_str());
        let verdict = Verdict::of(&answer).and(echoed, || format!("expected {REQUEST}: {sent}"));
        checker.check(
            format!("identity.echo.{endpoint}"),
            "1.1",
            format!("{endpoint} sends the request identity back"),
            verdict,
        );
    }
    for (kind, call) in [
        ("401", BrokerCall::get("/v2/catalog").login(Login::Missing)),
        ("412", BrokerCall::get("/v2/catalog").version(Some("1.0"))),
        ("404", BrokerCall::get("/v2/conformance")),
    ] {
        let answer = checker.send(call.header(REQUEST, b"conformance-1")).await;
        let echoed = answer.header(REQUEST) == Some("conformance-1");
        let verdict = Verdict::of(&answer).and(echoed, || "expected the identity back".to_owned());
        checker.check(
            format!("identity.echo.{kind}"),
            "1.1",
            format!("a {kind} sends the request identity back"),
            verdict,
        );
    }
    let answer = checker.send(BrokerCall::get("/v2/catalog").header(REQUEST, b"con\tfor\tmance")).await;
    let bytes = answer.headers.get(REQUEST).map(|value| value.as_bytes().to_vec());
    let clean = bytes.as_deref() == Some(b"conformance");
    let verdict = answer.is(&[200]).and(clean, || "expected the identity without its tabs".to_owned());
    checker.check(
        "identity.control",
        "1.1",
        "control characters are taken out of the request identity",
        verdict,
    );
    let answer = checker.send(BrokerCall::get("/v2/catalog")).await;
    let title = "a request without an identity gets one";
    checker.check("identity.made", "1.1", title, answer.is(&[200]).with_header(REQUEST));
    let answer =
        checker.send(BrokerCall::get("/v2/catalog").header(REQUEST, "x".repeat(6_000).as_bytes())).await;
    checker.check(
        "identity.long",
        "1.1",
        "a long request identity does no harm",
        answer.is(&[200, 400, 431]),
    );
}

async fn originating_identity(checker: &Checker) {
    let encoded = |json: &serde_json::Value| format!("cloudfoundry {}", STANDARD.encode(json.to_string()));
    for (kind, value, expect) in [
        ("cloudfoundry", encoded(&json!({ "user_id": new_id() })), &[404][..]),
        ("other-fields", encoded(&json!({ "user_id": "a", "conformance": [1] })), &[404]),
        (
            "kubernetes",
            format!("kubernetes {}", STANDARD.encode(r#"{"username":"u","uid":"1","groups":["g"]}"#)),
            &[404],
        ),
        ("not-base64", "cloudfoundry !!!".to_owned(), &[404, 400]),
        ("not-json", format!("cloudfoundry {}", STANDARD.encode("conformance")), &[404, 400]),
        ("not-an-object", encoded(&json!([1, 2])), &[404, 400]),
        ("one-word", "cloudfoundry".to_owned(), &[404, 400]),
        ("empty", String::new(), &[404, 400]),
        ("long", encoded(&json!({ "user_id": "u".repeat(9_000) })), &[404, 400, 431]),
    ] {
        let answer =
            checker.send(checker.last_operation(&new_id()).header(ORIGINATING, value.as_bytes())).await;
        let title = format!("an originating identity does no harm: {kind}");
        checker.check(format!("identity.originating.{kind}"), "1.1", title, answer.is(expect));
    }
}
