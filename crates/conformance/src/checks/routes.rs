//! Routes and methods that do not exist.

use reqwest::Method;
use serde_json::json;

use crate::call::BrokerCall;
use crate::checker::{Checker, new_id};

pub(crate) async fn run(checker: &Checker) {
    let instance = format!("/v2/service_instances/{}", new_id());
    let binding = format!("{instance}/service_bindings/{}", new_id());
    for (name, path, allowed, refused) in [
        ("catalog", "/v2/catalog".to_owned(), &["GET"][..], &["POST", "PUT", "PATCH", "DELETE"][..]),
        ("instance", instance.clone(), &["GET", "PUT", "PATCH", "DELETE"], &["POST"]),
        (
            "last_operation",
            format!("{instance}/last_operation"),
            &["GET"],
            &["POST", "PUT", "PATCH", "DELETE"],
        ),
        ("binding", binding.clone(), &["GET", "PUT", "DELETE"], &["POST", "PATCH"]),
        ("binding_last_operation", format!("{binding}/last_operation"), &["GET"], &["POST", "PUT", "DELETE"]),
    ] {
        for method in refused {
            not_allowed(checker, name, &path, allowed, method).await;
        }
    }
    for (name, path) in [
        ("root", "/v2".to_owned()),
        ("unknown", "/v2/conformance".to_owned()),
        ("instances", "/v2/service_instances".to_owned()),
        ("below-instance", format!("{instance}/conformance")),
        ("bindings", format!("{instance}/service_bindings")),
        ("below-binding", format!("{binding}/conformance")),
        ("below-catalog", "/v2/catalog/conformance".to_owned()),
    ] {
        let answer = checker.send(BrokerCall::get(path)).await;
        let title = "a route that does not exist is answered with 404 in JSON";
        checker.check(format!("route.{name}"), "1.5", title, answer.is(&[404]).with_description());
    }
    let head = checker.send(BrokerCall::new(Method::HEAD, "/v2/catalog")).await;
    let verdict = head.is(&[200, 405]).and(head.text.is_empty(), || "expected no body".to_owned());
    checker.check("route.head", "1.5", "HEAD has no body", verdict);
    let answer = checker.send(BrokerCall::get("/v2/catalog").query("conformance", "unknown")).await;
    checker.check("route.query", "1.1", "an unknown query parameter is ignored", answer.is(&[200]));
    let answer = checker.send(BrokerCall::get("/v2/conformance").version(Some("1.0"))).await;
    checker.check("order.version-before-route", "1.5", "412 comes before 404", answer.is(&[412]));
}

async fn not_allowed(checker: &Checker, name: &str, path: &str, allowed: &[&str], method: &str) {
    let method = Method::from_bytes(method.as_bytes()).expect("the names in the table are methods");
    let answer = checker.send(BrokerCall::new(method.clone(), path).json(&json!({}))).await;
    let listed: Vec<&str> = answer.header("allow").unwrap_or_default().split(',').map(str::trim).collect();
    let complete = allowed.iter().all(|method| listed.contains(method)) && !listed.contains(&method.as_str());
    let verdict = answer.is(&[405]).and(complete, || format!("expected Allow with {}", allowed.join(", ")));
    checker.check(
        format!("method.{name}.{method}"),
        "1.5",
        format!("{method} is not a method of {name}"),
        verdict.with_description(),
    );
}
