//! Bindings of a ready instance, from the first PUT to the time after the deletion.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::answer::{BrokerResponse, Verdict};
use crate::checker::{Checker, new_id};
use crate::checks::progress::PendingOperation;
use crate::report::CheckOutcome;
use crate::shape::SchemaShape;

const CROWD: usize = 8;

pub(crate) async fn run(checker: &Checker, id: &str) {
    if !checker.is_bindable() {
        checker.skip("bind", "1.2", "bindings of an instance", "the plan is not bindable");
        return;
    }
    let bid = &new_id();
    let Some(bound) = first(checker, id, bid).await else {
        return remove(checker, id, bid).await;
    };
    again(checker, id, bid, &bound).await;
    fetch(checker, id, bid, &bound).await;
    shape(checker, &bound);
    live(checker, id, bid).await;
    unbind(checker, id, bid).await;
    others(checker, id).await;
    crowd(checker, id).await;
}

/// The answer with the binding in it, sooner or later.
async fn first(checker: &Checker, id: &str, bid: &str) -> Option<Arc<BrokerResponse>> {
    let began = checker.held(begin(checker, id, bid)).await;
    if began.status != 202 {
        checker.skip("binding", "1.4", "a binding being made", "there is no operation to look at");
        return Some(began).filter(|began| began.status == 201);
    }
    let last = checker.settle(checker.last_operation_of_binding(id, bid)).await;
    let verdict = last.is(&[200]).with("state", &json!("succeeded"));
    checker.check("bind.async.end", "1.2", "the binding succeeds", verdict);
    let bound = checker.send(checker.fetch_binding(id, bid)).await;
    checker.check("bind.async.fetch", "1.2", "a binding that took time can be fetched", bound.is(&[200]));
    Some(bound).filter(|bound| bound.status == 200)
}

/// Asks for a binding, and looks at it while it is being made.
async fn begin(checker: &Checker, id: &str, bid: &str) -> Arc<BrokerResponse> {
    let began = checker.send(checker.bind(id, bid)).await;
    checker.check(
        "bind.first",
        "1.2",
        "a binding is accepted",
        began.is(&[201, 202]).with_operation_when_async(),
    );
    let demanded = began.json["error"] == "RequiresApp";
    let verdict = began.is(&[201, 202]).and(!demanded, || "expected no demand for an app".to_owned());
    checker.check("bind.app", "1.2", "a binding needs no app", verdict);
    if began.status != 202 {
        return began;
    }
    checker.check(
        "bind.async.credentials",
        "1.2",
        "a 202 has no credentials",
        began.is(&[202]).without("credentials"),
    );
    let now =
        PendingOperation { checker, state: "binding", last: checker.last_operation_of_binding(id, bid) };
    now.joined("put.same", "the same PUT joins the operation", checker.bind(id, bid), &began).await;
    now.polled().await;
    now.check("fetch", "it cannot be fetched yet", checker.fetch_binding(id, bid), |answer| {
        answer.is(&[404]).into()
    })
    .await;
    began
}

async fn again(checker: &Checker, id: &str, bid: &str, bound: &BrokerResponse) {
    let answer = checker.send(checker.bind(id, bid)).await;
    checker.check("bind.again", "1.2", "the same PUT is answered with 200", answer.is(&[200]));
    let verdict = answer.is(&[200]).with("credentials", &bound.json["credentials"]);
    checker.check("bind.again.credentials", "1.2", "and with the same credentials", verdict);
    let other_plan = checker.other_plan().map(|plan| ("plan_id", plan["id"].clone()));
    let shape = SchemaShape::new(checker.schema("service_binding/create"));
    let legal = shape.legal();
    let other_parameters = shape.changed(&legal, &legal).map(|other| ("parameters", other));
    for (kind, change) in [("plan", other_plan), ("parameters", other_parameters)] {
        let (check, title) = (format!("bind.other.{kind}"), "a PUT for something else conflicts");
        match change {
            Some((field, value)) => {
                let mut body = checker.binding_body();
                body[field] = value;
                let answer = checker.send(checker.bind_with(id, bid, &body)).await;
                checker.check(check, "1.5", title, answer.is(&[409]).with_description());
            }
            None => checker.skip(check, "1.5", title, "the catalog gives no choice"),
        }
    }
    let last = checker.send(checker.last_operation_of_binding(id, bid)).await;
    let silent = last.status == 404 && bound.status == 201;
    let verdict = if silent { last.is(&[404]) } else { last.is(&[200]).with("state", &json!("succeeded")) };
    checker.check(
        "bind.last_operation",
        "1.4",
        "the last operation of a binding succeeded, if it has one",
        verdict,
    );
}

