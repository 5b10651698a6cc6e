//! The version header: all minors from 2.11 on are welcome, and nothing else.

use crate::call::Call;
use crate::exam::{Exam, new_id};

pub(crate) async fn run(exam: &Exam) {
    let missing = [exam.options.missing_version];
    for (endpoint, call) in exam.every_endpoint() {
        for (kind, version, expect) in [
            ("missing", None, &missing),
            ("1.0", Some("1.0"), &[412]),
            ("3.0", Some("3.0"), &[412]),
            ("garbage", Some("conformance"), &[412]),
        ] {
            let answer = exam.send(call.clone().version(version)).await;
            let title = format!("{endpoint} is refused: version {kind}");
            exam.check(
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
        let answer = exam.send(Call::get("/v2/catalog").version(Some(version))).await;
        exam.check(
            format!("version.refused.{version}"),
            "1.1",
            "a version that is none is refused",
            answer.is(&[412]),
        );
    }
    for version in ["2.11", "2.12", "2.13", "2.14", "2.15", "2.16", "2.17", "2.99"] {
        accepted(exam, version).await;
    }
    let answer = exam.send(Call::get("/v2/catalog").version(Some("3.0"))).await;
    let named = answer.json["description"].as_str().is_some_and(|text| text.contains("2."));
    let verdict =
        answer.is(&[412]).and(named, || "expected the description to name the version to use".to_owned());
    exam.check("version.advice", "1.1", "a refusal says which version to use", verdict);
    let broken = exam.put(&new_id()).raw(Some("application/json"), "{").version(Some("1.0"));
    let answer = exam.send(broken).await;
    exam.check(
        "order.version-before-body",
        "1.5",
        "412 comes before a body that cannot be read",
        answer.is(&[412]),
    );
}

async fn accepted(exam: &Exam, version: &str) {
    let mut fault = None;
    for (endpoint, call) in exam.every_endpoint() {
        let answer = exam.send(call.version(Some(version))).await;
        let refused = answer.has(&[0, 401, 412])
            || answer.status >= 500
            || (endpoint == "catalog" && answer.status != 200);
        if refused {
            fault.get_or_insert(format!("{} -> {} {}", answer.request, answer.status, answer.text));
        }
    }
    exam.check(format!("version.accepted.{version}"), "1.1", "every endpoint takes this version", fault);
}
