//! Maintenance versions: the one of the catalog, another one, and none.

use serde_json::{Value, json};

use crate::exam::{Exam, new_id};

const CONFLICT: &str = "MaintenanceInfoConflict";

pub(crate) async fn run(exam: &Exam, id: &str) {
    let update = |info: Value| json!({ "service_id": exam.service["id"], "maintenance_info": info });
    let newer = json!({ "version": "999.0.0-conformance" });
    let fresh = &new_id();
    let body = exam.body_with(&[("/maintenance_info", newer.clone())]);
    let answer = exam.send(exam.put_with(fresh, &body)).await;
    let title = "a maintenance version that the plan does not have is refused";
    exam.check("maintenance.put", "1.2", title, answer.is_error(CONFLICT).with_description());
    let answer = exam.send(exam.last_operation(fresh)).await;
    exam.check("maintenance.put.nothing", "1.1", "then nothing is made", answer.is(&[404]));
    let answer = exam.send(exam.patch(id, &update(newer))).await;
    exam.check("maintenance.update", "1.2", title, answer.is_error(CONFLICT).with_description());
    let answer = exam.send(exam.put(id)).await;
    exam.check("maintenance.update.nothing", "1.1", "then nothing is changed", answer.is(&[200]));
    accepted(exam, id, "maintenance.update.empty", "an empty maintenance_info says nothing", json!({})).await;

    let title = "the maintenance version of the catalog is accepted";
    match exam.plan.get("maintenance_info") {
        Some(info) => {
            let info = json!({ "version": info["version"] });
            let body = exam.body_with(&[("/maintenance_info", info.clone())]);
            let answer = exam.send(exam.put_with(id, &body)).await;
            exam.check("maintenance.put.right", "1.2", title, answer.is(&[200]));
            accepted(exam, id, "maintenance.update.right", title, info).await;
        }
        None => exam.skip("maintenance.right", "1.2", title, "the plan has none"),
    }
}

async fn accepted(exam: &Exam, id: &str, check: &str, title: &str, info: Value) {
    let body = json!({ "service_id": exam.service["id"], "maintenance_info": info });
    let answer = exam.send(exam.patch(id, &body)).await;
    exam.check(check, "1.2", title, answer.is(&[200, 202]).with_operation_when_async());
    if answer.status == 202 {
        exam.settle(exam.last_operation(id)).await;
    }
}
