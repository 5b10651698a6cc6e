//! The row of the table of states for an instance that is being provisioned, and the way out of it by DELETE.

use serde_json::json;

use crate::answer::Answer;
use crate::checks::progress::Progress;
use crate::exam::{Exam, new_id};
use crate::report::Outcome;

pub(crate) async fn run(exam: &Exam) {
    let id = &new_id();
    let deleted = exam.held(look(exam, id)).await;
    let last = exam.settle(exam.last_operation(id)).await;
    let (check, title) = ("provisioning.deprovision.end", "a DELETE during provisioning ends in a deletion");
    match deleted {
        Some(true) => {
            let over = last.status == 410 || last.state() == Some("succeeded");
            let verdict = last.is(&[200, 410]).and(over, || "expected the deletion to succeed".to_owned());
            exam.check(check, "1.4", title, verdict);
            let answer = exam.send(exam.fetch(id)).await;
            exam.check(
                "provisioning.deprovision.gone",
                "1.4",
                "then the instance is gone",
                answer.is(&[404]),
            );
            let answer = exam.send(exam.put(id)).await;
            exam.check(
                "provisioning.deprovision.reuse",
                "1.4",
                "then its id is not used again",
                answer.is(&[409]),
            );
        }
        Some(false) => exam.skip(check, "1.4", title, "the broker refuses a DELETE during provisioning"),
        None => exam.skip(
            "provisioning",
            "1.4",
            "an instance being provisioned",
            "there is no operation to look at",
        ),
    }
}

/// Whether a DELETE on the way was accepted; None if there is no way, because the broker needs no time.
async fn look(exam: &Exam, id: &str) -> Option<bool> {
    let began = exam.send(exam.put(id)).await;
    let verdict = began.is(&[201, 202]).with_operation_when_async();
    exam.check("provisioning.begin", "1.2", "a first PUT is accepted", verdict);
    if began.status != 202 {
        return None;
    }
    let now = Progress { exam, state: "provisioning", last: exam.last_operation(id) };
    now.joined("put.same", "the same PUT joins the operation", exam.put(id), &began).await;
    now.polled().await;
    differing(exam, &now, id).await;
    let update = json!({ "service_id": exam.service["id"] });
    now.refused("update", "an update has to wait", exam.patch(id, &update)).await;
    now.check("fetch", "it cannot be fetched yet", exam.fetch(id), |answer| answer.is(&[404]).into()).await;
    if exam.is_bindable() {
        now.refused("bind", "a binding has to wait", exam.bind(id, &new_id())).await;
    }
    let binding = exam.fetch_binding(id, &new_id());
    now.check("fetch_binding", "it has no binding", binding, |answer| answer.is(&[404]).into()).await;
    let mut accepted = false;
    let judge = |answer: &Answer| {
        accepted = answer.status == 202;
        if accepted { answer.is(&[202]).with_operation_when_async().into() } else { refusal(answer) }
    };
    now.check("deprovision", "a DELETE stops the provisioning or has to wait", exam.delete(id), judge).await;
    Some(accepted)
}

fn refusal(answer: &Answer) -> Outcome {
    answer.is_error("ConcurrencyError").into()
}

async fn differing(exam: &Exam, now: &Progress<'_>, id: &str) {
    let body = exam.body_with(&[("/organization_guid", json!(new_id()))]);
    now.conflict("put.organization", "a PUT for another organization conflicts", exam.put_with(id, &body))
        .await;
    let body = exam.body_with(&[("/space_guid", json!(new_id()))]);
    now.conflict("put.space", "a PUT for another space conflicts", exam.put_with(id, &body)).await;
    let title = "a PUT with other parameters conflicts";
    match exam.other_parameters() {
        Some(other) => {
            let body = exam.body_with(&[("/parameters", other)]);
            now.conflict("put.parameters", title, exam.put_with(id, &body)).await;
        }
        None => exam.skip("provisioning.put.parameters", "1.4", title, "the schema has no choice"),
    }
}
