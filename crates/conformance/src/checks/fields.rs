//! Fields: each required one missing, empty and of the wrong type, and ids that the catalog does not have.

use serde_json::{Value, json};

use crate::call::BrokerCall;
use crate::checker::{Checker, new_id};

pub(crate) async fn run(checker: &Checker) {
    let (id, bid) = (new_id(), new_id());
    let (put, bind, ids) = (checker.body(), checker.binding_body(), ["service_id", "plan_id"]);
    let patch = json!({ "service_id": checker.service["id"], "plan_id": checker.plan["id"] });
    for (endpoint, call, body, required, objects) in [
        (
            "provision",
            checker.put(&id),
            &put,
            &["service_id", "plan_id", "organization_guid", "space_guid"][..],
            &["context", "parameters", "maintenance_info"][..],
        ),
        (
            "update",
            checker.patch(&id, &patch),
            &patch,
            &ids[..1],
            &["context", "parameters", "maintenance_info"],
        ),
        ("bind", checker.bind(&id, &bid), &bind, &ids, &["context", "parameters", "bind_resource"]),
    ] {
        for field in required {
            spoil_text(checker, endpoint, &call, body, field).await;
        }
        for field in objects {
            spoil_object(checker, endpoint, &call, body, field).await;
        }
        for field in ids {
            let answer = checker.send(call.clone().json(&with(body, field, json!(new_id())))).await;
            let title = format!("{endpoint}: a {field} that the catalog does not have is refused");
            checker.check(
                format!("field.{field}.unknown.{endpoint}"),
                "1.5",
                title,
                answer.is(&[400]).with_description(),
            );
        }
    }
    for field in ["plan_id", "maintenance_info/version"] {
        let body = match field {
            "plan_id" => with(&patch, field, json!(7)),
            _ => with(&patch, "maintenance_info", json!({ "version": 7 })),
        };
        let answer = checker.send(checker.patch(&id, &body)).await;
        checker.check(
            format!("field.{field}.number.update"),
            "1.2",
            format!("update: {field} is no number"),
            answer.is(&[400]),
        );
    }
    for (endpoint, call) in [("deprovision", checker.delete(&id)), ("unbind", checker.unbind(&id, &bid))] {
        for field in ids {
            spoil_query(checker, endpoint, &call, field).await;
        }
    }
    foreign_plan(checker, &id).await;
}

async fn spoil_text(checker: &Checker, endpoint: &str, call: &BrokerCall, body: &Value, field: &str) {
    let mut missing = body.clone();
    missing.as_object_mut().map(|fields| fields.remove(field));
    for (kind, body) in [
        ("missing", missing),
        ("empty", with(body, field, json!(""))),
        ("null", with(body, field, Value::Null)),
        ("number", with(body, field, json!(7))),
        ("object", with(body, field, json!({ "id": body[field] }))),
    ] {
        let answer = checker.send(call.clone().json(&body)).await;
        let title = format!("{endpoint}: {field} is refused: {kind}");
        checker.check(
            format!("field.{field}.{kind}.{endpoint}"),
            "1.2",
            title,
            answer.is(&[400]).with_description(),
        );
    }
}

async fn spoil_object(checker: &Checker, endpoint: &str, call: &BrokerCall, body: &Value, field: &str) {
    for (kind, value) in [("string", json!("conformance")), ("array", json!([])), ("number", json!(7))] {
        let answer = checker.send(call.clone().json(&with(body, field, value))).await;
        let title = format!("{endpoint}: {field} is an object and no {kind}");
        checker.check(
            format!("field.{field}.{kind}.{endpoint}"),
            "1.2",
            title,
            answer.is(&[400]).with_description(),
        );
    }
}

async fn spoil_query(checker: &Checker, endpoint: &str, call: &BrokerCall, field: &'static str) {
    let bare = call.clone().without(field);
    for (kind, call, expect) in [
        ("missing", bare.clone(), &[400][..]),
        ("empty", bare.clone().query(field, ""), &[400]),
        // An orphan may outlive its plan, so that «not here» is an answer too.
        ("unknown", bare.query(field, new_id()), &[400, 410]),
    ] {
        let answer = checker.send(call).await;
        let title = format!("{endpoint}: {field} is refused: {kind}");
        checker.check(
            format!("field.{field}.{kind}.{endpoint}"),
            "1.2",
            title,
            answer.is(expect).with_description(),
        );
    }
}

/// A plan that exists, but in another offering.
async fn foreign_plan(checker: &Checker, id: &str) {
    let (check, title) = ("field.plan_id.foreign.provision", "a plan of another offering is refused");
    let services = crate::array(&checker.catalog["services"]);
    let foreign = services.iter().find(|service| service["id"] != checker.service["id"]);
    match foreign.map(|service| &service["plans"][0]["id"]) {
        Some(plan) => {
            let answer =
                checker.send(checker.put_with(id, &checker.body_with(&[("/plan_id", plan.clone())]))).await;
            checker.check(check, "1.5", title, answer.is(&[400]));
        }
        None => checker.skip(check, "1.5", title, "there is one offering only"),
    }
}

fn with(body: &Value, field: &str, value: Value) -> Value {
    let mut body = body.clone();
    body[field] = value;
    body
}
