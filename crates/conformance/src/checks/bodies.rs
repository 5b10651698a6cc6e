//! Bodies that cannot be read, and content types.

use serde_json::{Value, json};

use crate::call::BrokerCall;
use crate::checker::{Checker, new_id};

/// More than any parser should follow.
const DEPTH: usize = 20_000;

pub(crate) async fn run(checker: &Checker) {
    let (id, bid) = (&new_id(), &new_id());
    let update = json!({ "service_id": checker.service["id"] });
    let endpoints = [
        ("provision", checker.put(id).impatient(), checker.body()),
        ("update", checker.patch(id, &update).impatient(), update.clone()),
        ("bind", checker.bind(id, bid), checker.binding_body()),
    ];
    for (endpoint, call, body) in endpoints {
        unreadable(checker, endpoint, &call, &body).await;
        readable(checker, endpoint, &call, &body).await;
    }
    oversize(checker).await;
}

async fn unreadable(checker: &Checker, endpoint: &str, call: &BrokerCall, body: &Value) {
    let json = Some("application/json");
    let text = body.to_string();
    let cut = text.len() / 2;
    let invalid = [b"{\"service_id\":\"\xff\xfe".as_slice(), b"\"}"].concat();
    let deep = ["[".repeat(DEPTH), "]".repeat(DEPTH)].concat();
    for (kind, content_type, bytes) in [
        ("text", Some("text/plain"), text.clone().into_bytes()),
        ("form", Some("application/x-www-form-urlencoded"), text.clone().into_bytes()),
        ("xml", Some("application/xml"), text.clone().into_bytes()),
        ("empty", json, Vec::new()),
        ("malformed", json, b"{\"service_id\": conformance}".to_vec()),
        ("truncated", json, text.as_bytes()[..cut].to_vec()),
        ("trailing", json, [text.as_bytes(), b" {}"].concat()),
        ("array", json, b"[]".to_vec()),
        ("string", json, b"\"conformance\"".to_vec()),
        ("null", json, b"null".to_vec()),
        ("not-unicode", json, invalid),
        ("deep", json, deep.into_bytes()),
    ] {
        let answer = checker.send(call.clone().raw(content_type, bytes)).await;
        let title = format!("{endpoint}: a body that cannot be read is refused: {kind}");
        checker.check(format!("body.{kind}.{endpoint}"), "1.1", title, answer.is(&[400]).with_description());
    }
}

/// The same question asked in another form gets the same status.
async fn readable(checker: &Checker, endpoint: &str, call: &BrokerCall, body: &Value) {
    let plain = checker.send(call.clone()).await;
    let mut more = body.clone();
    more["conformance_does_not_know"] = json!({ "a": [1, null] });
    let text = body.to_string();
    for (kind, content_type, text) in [
        ("no-type", None, text.clone()),
        ("charset", Some("application/json; charset=utf-8"), text.clone()),
        ("capitals", Some("Application/JSON"), text),
        ("unknown-field", Some("application/json"), more.to_string()),
    ] {
        let answer = checker.send(call.clone().raw(content_type, text)).await;
        let verdict = answer.is(&[plain.status]).and(!plain.has(&[0, 400]) && plain.status < 500, || {
            format!("the plain request was answered with {}", plain.status)
        });
        let title = format!("{endpoint}: a body in an unusual form is read: {kind}");
        checker.check(format!("body.{kind}.{endpoint}"), "1.1", title, verdict);
    }
}

/// A server may close the connection on a body that it does not want to read to the end.
async fn oversize(checker: &Checker) {
    let mut body = checker.body();
    body["conformance_is_large"] = Value::from("x".repeat(checker.options.oversize_bytes));
    let answer = checker.wire.send_unseen(checker.put_with(&new_id(), &body)).await;
    let title = "a body that is too large is refused";
    let in_time = answer.status != 0 || !answer.text.contains("timed out");
    let verdict = answer.is(&[400, 413, 0]).and(in_time, || "expected an error in time".to_owned());
    checker.check("body.oversize", "1.1", title, verdict);
    let after = checker.send(BrokerCall::get("/v2/catalog")).await;
    checker.check(
        "body.oversize.after",
        "1.1",
        "the broker still answers after a body too large",
        after.is(&[200]),
    );
}
