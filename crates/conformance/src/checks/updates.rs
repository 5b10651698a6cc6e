//! Updates that change nothing, and updates that are refused.

use serde_json::{Value, json};

use crate::exam::Exam;
use crate::shape::{Fault, Shape};

pub(crate) async fn run(exam: &Exam, id: &str) {
    let before = exam.send(exam.fetch(id)).await;
    let service = &exam.service["id"];
    let nonsense = json!({ "plan_id": "none", "service_id": 7, "maintenance_info": { "version": "0.0.1" } });
    for (kind, body) in [
        ("nothing", json!({ "service_id": service })),
        ("same-plan", json!({ "service_id": service, "plan_id": exam.plan["id"] })),
        ("previous_values", json!({ "service_id": service, "previous_values": nonsense })),
        ("unknown-field", json!({ "service_id": service, "conformance": { "a": 1 } })),
        ("same-parameters", json!({ "service_id": service, "parameters": {} })),
    ] {
        accepted(exam, id, kind, &body).await;
    }
    let (title, renamed) =
        ("the context alone can be updated", exam.body_with(&[("/context/instance_name", json!("renamed"))]));
    if exam.service["allow_context_updates"] == true {
        accepted(exam, id, "context", &json!({ "service_id": service, "context": renamed["context"] })).await;
    } else {
        exam.skip("update.context", "1.2", title, "the offering does not allow it");
    }
    refused(exam, id).await;

    let answer = exam.send(exam.put(id)).await;
    exam.check("update.keeps", "1.2", "what an update does not name stays as it is", answer.is(&[200]));
    if exam.is_retrievable() {
        let after = exam.send(exam.fetch(id)).await;
        for field in ["plan_id", "parameters"] {
            let kept = after.is(&[200]).and(after.json[field] == before.json[field], || {
                format!("expected {field} to stay {}", before.json[field])
            });
            exam.check(
                format!("update.keeps.{field}"),
                "1.2",
                format!("{field} stays when it is absent"),
                kept,
            );
        }
    }
}

async fn accepted(exam: &Exam, id: &str, kind: &str, body: &Value) {
    let answer = exam.send(exam.patch(id, body)).await;
    let title = format!("an update without a change is accepted: {kind}");
    exam.check(format!("update.{kind}"), "1.2", title, answer.is(&[200, 202]).with_operation_when_async());
    if answer.status == 202 {
        let last = exam.settle(exam.last_operation(id)).await;
        let verdict = last.is(&[200]).with("state", &json!("succeeded"));
        exam.check(format!("update.{kind}.end"), "1.2", "the update succeeds", verdict);
    }
}

async fn refused(exam: &Exam, id: &str) {
    let service = &exam.service["id"];
    let title = "a change of plan that the catalog does not offer is refused";
    match exam.other_plan().filter(|_| !exam.is_updateable()) {
        Some(plan) => {
            let answer =
                exam.send(exam.patch(id, &json!({ "service_id": service, "plan_id": plan["id"] }))).await;
            exam.check("update.plan", "1.2", title, answer.is(&[400, 422]).with_description());
        }
        None => exam.skip("update.plan", "1.2", title, "the plan can be changed, or is the only one"),
    }
    let shape = Shape::new(exam.schema("service_instance/update"));
    let title = "parameters that the schema forbids are refused";
    match shape.illegal(&shape.legal(), Fault::WrongType) {
        Some(bad) => {
            let answer =
                exam.send(exam.patch(id, &json!({ "service_id": service, "parameters": bad }))).await;
            exam.check("update.parameters.illegal", "1.5", title, answer.is(&[400]).with_description());
        }
        None => exam.skip("update.parameters.illegal", "1.5", title, "the plan has no schema for updates"),
    }
}
