//! The end of an instance: the row of the table of states while it is deleted, and the row after that.

use serde_json::json;

use crate::checker::{Checker, new_id};
use crate::checks::progress::PendingOperation;

pub(crate) async fn run(checker: &Checker, id: &str) {
    let operation = checker.held(look(checker, id)).await;
    if let Some(operation) = &operation {
        let last = checker.settle(checker.last_operation(id).query("operation", operation)).await;
        let over = last.status == 410 || last.state() == Some("succeeded");
        let verdict = last.is(&[200, 410]).and(over, || "expected the deletion to succeed".to_owned());
        checker.check(
            "deprovision.end",
            "1.2",
            "the deprovisioning succeeds",
            verdict.without("update_repeatable"),
        );
    }
    deleted(checker, id).await;
    remembered(checker, id, operation.as_deref()).await;
}

/// The name of the operation, if there is one.
async fn look(checker: &Checker, id: &str) -> Option<String> {
    let began = checker.send(checker.delete(id)).await;
    let verdict = began.is(&[200, 202]).with_operation_when_async();
    checker.check("deprovision.first", "1.2", "a DELETE is accepted", verdict);
    if began.status != 202 {
        checker.skip(
            "deprovisioning",
            "1.4",
            "an instance being deleted",
            "there is no operation to look at",
        );
        return None;
    }
    let now = PendingOperation { checker, state: "deprovisioning", last: checker.last_operation(id) };
    now.joined("deprovision.same", "the same DELETE joins the operation", checker.delete(id), &began).await;
    now.polled().await;
    now.refused("put.same", "a PUT has to wait", checker.put(id)).await;
    let body = checker.body_with(&[("/organization_guid", json!(new_id()))]);
    now.conflict("put.organization", "a PUT for another organization conflicts", checker.put_with(id, &body))
        .await;
    let update = json!({ "service_id": checker.service["id"] });
    now.refused("update", "an update has to wait", checker.patch(id, &update)).await;
    if checker.is_retrievable() {
        let title = "it can be fetched until it is gone";
        now.check("fetch", title, checker.fetch(id), |answer| answer.is(&[200]).into()).await;
    }
    if checker.is_bindable() {
        now.refused("bind", "a binding has to wait", checker.bind(id, &new_id())).await;
    }
    began.operation().map(str::to_owned)
}

async fn deleted(checker: &Checker, id: &str) {
    let update = json!({ "service_id": checker.service["id"] });
    let other = checker.body_with(&[("/organization_guid", json!(new_id()))]);
    for (kind, title, call, expect) in [
        ("put.same", "its id is not used again", checker.put(id), 409),
        ("put.other", "not even for something else", checker.put_with(id, &other), 409),
        ("update", "it cannot be updated", checker.patch(id, &update), 404),
        ("deprovision", "it is gone", checker.delete(id), 410),
        ("deprovision.again", "it stays gone", checker.delete(id), 410),
        ("fetch", "it cannot be fetched", checker.fetch(id), 404),
        ("fetch_binding", "it has no binding", checker.fetch_binding(id, &new_id()), 404),
        ("unbind", "its bindings are gone", checker.unbind(id, &new_id()), 410),
    ] {
        let answer = checker.send(call).await;
        let title = format!("after the deletion: {title}");
        checker.check(format!("deleted.{kind}"), "1.4", title, answer.is(&[expect]).with_description());
    }
    if checker.is_bindable() {
        let answer = checker.send(checker.bind(id, &new_id())).await;
        checker.check("deleted.bind", "1.4", "after the deletion: it cannot be bound", answer.is(&[404]));
    }
    let answer = checker.send(checker.delete(id).impatient()).await;
    let title = "after the deletion: AsyncRequired still comes before 410";
    checker.check("deleted.deprovision.impatient", "1.5", title, answer.is_error("AsyncRequired"));
}

/// A 404 would make platforms poll until they give up.
async fn remembered(checker: &Checker, id: &str, operation: Option<&str>) {
    let plain = checker.last_operation(id);
    let named = operation.map(|operation| ("named", plain.clone().query("operation", operation)));
    let hinted = ("hints", checker.last_operation_with_query(id));
    let unknown = ("unknown", plain.clone().query("operation", "conformance-does-not-know"));
    for (kind, call) in [("plain", plain), hinted, unknown].into_iter().chain(named) {
        let answer = checker.send(call).await;
        let verdict = if checker.options.gone {
            answer.is(&[410])
        } else {
            answer.is(&[200]).with("state", &json!("succeeded")).with_description()
        };
        let title = format!("after the deletion: its last operation is remembered: {kind}");
        checker.check(format!("deleted.last_operation.{kind}"), "1.7", title, verdict);
    }
}