async fn fetch(checker: &Checker, id: &str, bid: &str, bound: &BrokerResponse) {
    let answer = checker.send(checker.fetch_binding(id, &new_id())).await;
    checker.check(
        "bind.fetch.unknown",
        "1.2",
        "a binding that is not there cannot be fetched",
        answer.is(&[404]),
    );
    let answer = checker.send(checker.fetch_binding(&new_id(), bid)).await;
    checker.check("bind.fetch.elsewhere", "1.2", "a binding belongs to its instance", answer.is(&[404]));
    let title = "a binding can be fetched, with its credentials";
    if checker.service["bindings_retrievable"] == true {
        let answer = checker.send(checker.fetch_binding(id, bid)).await;
        let verdict = answer.is(&[200]).with("credentials", &bound.json["credentials"]);
        checker.check("bind.fetch", "1.2", title, verdict);
    } else {
        checker.skip("bind.fetch", "1.2", title, "the offering does not say so");
    }
}

fn shape(checker: &Checker, bound: &BrokerResponse) {
    let of = || Verdict::of(bound);
    let credentials = bound.json.get("credentials");
    let fine = credentials.is_none_or(Value::is_object);
    checker.check(
        "bind.credentials",
        "1.2",
        "credentials are an object",
        of().and(fine, || "they are not".to_owned()),
    );
    for field in ["expires_at", "renew_before"] {
        let value = &bound.json["metadata"][field];
        let fine = value.is_null() || value.as_str().is_some_and(is_time);
        let verdict = of().and(fine, || format!("expected {field} to be a time in UTC, it is {value}"));
        checker.check(format!("bind.{field}"), "1.2", format!("{field} is a time"), verdict);
    }
    let requires = crate::array(&checker.service["requires"]);
    for (field, permission) in [
        ("syslog_drain_url", "syslog_drain"),
        ("route_service_url", "route_forwarding"),
        ("volume_mounts", "volume_mount"),
    ] {
        let allowed = bound.json[field].is_null() || requires.contains(&json!(permission));
        let verdict = of().and(allowed, || format!("expected {permission} in requires of the catalog"));
        checker.check(format!("bind.{field}"), "1.2", format!("{field} needs a permission"), verdict);
    }
    let whole = |endpoint: &Value| endpoint["host"].is_string() && endpoint["ports"].is_array();
    let fine = crate::array(&bound.json["endpoints"]).iter().all(whole);
    checker.check(
        "bind.endpoints",
        "1.2",
        "endpoints have a host and ports",
        of().and(fine, || "they do not".to_owned()),
    );
}

/// `2030-01-31T12:00:00.0Z`, the only form that the platforms share.
fn is_time(text: &str) -> bool {
    let digits = "dddd-dd-ddTdd:dd:dd";
    let shape = |(have, want): (char, char)| if want == 'd' { have.is_ascii_digit() } else { have == want };
    text.len() > digits.len()
        && text.chars().zip(digits.chars()).all(shape)
        && text.get(digits.len()..).is_some_and(|rest| rest.ends_with('Z') || rest.contains(['+', '-']))
}

/// An instance with a binding is not deleted, and neither is a binding that is not named in full.
async fn live(checker: &Checker, id: &str, bid: &str) {
    let answer = checker.send(checker.delete(id)).await;
    let counted = answer.json["description"].as_str().is_some_and(|text| text.contains('1'));
    let verdict =
        answer.is(&[422]).and(counted, || "expected the number of bindings in the description".to_owned());
    checker.check("bind.live", "1.7", "an instance with a binding is not deleted", verdict);
    for field in ["service_id", "plan_id"] {
        let answer = checker.send(checker.unbind(id, bid).without(field)).await;
        checker.check(
            format!("unbind.{field}"),
            "1.2",
            format!("an unbind without {field} is refused"),
            answer.is(&[400]),
        );
    }
    let answer = checker.send(checker.bind(id, bid)).await;
    checker.check("bind.live.kept", "1.1", "then the binding is still there", answer.is(&[200]));
}

