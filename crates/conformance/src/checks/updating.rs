//! An update that changes something, and the row of the table of states while it is under way.

use serde_json::{Value, json};

use crate::checker::{Checker, new_id};
use crate::checks::progress::PendingOperation;

pub(crate) async fn run(checker: &Checker) {
    let Some(parameters) = checker.update_parameters() else {
        checker.skip("updating", "1.4", "an instance being updated", "the schema for updates has no choice");
        return;
    };
    let id = &new_id();
    checker.send(checker.put(id)).await;
    let ready = checker.settle(checker.last_operation(id)).await;
    let verdict = ready.is(&[200]).with("state", &json!("succeeded"));
    checker.check("updating.ready", "1.2", "there is an instance to update", verdict);
    let body = json!({ "service_id": checker.service["id"], "parameters": parameters });
    if checker.held(look(checker, id, &body)).await {
        judge(checker, id, &parameters).await;
    }
}

/// What the update left, if nothing came in between.
async fn judge(checker: &Checker, id: &str, parameters: &Value) {
    let last = checker.settle(checker.last_operation_with_query(id)).await;
    let verdict = last.is(&[200]).with("state", &json!("succeeded")).with_description();
    checker.check("update.parameters.end", "1.2", "the update succeeds", verdict);
    if checker.is_retrievable() {
        let answer = checker.send(checker.fetch(id)).await;
        let told = answer.json.get("parameters");
        let fields = parameters.as_object().into_iter().flatten();
        let there = told.is_none_or(|told| fields.clone().all(|(key, value)| told[key] == *value));
        let verdict = answer.is(&[200]).and(there, || format!("expected the parameters {parameters}"));
        checker.check("update.parameters.fetch", "1.2", "then the instance has the new parameters", verdict);
        let kept = answer.is(&[200]).with("plan_id", &checker.plan["id"]);
        checker.check("update.parameters.plan", "1.2", "and the plan that it had", kept);
    }
}

/// Whether the instance is still there afterwards.
async fn look(checker: &Checker, id: &str, body: &Value) -> bool {
    let began = checker.send(checker.patch(id, body)).await;
    let verdict = began.is(&[200, 202]).with_operation_when_async();
    checker.check("update.parameters", "1.2", "parameters can be updated", verdict);
    if began.status != 202 {
        checker.skip("updating", "1.4", "an instance being updated", "there is no operation to look at");
        return began.status == 200;
    }
    let now = PendingOperation { checker, state: "updating", last: checker.last_operation(id) };
    now.joined("update.same", "the same update joins the operation", checker.patch(id, body), &began).await;
    now.polled().await;
    let other = json!({ "service_id": checker.service["id"], "plan_id": checker.plan["id"] });
    now.refused("update.other", "another update has to wait", checker.patch(id, &other)).await;
    // The old and the new parameters are both a fair idea of «the same».
    now.check("put.same", "a PUT has to wait or conflicts", checker.put(id), |answer| {
        if answer.status == 409 {
            answer.is(&[409]).into()
        } else {
            answer.is_error("ConcurrencyError").into()
        }
    })
    .await;
    let body = checker.body_with(&[("/organization_guid", json!(new_id()))]);
    now.conflict("put.organization", "a PUT for another organization conflicts", checker.put_with(id, &body))
        .await;
    if checker.is_retrievable() {
        now.refused("fetch", "it cannot be fetched until it is settled", checker.fetch(id)).await;
    }
    if checker.is_bindable() {
        now.refused("bind", "a binding has to wait", checker.bind(id, &new_id())).await;
    }
    now.refused("deprovision", "a DELETE has to wait", checker.delete(id)).await
}
