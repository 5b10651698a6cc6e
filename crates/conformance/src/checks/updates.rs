//! Updates that change nothing, and updates that are refused.

use serde_json::{Value, json};

use crate::checker::Checker;
use crate::shape::{ParameterFault, SchemaShape};

pub(crate) async fn run(checker: &Checker, id: &str) {
    let before = checker.send(checker.fetch(id)).await;
    let service = &checker.service["id"];
    let nonsense = json!({ "plan_id": "none", "service_id": 7, "maintenance_info": { "version": "0.0.1" } });
    for (kind, body) in [
        ("nothing", json!({ "service_id": service })),
        ("same-plan", json!({ "service_id": service, "plan_id": checker.plan["id"] })),
        ("previous_values", json!({ "service_id": service, "previous_values": nonsense })),
        ("unknown-field", json!({ "service_id": service, "conformance": { "a": 1 } })),
        ("same-parameters", json!({ "service_id": service, "parameters": {} })),
    ] {
        accepted(checker, id, kind, &body).await;
    }
    let (title, renamed) = (
        "the context alone can be updated",
        checker.body_with(&[("/context/instance_name", json!("renamed"))]),
    );
    if checker.service["allow_context_updates"] == true {
        accepted(checker, id, "context", &json!({ "service_id": service, "context": renamed["context"] }))
            .await;
    } else {
        checker.skip("update.context", "1.2", title, "the offering does not allow it");
    }
    refused(checker, id).await;

    let answer = checker.send(checker.put(id)).await;
    checker.check("update.keeps", "1.2", "what an update does not name stays as it is", answer.is(&[200]));
    if checker.is_retrievable() {
        let after = checker.send(checker.fetch(id)).await;
        for field in ["plan_id", "parameters"] {
            let kept = after.is(&[200]).and(after.json[field] == before.json[field], || {
                format!("expected {field} to stay {}", before.json[field])
            });
            checker.check(
                format!("update.keeps.{field}"),
                "1.2",
                format!("{field} stays when it is absent"),
                kept,
            );
        }
    }
}

async fn accepted(checker: &Checker, id: &str, kind: &str, body: &Value) {
    let answer = checker.send(checker.patch(id, body)).await;
    let title = format!("an update without a change is accepted: {kind}");
    checker.check(format!("update.{kind}"), "1.2", title, answer.is(&[200, 202]).with_operation_when_async());
    if answer.status == 202 {
        let last = checker.settle(checker.last_operation(id)).await;
        let verdict = last.is(&[200]).with("state", &json!("succeeded"));
        checker.check(format!("update.{kind}.end"), "1.2", "the update succeeds", verdict);
    }
}

async fn refused(checker: &Checker, id: &str) {
    let service = &checker.service["id"];
    let title = "a change of plan that the catalog does not offer is refused";
    match checker.other_plan().filter(|_| !checker.is_updateable()) {
        Some(plan) => {
            let answer = checker
                .send(checker.patch(id, &json!({ "service_id": service, "plan_id": plan["id"] })))
                .await;
            checker.check("update.plan", "1.2", title, answer.is(&[400, 422]).with_description());
        }
        None => checker.skip("update.plan", "1.2", title, "the plan can be changed, or is the only one"),
    }
    let shape = SchemaShape::new(checker.schema("service_instance/update"));
    let title = "parameters that the schema forbids are refused";
    match shape.illegal(&shape.legal(), ParameterFault::WrongType) {
        Some(bad) => {
            let answer =
                checker.send(checker.patch(id, &json!({ "service_id": service, "parameters": bad }))).await;
            checker.check("update.parameters.illegal", "1.5", title, answer.is(&[400]).with_description());
        }
        None => checker.skip("update.parameters.illegal", "1.5", title, "the plan has no schema for updates"),
    }
}
