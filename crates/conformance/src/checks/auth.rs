//! Who is let in: nobody without the right user and password, at no endpoint.

use serde_json::json;

use crate::answer::{Answer, Verdict};
use crate::call::{Call, Login};
use crate::exam::{Exam, new_id};
use crate::wire::basic;

pub(crate) async fn run(exam: &Exam) {
    let raw = |value: &str| Login::Raw(value.to_owned());
    let wrong = [
        ("missing", Login::Missing),
        ("user", Login::Raw(basic("conformance-nobody", "conformance-nothing"))),
        ("base64", raw("Basic !!not base64!!")),
        ("bearer", raw("Bearer bm90OmEudG9rZW4.conformance.x")),
        ("password", exam.wire.wrong_password()),
    ];
    for (endpoint, call) in exam.every_endpoint() {
        for (kind, login) in &wrong {
            let answer = exam.send(call.clone().login(login.clone())).await;
            let title = format!("{endpoint} is refused: {kind} wrong");
            exam.check(format!("auth.{kind}.{endpoint}"), "1.1", title, refused(&answer));
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
        let answer = exam.send(Call::get("/v2/catalog").login(login)).await;
        exam.check(format!("auth.{kind}"), "1.1", format!("a login is refused: {kind}"), refused(&answer));
    }
    first(exam).await;
}

/// Nothing else is looked at before the login.
async fn first(exam: &Exam) {
    let broken = exam.put(&new_id()).raw(Some("application/json"), "{");
    for (id, call) in [
        ("version", Call::get("/v2/catalog").version(None)),
        ("body", broken),
        ("route", Call::get("/v2/conformance")),
        ("method", Call::new(reqwest::Method::POST, "/v2/catalog").json(&json!({}))),
    ] {
        let answer = exam.send(call.login(Login::Missing)).await;
        exam.check(
            format!("order.auth-before-{id}"),
            "1.5",
            format!("401 comes before a fault in the {id}"),
            refused(&answer),
        );
    }
}

fn refused(answer: &Answer) -> Verdict<'_> {
    answer.is(&[401]).with_header("www-authenticate").with_description()
}
