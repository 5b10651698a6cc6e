//! Parameters that the schema of the plan does not allow.

use serde_json::{Value, json};

use crate::checker::{Checker, new_id};
use crate::shape::ParameterFault;

pub(crate) async fn run(checker: &Checker) {
    let shape = checker.shape();
    for (kind, fault) in [
        ("wrong-type", ParameterFault::WrongType),
        ("not-in-enum", ParameterFault::NotInEnum),
        ("out-of-range", ParameterFault::OutOfRange),
        ("too-long", ParameterFault::TooLong),
        ("missing", ParameterFault::Missing),
        ("unknown", ParameterFault::Unknown),
    ] {
        let title = format!("parameters that the schema forbids are refused: {kind}");
        match shape.illegal(&checker.parameters, fault) {
            Some(parameters) => refused(checker, kind, &title, parameters).await,
            None => checker.skip(
                format!("parameters.{kind}"),
                "1.5",
                &title,
                "the schema forbids nothing of this kind",
            ),
        }
    }
    let plan = checker.plan["name"].as_str().unwrap_or_default();
    for (name, properties) in checker.options.invalid_parameters.get(plan).into_iter().flatten() {
        let mut parameters = checker.parameters.clone();
        for (key, value) in properties.as_object().into_iter().flatten() {
            parameters[key] = value.clone();
        }
        let title = format!("parameters beyond the schema are refused: {name}");
        refused(checker, &format!("given.{name}"), &title, parameters).await;
    }
    let body = checker.body_with(&[("/parameters", json!({ "conformance": "x".repeat(300_000) }))]);
    let answer = checker.send(checker.put_with(&new_id(), &body)).await;
    let clean = answer.status != 0 && answer.status < 500;
    let verdict = answer.is(&[200, 201, 202, 400, 413]).and(clean, || "expected a clean answer".to_owned());
    checker.check("parameters.large", "1.6", "large parameters are taken or refused cleanly", verdict);
}

async fn refused(checker: &Checker, kind: &str, title: &str, parameters: Value) {
    let id = new_id();
    let answer =
        checker.send(checker.put_with(&id, &checker.body_with(&[("/parameters", parameters)]))).await;
    checker.check(format!("parameters.{kind}"), "1.5", title, answer.is(&[400]).with_description());
    let last = checker.send(checker.last_operation(&id)).await;
    checker.check(
        format!("parameters.{kind}.nothing"),
        "1.1",
        "a refused request leaves nothing behind",
        last.is(&[404]),
    );
}
