//! A serverless runtime in the sandbox, to see how it looks.

use axum::http::Method;
use serde_json::json;

use super::{AT_ONCE, begun};
use console::{Trouble, Visitor};

pub(super) async fn start(visitor: &Visitor, name: String) -> Result<String, Trouble> {
    let body = json!({"SERVERLESS_RUNTIME": {"NAME": name, "FAAS": {"FLAVOUR": "Function"}}});
    let answer = visitor.api.send(Method::POST, "/serverless-runtimes", &[AT_ONCE], Some(&body)).await?;
    Ok(format!("/console/operations/{}", begun(&answer)?))
}
