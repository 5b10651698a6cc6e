//! Maintenance versions: the one of the catalog, another one, and none.

use serde_json::{Value, json};

use crate::checker::{Checker, new_id};

const CONFLICT: &str = "MaintenanceInfoConflict";

pub(crate) async fn run(checker: &Checker, id: &str) {
    let update = |info: Value| json!({ "service_id": checker.service["id"], "maintenance_info": info });
    let newer = json!({ "version": "999.0.0-conformance" });
    let fresh = &new_id();
    let body = checker.body_with(&[("/maintenance_info", newer.clone())]);
    let answer = checker.send(checker.put_with(fresh, &body)).await;
    let title = "a maintenance version that the plan does not have is refused";
    checker.check("maintenance.put", "1.2", title, answer.is_error(CONFLICT).with_description());
    let answer = checker.send(checker.last_operation(fresh)).await;
    checker.check("maintenance.put.nothing", "1.1", "then nothing is made", answer.is(&[404]));
    let answer = checker.send(checker.patch(id, &update(newer))).await;
    checker.check("maintenance.update", "1.2", title, answer.is_error(CONFLICT).with_description());
    let answer = checker.send(checker.put(id)).await;
    checker.check("maintenance.update.nothing", "1.1", "then nothing is changed", answer.is(&[200]));
    accepted(checker, id, "maintenance.update.empty", "an empty maintenance_info says nothing", json!({}))
        .await;

    let title = "the maintenance version of the catalog is accepted";
    match checker.plan.get("maintenance_info") {
        Some(info) => {
            let info = json!({ "version": info["version"] });
            let body = checker.body_with(&[("/maintenance_info", info.clone())]);
            let answer = checker.send(checker.put_with(id, &body)).await;
            checker.check("maintenance.put.right", "1.2", title, answer.is(&[200]));
            accepted(checker, id, "maintenance.update.right", title, info).await;
        }
        None => checker.skip("maintenance.right", "1.2", title, "the plan has none"),
    }
}

async fn accepted(checker: &Checker, id: &str, check: &str, title: &str, info: Value) {
    let body = json!({ "service_id": checker.service["id"], "maintenance_info": info });
    let answer = checker.send(checker.patch(id, &body)).await;
    checker.check(check, "1.2", title, answer.is(&[200, 202]).with_operation_when_async());
    if answer.status == 202 {
        checker.settle(checker.last_operation(id)).await;
    }
}
