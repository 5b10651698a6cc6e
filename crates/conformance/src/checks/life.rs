//! One instance from its first PUT to the time after its deletion; each topic finds it ready and leaves it so.

use serde_json::json;

use crate::checker::{Checker, new_id};
use crate::checks::{bindings, deprovisioning, maintenance, order, ready, updates};

const OPERATION_CHARS_MAX: usize = 10_000;

pub(crate) async fn run(checker: &Checker) {
    let id = &new_id();
    if !begin(checker, id).await {
        return;
    }
    ready::run(checker, id).await;
    order::run(checker, id).await;
    maintenance::run(checker, id).await;
    bindings::run(checker, id).await;
    updates::run(checker, id).await;
    deprovisioning::run(checker, id).await;
}

/// The first PUT and the way to a ready instance. Without one nothing else can be said.
async fn begin(checker: &Checker, id: &str) -> bool {
    let first = checker.send(checker.put(id)).await;
    checker.check("put.first", "1.2", "a first PUT is accepted", first.is(&[201, 202]));
    checker.check(
        "put.credentials",
        "1.2",
        "it gives no credentials",
        first.is(&[201, 202]).without("credentials"),
    );
    let named = first.is(&[201, 202]).with_operation_when_async();
    checker.check("put.operation", "1.2", "a PUT that takes time names its operation", named);
    let length = first.json["operation"].as_str().unwrap_or_default().chars().count();
    let short = first
        .is(&[201, 202])
        .and(length <= OPERATION_CHARS_MAX, || format!("operation has {length} characters"));
    checker.check("put.operation.length", "1.1", "the name of the operation is short enough", short);
    let dashboard = &first.json["dashboard_url"];
    let is_url = dashboard.is_null() || dashboard.as_str().is_some_and(|url| url.starts_with("http"));
    let fine = first.is(&[201, 202]).and(is_url, || format!("dashboard_url is {dashboard}"));
    checker.check("put.dashboard_url", "1.2", "a dashboard is a web address", fine);

    let operation = first.operation().unwrap_or_default();
    let call = checker.last_operation_with_query(id);
    let call = if operation.is_empty() { call } else { call.query("operation", operation) };
    let last = checker.settle(call).await;
    let succeeded = last.is(&[200]).with("state", &json!("succeeded")).with_description();
    checker.check("put.end", "1.2", "the provisioning succeeds", succeeded);
    let plain = last.is(&[200]).without("instance_usable").without("update_repeatable");
    checker.check("put.end.fields", "1.1", "its end says nothing about updates", plain);
    if checker.is_retrievable() {
        let fetched = checker.send(checker.fetch(id)).await;
        let is_late = checker.options.late_dashboard && dashboard.is_null();
        let same = fetched.is(&[200]).and(is_late || fetched.json["dashboard_url"] == *dashboard, || {
            format!("the first answer said dashboard_url {dashboard}")
        });
        checker.check("put.dashboard_url.first", "1.2", "the first answer has the dashboard already", same);
    }
    last.state() == Some("succeeded")
}
