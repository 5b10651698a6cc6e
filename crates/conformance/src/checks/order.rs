//! The order of checks: which fault is told when a request has several.

use serde_json::{Value, json};

use crate::exam::{Exam, new_id};
use crate::shape::Fault;

pub(crate) async fn run(exam: &Exam, id: &str) {
    impatient(exam, id).await;
    let bad = exam.shape().illegal(&exam.parameters, Fault::WrongType);
    let newer = json!({ "version": "999.0.0-conformance" });
    let Some(bad) = bad else {
        exam.skip("order.parameters", "1.5", "faults beside bad parameters", "the schema forbids nothing");
        return;
    };
    let both = exam.body_with(&[("/parameters", bad.clone()), ("/maintenance_info", newer)]);
    let answer = exam.send(exam.put_with(&new_id(), &both)).await;
    let title = "MaintenanceInfoConflict comes before bad parameters";
    exam.check(
        "order.maintenance-before-parameters",
        "1.5",
        title,
        answer.is_error("MaintenanceInfoConflict"),
    );
    let bad = exam.body_with(&[("/parameters", bad)]);
    let answer = exam.send(exam.put_with(&new_id(), &bad).impatient()).await;
    let title = "AsyncRequired comes before bad parameters";
    exam.check("order.async-before-parameters", "1.5", title, answer.is_error("AsyncRequired"));
    let answer = exam.send(exam.put_with(id, &bad)).await;
    exam.check(
        "order.parameters-before-conflict",
        "1.5",
        "bad parameters come before 409",
        answer.is(&[400]),
    );
}

/// Platforms that cannot wait.
async fn impatient(exam: &Exam, id: &str) {
    let update = json!({ "service_id": exam.service["id"] });
    let mut bare = exam.body();
    bare.as_object_mut().map(|fields| fields.remove("parameters"));
    let other = exam.body_with(&[("/organization_guid", json!(new_id()))]);
    let newer = exam.body_with(&[("/maintenance_info", json!({ "version": "999.0.0-conformance" }))]);
    let fresh = &new_id();
    for (kind, call) in [
        ("put", exam.put(fresh).impatient()),
        ("put.false", exam.put(fresh).impatient().query("accepts_incomplete", "false")),
        ("put.bare", exam.put_with(fresh, &bare).impatient()),
        ("put.maintenance", exam.put_with(fresh, &newer).impatient()),
        ("put.same", exam.put(id).impatient()),
        ("put.other", exam.put_with(id, &other).impatient()),
        ("update", exam.patch(id, &update).impatient()),
        ("update.absent", exam.patch(fresh, &update).impatient()),
        ("update.false", exam.patch(id, &update).impatient().query("accepts_incomplete", "false")),
        ("deprovision", exam.delete(id).impatient()),
        ("deprovision.false", exam.delete(id).impatient().query("accepts_incomplete", "false")),
    ] {
        let answer = exam.send(call).await;
        let verdict = answer.is_error("AsyncRequired").with_description();
        exam.check(
            format!("async.{kind}"),
            "1.5",
            format!("a platform has to be able to wait: {kind}"),
            verdict,
        );
    }
    for field in ["service_id", "plan_id"] {
        let body = exam.body_with(&[(&format!("/{field}"), Value::Null)]);
        let answer = exam.send(exam.put_with(fresh, &body).impatient()).await;
        let title = format!("a missing {field} comes before AsyncRequired");
        exam.check(format!("order.{field}-before-async"), "1.5", title, answer.is(&[400]));
        let answer = exam.send(exam.delete(id).impatient().without(field)).await;
        let title = format!("DELETE: a missing {field} comes before AsyncRequired");
        exam.check(format!("order.{field}-before-async.deprovision"), "1.5", title, answer.is(&[400]));
    }
    let answer = exam.send(exam.last_operation(fresh)).await;
    exam.check(
        "async.nothing",
        "1.1",
        "a platform that cannot wait leaves nothing behind",
        answer.is(&[404]),
    );
    let answer = exam.send(exam.put(id)).await;
    exam.check("async.unchanged", "1.1", "and changes nothing", answer.is(&[200]));
}
