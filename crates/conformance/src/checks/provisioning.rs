//! The row of the table of states for an instance that is being provisioned, and the way out of it by DELETE.

use serde_json::json;

use crate::answer::BrokerResponse;
use crate::checker::{Checker, new_id};
use crate::checks::progress::PendingOperation;
use crate::report::CheckOutcome;

pub(crate) async fn run(checker: &Checker) {
    let id = &new_id();
    let deleted = checker.held(look(checker, id)).await;
    let last = checker.settle(checker.last_operation(id)).await;
    let (check, title) = ("provisioning.deprovision.end", "a DELETE during provisioning ends in a deletion");
    match deleted {
        Some(true) => {
            let over = last.status == 410 || last.state() == Some("succeeded");
            let verdict = last.is(&[200, 410]).and(over, || "expected the deletion to succeed".to_owned());
            checker.check(check, "1.4", title, verdict);
            let answer = checker.send(checker.fetch(id)).await;
            checker.check(
                "provisioning.deprovision.gone",
                "1.4",
                "then the instance is gone",
                answer.is(&[404]),
            );
            let answer = checker.send(checker.put(id)).await;
            checker.check(
                "provisioning.deprovision.reuse",
                "1.4",
                "then its id is not used again",
                answer.is(&[409]),
            );
        }
        Some(false) => checker.skip(check, "1.4", title, "the broker refuses a DELETE during provisioning"),
        None => checker.skip(
            "provisioning",
            "1.4",
            "an instance being provisioned",
            "there is no operation to look at",
        ),
    }
}

/// Whether a DELETE on the way was accepted; None if there is no way, because the broker needs no time.
async fn look(checker: &Checker, id: &str) -> Option<bool> {
    let began = checker.send(checker.put(id)).await;
    let verdict = began.is(&[201, 202]).with_operation_when_async();
    checker.check("provisioning.begin", "1.2", "a first PUT is accepted", verdict);
    if began.status != 202 {
        return None;
    }
    let now = PendingOperation { checker, state: "provisioning", last: checker.last_operation(id) };
    now.joined("put.same", "the same PUT joins the operation", checker.put(id), &began).await;
    now.polled().await;
    differing(checker, &now, id).await;
    let update = json!({ "service_id": checker.service["id"] });
    now.refused("update", "an update has to wait", checker.patch(id, &update)).await;
    now.check("fetch", "it cannot be fetched yet", checker.fetch(id), |answer| answer.is(&[404]).into())
        .await;
    if checker.is_bindable() {
        now.refused("bind", "a binding has to wait", checker.bind(id, &new_id())).await;
    }
    let binding = checker.fetch_binding(id, &new_id());
    now.check("fetch_binding", "it has no binding", binding, |answer| answer.is(&[404]).into()).await;
    let mut accepted = false;
    let judge = |answer: &BrokerResponse| {
        accepted = answer.status == 202;
        if accepted { answer.is(&[202]).with_operation_when_async().into() } else { error_response(answer) }
    };
    now.check("deprovision", "a DELETE stops the provisioning or has to wait", checker.delete(id), judge)
        .await;
    Some(accepted)
}

fn error_response(answer: &BrokerResponse) -> CheckOutcome {
    answer.is_error("ConcurrencyError").into()
}

async fn differing(checker: &Checker, now: &PendingOperation<'_>, id: &str) {
    let body = checker.body_with(&[("/organization_guid", json!(new_id()))]);
    now.conflict("put.organization", "a PUT for another organization conflicts", checker.put_with(id, &body))
        .await;
    let body = checker.body_with(&[("/space_guid", json!(new_id()))]);
    now.conflict("put.space", "a PUT for another space conflicts", checker.put_with(id, &body)).await;
    let title = "a PUT with other parameters conflicts";
    match checker.other_parameters() {
        Some(other) => {
            let body = checker.body_with(&[("/parameters", other)]);
            now.conflict("put.parameters", title, checker.put_with(id, &body)).await;
        }
        None => checker.skip("provisioning.put.parameters", "1.4", title, "the schema has no choice"),
    }
}
