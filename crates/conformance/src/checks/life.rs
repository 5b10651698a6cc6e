//! One instance from its first PUT to the time after its deletion; each topic finds it ready and leaves it so.

use serde_json::json;

use crate::checks::{bindings, deprovisioning, maintenance, order, ready, updates};
use crate::exam::{Exam, new_id};

const OPERATION_CHARS_MAX: usize = 10_000;

pub(crate) async fn run(exam: &Exam) {
    let id = &new_id();
    if !begin(exam, id).await {
        return;
    }
    ready::run(exam, id).await;
    order::run(exam, id).await;
    maintenance::run(exam, id).await;
    bindings::run(exam, id).await;
    updates::run(exam, id).await;
    deprovisioning::run(exam, id).await;
}

/// The first PUT and the way to a ready instance. Without one nothing else can be said.
async fn begin(exam: &Exam, id: &str) -> bool {
    let first = exam.send(exam.put(id)).await;
    exam.check("put.first", "1.2", "a first PUT is accepted", first.is(&[201, 202]));
    exam.check(
        "put.credentials",
        "1.2",
        "it gives no credentials",
        first.is(&[201, 202]).without("credentials"),
    );
    let named = first.is(&[201, 202]).with_operation_when_async();
    exam.check("put.operation", "1.2", "a PUT that takes time names its operation", named);
    let length = first.json["operation"].as_str().unwrap_or_default().chars().count();
    let short = first
        .is(&[201, 202])
        .and(length <= OPERATION_CHARS_MAX, || format!("operation has {length} characters"));
    exam.check("put.operation.length", "1.1", "the name of the operation is short enough", short);
    let dashboard = &first.json["dashboard_url"];
    let is_url = dashboard.is_null() || dashboard.as_str().is_some_and(|url| url.starts_with("http"));
    let fine = first.is(&[201, 202]).and(is_url, || format!("dashboard_url is {dashboard}"));
    exam.check("put.dashboard_url", "1.2", "a dashboard is a web address", fine);

    let operation = first.operation().unwrap_or_default();
    let call = exam.last_operation_with_hints(id);
    let call = if operation.is_empty() { call } else { call.query("operation", operation) };
    let last = exam.settle(call).await;
    let succeeded = last.is(&[200]).with("state", &json!("succeeded")).with_description();
    exam.check("put.end", "1.2", "the provisioning succeeds", succeeded);
    let plain = last.is(&[200]).without("instance_usable").without("update_repeatable");
    exam.check("put.end.fields", "1.1", "its end says nothing about updates", plain);
    if exam.is_retrievable() {
        let fetched = exam.send(exam.fetch(id)).await;
        let is_late = exam.options.late_dashboard && dashboard.is_null();
        let same = fetched.is(&[200]).and(is_late || fetched.json["dashboard_url"] == *dashboard, || {
            format!("the first answer said dashboard_url {dashboard}")
        });
        exam.check("put.dashboard_url.first", "1.2", "the first answer has the dashboard already", same);
    }
    last.state() == Some("succeeded")
}
