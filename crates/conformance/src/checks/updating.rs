//! An update that changes something, and the row of the table of states while it is under way.

use serde_json::{Value, json};

use crate::checks::progress::Progress;
use crate::exam::{Exam, new_id};

pub(crate) async fn run(exam: &Exam) {
    let Some(parameters) = exam.update_parameters() else {
        exam.skip("updating", "1.4", "an instance being updated", "the schema for updates has no choice");
        return;
    };
    let id = &new_id();
    exam.send(exam.put(id)).await;
    let ready = exam.settle(exam.last_operation(id)).await;
    let verdict = ready.is(&[200]).with("state", &json!("succeeded"));
    exam.check("updating.ready", "1.2", "there is an instance to update", verdict);
    let body = json!({ "service_id": exam.service["id"], "parameters": parameters });
    if exam.held(look(exam, id, &body)).await {
        judge(exam, id, &parameters).await;
    }
}

/// What the update left, if nothing came in between.
async fn judge(exam: &Exam, id: &str, parameters: &Value) {
    let last = exam.settle(exam.last_operation_with_hints(id)).await;
    let verdict = last.is(&[200]).with("state", &json!("succeeded")).with_description();
    exam.check("update.parameters.end", "1.2", "the update succeeds", verdict);
    if exam.is_retrievable() {
        let answer = exam.send(exam.fetch(id)).await;
        let told = answer.json.get("parameters");
        let fields = parameters.as_object().into_iter().flatten();
        let there = told.is_none_or(|told| fields.clone().all(|(key, value)| told[key] == *value));
        let verdict = answer.is(&[200]).and(there, || format!("expected the parameters {parameters}"));
        exam.check("update.parameters.fetch", "1.2", "then the instance has the new parameters", verdict);
        let kept = answer.is(&[200]).with("plan_id", &exam.plan["id"]);
        exam.check("update.parameters.plan", "1.2", "and the plan that it had", kept);
    }
}

/// Whether the instance is still there afterwards.
async fn look(exam: &Exam, id: &str, body: &Value) -> bool {
    let began = exam.send(exam.patch(id, body)).await;
    let verdict = began.is(&[200, 202]).with_operation_when_async();
    exam.check("update.parameters", "1.2", "parameters can be updated", verdict);
    if began.status != 202 {
        exam.skip("updating", "1.4", "an instance being updated", "there is no operation to look at");
        return began.status == 200;
    }
    let now = Progress { exam, state: "updating", last: exam.last_operation(id) };
    now.joined("update.same", "the same update joins the operation", exam.patch(id, body), &began).await;
    now.polled().await;
    let other = json!({ "service_id": exam.service["id"], "plan_id": exam.plan["id"] });
    now.refused("update.other", "another update has to wait", exam.patch(id, &other)).await;
    // The old and the new parameters are both a fair idea of «the same».
    now.check("put.same", "a PUT has to wait or conflicts", exam.put(id), |answer| {
        if answer.status == 409 {
            answer.is(&[409]).into()
        } else {
            answer.is_error("ConcurrencyError").into()
        }
    })
    .await;
    let body = exam.body_with(&[("/organization_guid", json!(new_id()))]);
    now.conflict("put.organization", "a PUT for another organization conflicts", exam.put_with(id, &body))
        .await;
    if exam.is_retrievable() {
        now.refused("fetch", "it cannot be fetched until it is settled", exam.fetch(id)).await;
    }
    if exam.is_bindable() {
        now.refused("bind", "a binding has to wait", exam.bind(id, &new_id())).await;
    }
    now.refused("deprovision", "a DELETE has to wait", exam.delete(id)).await
}
