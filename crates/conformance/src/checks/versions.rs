//! The version header: all minors from 2.11 on are welcome, and nothing else.

use crate::call::BrokerCall;
use crate::checker::{Checker, new_id};

pub(crate) async fn run(checker: &Checker) {
    let missing = [checker.options.missing_version];
    for (endpoint, call) in checker.every_endpoint() {
        for (kind, version, expect) in [
            ("missing", None, &missing),
            ("1.0", Some("1.0"), &[412]),
            ("3.0", Some("3.0"), &[412]),
            ("garbage", Some("conformance"), &[412]),
        ] {
            let answer = checker.send(call.clone().version(version)).await;
            let title = format!("{endpoint} is refused: version {kind}");
            checker.check(
                format!("version.{kind}.{endpoint}"),
                "1.1",
                title,
                answer.is(expect).with_description(),
            );
        }
    }
    for version in
        ["2.10", "2.0", "2", "2.", ".17", "2.x", "v2.17", "2.17.1", "-2.17", "2.-17", "2.17 3.0", "12.17"]
    {
        let answer = checker.send(BrokerCall::get("/v2/catalog").version(Some(version))).await;
        checker.check(
            format!("version.refused.{version}"),
            "1.1",
            "a version that is none is refused",
            answer.is(&[412]),
        );
    }
    for version in ["2.11", "2.12", "2.13", "2.14", "2.15", "2.16", "2.17", "2.99"] {
        accepted(checker, version).await;
    }
    let answer = checker.send(BrokerCall::get("/v2/catalog").version(Some("3.0"))).await;
    let named = answer.json["description"].as_str().is_some_and(|text| text.contains("2."));
    let verdict =
        answer.is(&[412]).and(named, || "expected the description to name the version to use".to_owned());
    checker.check("version.advice", "1.1", "an error says which version to use", verdict);
    let broken = checker.put(&new_id()).raw(Some("application/json"), "{").version(Some("1.0"));
    let answer = checker.send(broken).await;
    checker.check(
        "order.version-before-body",
        "1.5",
        "412 comes before a body that cannot be read",
        answer.is(&[412]),
    );
}

async fn accepted(checker: &Checker, version: &str) {
    let mut fault = None;
    for (endpoint, call) in checker.every_endpoint() {
        let answer = checker.send(call.version(Some(version))).await;
        let refused = answer.has(&[0, 401, 412])
            || answer.status >= 500
            || (endpoint == "catalog" && answer.status != 200);
        if refused {
            fault.get_or_insert(format!("{} -> {} {}", answer.request, answer.status, answer.text));
        }
    }
    checker.check(format!("version.accepted.{version}"), "1.1", "every endpoint takes this version", fault);
}
