//! Authentication: every endpoint demands the right user and password.

use serde_json::json;

use crate::answer::{BrokerResponse, Verdict};
use crate::call::{BrokerCall, Login};
use crate::checker::{Checker, new_id};
use crate::wire::basic;

pub(crate) async fn run(checker: &Checker) {
    let raw = |value: &str| Login::Raw(value.to_owned());
    let wrong = [
        ("missing", Login::Missing),
        ("user", Login::Raw(basic("conformance-unknown", "conformance-nothing"))),
        ("base64", raw("Basic !!not base64!!")),
        ("bearer", raw("Bearer bm90OmEudG9rZW4.conformance.x")),
        ("password", checker.wire.wrong_password()),
    ];
    for (endpoint, call) in checker.every_endpoint() {
        for (kind, login) in &wrong {
            let answer = checker.send(call.clone().login(login.clone())).await;
            let title = format!("{endpoint} is refused: {kind} wrong");
            checker.check(format!("auth.{kind}.{endpoint}"), "1.1", title, refused(&answer));
        }
    }
    for (kind, login) in [
        ("empty", raw("")),
        ("scheme-only", raw("Basic")),
        ("no-colon", raw("Basic Y29uZm9ybWFuY2U=")),
        ("digest", raw("Digest username=\"conformance\"")),
        ("empty-both", Login::Raw(basic("", ""))),
        ("not-text", raw("Basic //79+w==")),
    ] {
        let answer = checker.send(BrokerCall::get("/v2/catalog").login(login)).await;
        checker.check(format!("auth.{kind}"), "1.1", format!("a login is refused: {kind}"), refused(&answer));
    }
    first(checker).await;
}

/// Nothing else is looked at before the login.
async fn first(checker: &Checker) {
    let broken = checker.put(&new_id()).raw(Some("application/json"), "{");
    for (id, call) in [
        ("version", BrokerCall::get("/v2/catalog").version(None)),
        ("body", broken),
        ("route", BrokerCall::get("/v2/conformance")),
        ("method", BrokerCall::new(reqwest::Method::POST, "/v2/catalog").json(&json!({}))),
    ] {
        let answer = checker.send(call.login(Login::Missing)).await;
        checker.check(
            format!("order.auth-before-{id}"),
            "1.5",
            format!("401 comes before a fault in the {id}"),
            refused(&answer),
        );
    }
}

fn refused(answer: &BrokerResponse) -> Verdict<'_> {
    answer.is(&[401]).with_header("www-authenticate").with_description()
}
