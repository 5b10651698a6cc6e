//! The order of checks: which error is reported when a request has several.

use serde_json::{Value, json};

use crate::checker::{Checker, new_id};
use crate::shape::ParameterFault;

pub(crate) async fn run(checker: &Checker, id: &str) {
    impatient(checker, id).await;
    let bad = checker.shape().illegal(&checker.parameters, ParameterFault::WrongType);
    let newer = json!({ "version": "999.0.0-conformance" });
    let Some(bad) = bad else {
        checker.skip("order.parameters", "1.5", "faults beside bad parameters", "the schema forbids nothing");
        return;
    };
    let both = checker.body_with(&[("/parameters", bad.clone()), ("/maintenance_info", newer)]);
    let answer = checker.send(checker.put_with(&new_id(), &both)).await;
    let title = "MaintenanceInfoConflict comes before bad parameters";
    checker.check(
        "order.maintenance-before-parameters",
        "1.5",
        title,
        answer.is_error("MaintenanceInfoConflict"),
    );
    let bad = checker.body_with(&[("/parameters", bad)]);
    let answer = checker.send(checker.put_with(&new_id(), &bad).impatient()).await;
    let title = "AsyncRequired comes before bad parameters";
    checker.check("order.async-before-parameters", "1.5", title, answer.is_error("AsyncRequired"));
    let answer = checker.send(checker.put_with(id, &bad)).await;
    checker.check(
        "order.parameters-before-conflict",
        "1.5",
        "bad parameters come before 409",
        answer.is(&[400]),
    );
}

/// Platforms that cannot wait.
async fn impatient(checker: &Checker, id: &str) {
    let update = json!({ "service_id": checker.service["id"] });
    let mut bare = checker.body();
    bare.as_object_mut().map(|fields| fields.remove("parameters"));
    let other = checker.body_with(&[("/organization_guid", json!(new_id()))]);
    let newer = checker.body_with(&[("/maintenance_info", json!({ "version": "999.0.0-conformance" }))]);
    let fresh = &new_id();
    for (kind, call) in [
        ("put", checker.put(fresh).impatient()),
        ("put.false", checker.put(fresh).impatient().query("accepts_incomplete", "false")),
        ("put.bare", checker.put_with(fresh, &bare).impatient()),
        ("put.maintenance", checker.put_with(fresh, &newer).impatient()),
        ("put.same", checker.put(id).impatient()),
        ("put.other", checker.put_with(id, &other).impatient()),
        ("update", checker.patch(id, &update).impatient()),
        ("update.absent", checker.patch(fresh, &update).impatient()),
        ("update.false", checker.patch(id, &update).impatient().query("accepts_incomplete", "false")),
        ("deprovision", checker.delete(id).impatient()),
        ("deprovision.false", checker.delete(id).impatient().query("accepts_incomplete", "false")),
    ] {
        let answer = checker.send(call).await;
        let verdict = answer.is_error("AsyncRequired").with_description();
        checker.check(
            format!("async.{kind}"),
            "1.5",
            format!("a platform has to be able to wait: {kind}"),
            verdict,
        );
    }
    for field in ["service_id", "plan_id"] {
        let body = checker.body_with(&[(&format!("/{field}"), Value::Null)]);
        let answer = checker.send(checker.put_with(fresh, &body).impatient()).await;
        let title = format!("a missing {field} comes before AsyncRequired");
        checker.check(format!("order.{field}-before-async"), "1.5", title, answer.is(&[400]));
        let answer = checker.send(checker.delete(id).impatient().without(field)).await;
        let title = format!("DELETE: a missing {field} comes before AsyncRequired");
        checker.check(format!("order.{field}-before-async.deprovision"), "1.5", title, answer.is(&[400]));
    }
    let answer = checker.send(checker.last_operation(fresh)).await;
    checker.check(
        "async.nothing",
        "1.1",
        "a platform that cannot wait leaves nothing behind",
        answer.is(&[404]),
    );
    let answer = checker.send(checker.put(id)).await;
    checker.check("async.unchanged", "1.1", "and changes nothing", answer.is(&[200]));
}
