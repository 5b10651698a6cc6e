//! Parameters that the schema of the plan does not allow.

use serde_json::{Value, json};

use crate::exam::{Exam, new_id};
use crate::shape::Fault;

pub(crate) async fn run(exam: &Exam) {
    let shape = exam.shape();
    for (kind, fault) in [
        ("wrong-type", Fault::WrongType),
        ("not-in-enum", Fault::NotInEnum),
        ("out-of-range", Fault::OutOfRange),
        ("too-long", Fault::TooLong),
        ("missing", Fault::Missing),
        ("unknown", Fault::Unknown),
    ] {
        let title = format!("parameters that the schema forbids are refused: {kind}");
        match shape.illegal(&exam.parameters, fault) {
            Some(parameters) => refused(exam, kind, &title, parameters).await,
            None => exam.skip(
                format!("parameters.{kind}"),
                "1.5",
                &title,
                "the schema forbids nothing of this kind",
            ),
        }
    }
    let plan = exam.plan["name"].as_str().unwrap_or_default();
    for (name, properties) in exam.options.invalid_parameters.get(plan).into_iter().flatten() {
        let mut parameters = exam.parameters.clone();
        for (key, value) in properties.as_object().into_iter().flatten() {
            parameters[key] = value.clone();
        }
        let title = format!("parameters beyond the schema are refused: {name}");
        refused(exam, &format!("given.{name}"), &title, parameters).await;
    }
    let body = exam.body_with(&[("/parameters", json!({ "conformance": "x".repeat(300_000) }))]);
    let answer = exam.send(exam.put_with(&new_id(), &body)).await;
    let clean = answer.status != 0 && answer.status < 500;
    let verdict = answer.is(&[200, 201, 202, 400, 413]).and(clean, || "expected a clean answer".to_owned());
    exam.check("parameters.large", "1.6", "large parameters are taken or refused cleanly", verdict);
}

async fn refused(exam: &Exam, kind: &str, title: &str, parameters: Value) {
    let id = new_id();
    let answer = exam.send(exam.put_with(&id, &exam.body_with(&[("/parameters", parameters)]))).await;
    exam.check(format!("parameters.{kind}"), "1.5", title, answer.is(&[400]).with_description());
    let last = exam.send(exam.last_operation(&id)).await;
    exam.check(
        format!("parameters.{kind}.nothing"),
        "1.1",
        "a refused request leaves nothing behind",
        last.is(&[404]),
    );
}
