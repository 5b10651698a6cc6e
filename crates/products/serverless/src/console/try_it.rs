//! A serverless runtime in the sandbox, to see how it looks.

use axum::http::Method;
use serde_json::json;

use super::{AT_ONCE, begun};
use console::{PageError, SignedIn};

pub(super) async fn start(signed_in: &SignedIn, name: String) -> Result<String, PageError> {
    let body = json!({"SERVERLESS_RUNTIME": {"NAME": name, "FAAS": {"FLAVOUR": "Function"}}});
    let answer = signed_in.api.send(Method::POST, "/serverless-runtimes", &[AT_ONCE], Some(&body)).await?;
    Ok(format!("/console/operations/{}", begun(&answer)?))
}
