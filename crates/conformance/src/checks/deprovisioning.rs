//! The end of an instance: the row of the table of states while it is deleted, and the row after that.

use serde_json::json;

use crate::checks::progress::Progress;
use crate::exam::{Exam, new_id};

pub(crate) async fn run(exam: &Exam, id: &str) {
    let operation = exam.held(look(exam, id)).await;
    if let Some(operation) = &operation {
        let last = exam.settle(exam.last_operation(id).query("operation", operation)).await;
        let over = last.status == 410 || last.state() == Some("succeeded");
        let verdict = last.is(&[200, 410]).and(over, || "expected the deletion to succeed".to_owned());
        exam.check(
            "deprovision.end",
            "1.2",
            "the deprovisioning succeeds",
            verdict.without("update_repeatable"),
        );
    }
    deleted(exam, id).await;
    remembered(exam, id, operation.as_deref()).await;
}

/// The name of the operation, if there is one.
async fn look(exam: &Exam, id: &str) -> Option<String> {
    let began = exam.send(exam.delete(id)).await;
    let verdict = began.is(&[200, 202]).with_operation_when_async();
    exam.check("deprovision.first", "1.2", "a DELETE is accepted", verdict);
    if began.status != 202 {
        exam.skip("deprovisioning", "1.4", "an instance being deleted", "there is no operation to look at");
        return None;
    }
    let now = Progress { exam, state: "deprovisioning", last: exam.last_operation(id) };
    now.joined("deprovision.same", "the same DELETE joins the operation", exam.delete(id), &began).await;
    now.polled().await;
    now.refused("put.same", "a PUT has to wait", exam.put(id)).await;
    let body = exam.body_with(&[("/organization_guid", json!(new_id()))]);
    now.conflict("put.organization", "a PUT for another organization conflicts", exam.put_with(id, &body))
        .await;
    let update = json!({ "service_id": exam.service["id"] });
    now.refused("update", "an update has to wait", exam.patch(id, &update)).await;
    if exam.is_retrievable() {
        let title = "it can be fetched until it is gone";
        now.check("fetch", title, exam.fetch(id), |answer| answer.is(&[200]).into()).await;
    }
    if exam.is_bindable() {
        now.refused("bind", "a binding has to wait", exam.bind(id, &new_id())).await;
    }
    began.operation().map(str::to_owned)
}

async fn deleted(exam: &Exam, id: &str) {
    let update = json!({ "service_id": exam.service["id"] });
    let other = exam.body_with(&[("/organization_guid", json!(new_id()))]);
    for (kind, title, call, expect) in [
        ("put.same", "its id is not used again", exam.put(id), 409),
        ("put.other", "not even for something else", exam.put_with(id, &other), 409),
        ("update", "it cannot be updated", exam.patch(id, &update), 404),
        ("deprovision", "it is gone", exam.delete(id), 410),
        ("deprovision.again", "it stays gone", exam.delete(id), 410),
        ("fetch", "it cannot be fetched", exam.fetch(id), 404),
        ("fetch_binding", "it has no binding", exam.fetch_binding(id, &new_id()), 404),
        ("unbind", "its bindings are gone", exam.unbind(id, &new_id()), 410),
    ] {
        let answer = exam.send(call).await;
        let title = format!("after the deletion: {title}");
        exam.check(format!("deleted.{kind}"), "1.4", title, answer.is(&[expect]).with_description());
    }
    if exam.is_bindable() {
        let answer = exam.send(exam.bind(id, &new_id())).await;
        exam.check("deleted.bind", "1.4", "after the deletion: it cannot be bound", answer.is(&[404]));
    }
    let answer = exam.send(exam.delete(id).impatient()).await;
    let title = "after the deletion: AsyncRequired still comes before 410";
    exam.check("deleted.deprovision.impatient", "1.5", title, answer.is_error("AsyncRequired"));
}

/// A 404 would make platforms poll until they give up.
async fn remembered(exam: &Exam, id: &str, operation: Option<&str>) {
    let plain = exam.last_operation(id);
    let named = operation.map(|operation| ("named", plain.clone().query("operation", operation)));
    let hinted = ("hints", exam.last_operation_with_hints(id));
    let unknown = ("unknown", plain.clone().query("operation", "conformance-does-not-know"));
    for (kind, call) in [("plain", plain), hinted, unknown].into_iter().chain(named) {
        let answer = exam.send(call).await;
        let verdict = if exam.options.gone {
            answer.is(&[410])
        } else {
            answer.is(&[200]).with("state", &json!("succeeded")).with_description()
        };
        let title = format!("after the deletion: its last operation is remembered: {kind}");
        exam.check(format!("deleted.last_operation.{kind}"), "1.7", title, verdict);
    }
}