async fn unbind(checker: &Checker, id: &str, bid: &str) {
    let answer = checker.send(checker.unbind(id, bid)).await;
    checker.check(
        "unbind.first",
        "1.2",
        "an unbind is accepted",
        answer.is(&[200, 202]).with_operation_when_async(),
    );
    let last = checker.settle(checker.last_operation_of_binding(id, bid)).await;
    if answer.status == 202 {
        let over = last.status == 410 || last.state() == Some("succeeded");
        let verdict = last.is(&[200, 410]).and(over, || "expected the unbind to succeed".to_owned());
        checker.check("unbind.end", "1.2", "the unbind succeeds", verdict);
    }
    let answer = checker.send(checker.unbind(id, bid)).await;
    checker.check("unbind.again", "1.2", "then the binding is gone", answer.is(&[410]).with_description());
    let answer = checker.send(checker.fetch_binding(id, bid)).await;
    checker.check("unbind.fetch", "1.2", "then it cannot be fetched", answer.is(&[404]));
    let answer = checker.send(checker.bind(id, bid)).await;
    checker.check("unbind.reuse", "1.4", "then its id is not used again", answer.is(&[409]));
    let answer = checker.send(checker.unbind(id, &new_id())).await;
    checker.check("unbind.unknown", "1.2", "a binding that never was is gone", answer.is(&[410]));
}

/// Other ways to ask for a binding. Each is taken back at once.
async fn others(checker: &Checker, id: &str) {
    let mut bare = checker.binding_body();
    bare["bind_resource"] = json!({});
    let mut more = checker.binding_body();
    more["conformance"] = json!([1]);
    more["context"] = checker.body()["context"].clone();
    for (kind, bid, body) in [
        ("bind_resource.empty", new_id(), bare),
        ("unknown-field", new_id(), more),
        ("odd-id", format!("ïd 100% {}", new_id()), checker.binding_body()),
    ] {
        let answer = checker.send(checker.bind_with(id, &bid, &body)).await;
        checker.check(
            format!("bind.{kind}"),
            "1.5",
            format!("a binding is accepted: {kind}"),
            answer.is(&[201, 202]),
        );
        remove(checker, id, &bid).await;
    }
    let bid = &new_id();
    let answer = checker.send(checker.bind(id, bid).impatient()).await;
    let outcome: CheckOutcome = match answer.status {
        201 => answer.is(&[201]).without("operation").into(),
        _ => answer.is_error("AsyncRequired").into(),
    };
    checker.check(
        "bind.impatient",
        "1.2",
        "a binding is made at once or needs a platform that can wait",
        outcome,
    );
    remove(checker, id, bid).await;
}

async fn crowd(checker: &Checker, id: &str) {
    let bid = &new_id();
    let answers = join_all((0..CROWD).map(|_| checker.send(checker.bind(id, bid)))).await;
    let odd = answers.iter().find(|answer| !answer.has(&[200, 201, 202]));
    let fault = odd.map(|odd| format!("{} -> {} {}", odd.request, odd.status, odd.text));
    checker.check("crowd.bind.accepted", "1.4", "the same binding many times at once is accepted", fault);
    let told = |field: &str| -> BTreeSet<String> {
        answers.iter().filter_map(|answer| answer.json.get(field)).map(Value::to_string).collect()
    };
    let counts = [
        ("answers with 201", answers.iter().filter(|answer| answer.status == 201).count()),
        ("operations", told("operation").len()),
        ("kinds of credentials", told("credentials").len()),
    ];
    let fault =
        counts.into_iter().find(|(_, count)| *count > 1).map(|(what, count)| format!("{count} {what}"));
    checker.check("crowd.bind.once", "1.4", "it is made once", fault);
    checker.settle(checker.last_operation_of_binding(id, bid)).await;
    remove(checker, id, bid).await;
}

async fn remove(checker: &Checker, id: &str, bid: &str) {
    checker.settle(checker.last_operation_of_binding(id, bid)).await;
    if checker.send(checker.unbind(id, bid)).await.status == 202 {
        checker.settle(checker.last_operation_of_binding(id, bid)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_from_other_texts() {
        for good in ["2030-01-31T12:00:00Z", "2030-01-31T12:00:00.25Z", "2030-01-31T12:00:00+01:00"] {
            assert!(is_time(good), "{good}");
        }
        for bad in ["", "2030-01-31", "2030-01-31T12:00:00", "31.01.2030T12:00:00Z", "soon", "1900000000"] {
            assert!(!is_time(bad), "{bad}");
        }
    }
}
