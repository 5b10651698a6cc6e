//! What everybody may know: the schema of a runtime, the version, and the configuration.

use axum::extract::State;
use axum::http::StatusCode;

use super::ServerlessState;
use super::answer::RuntimeResponse;
use server::http::Failure;

/// As it is in the file, which is also what a caller gets.
const SCHEMA: &str = include_str!("schema.json");

/// The JSON schema of a runtime.
#[utoipa::path(
    get, path = "/serverless-runtimes/schema", tag = "server", operation_id = "schema",
    responses((status = OK, body = Object, description = "A JSON schema, draft 4."))
)]
pub(crate) async fn schema() -> RuntimeResponse {
    RuntimeResponse::of(StatusCode::OK, SCHEMA.to_owned())
}

/// The version that this engine stands for.
#[utoipa::path(
    get, path = "/server/version", tag = "server", operation_id = "version",
    responses((status = OK, body = String, content_type = "application/json", description = "A semantic version."))
)]
pub(crate) async fn version(State(shared): State<ServerlessState>) -> Result<RuntimeResponse, Failure> {
    RuntimeResponse::ok(&shared.api_parts.version)
}

/// The same as `/server/version`, where older clients look for it.
#[utoipa::path(
    get, path = "/engine/version", tag = "server", operation_id = "engine_version",
    responses((status = OK, body = String, content_type = "application/json", description = "A semantic version."))
)]
pub(crate) async fn engine_version(
    State(shared): State<ServerlessState>,
) -> Result<RuntimeResponse, Failure> {
    RuntimeResponse::ok(&shared.api_parts.version)
}

/// The configuration that is in force.
#[utoipa::path(
    get, path = "/server/config", tag = "server", operation_id = "config",
    responses((status = OK, body = Object, description = "The members of `engine.conf`."))
)]
pub(crate) async fn config(State(shared): State<ServerlessState>) -> Result<RuntimeResponse, Failure> {
    RuntimeResponse::ok(&shared.api_parts.config)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/api/schema.json");

    #[test]
    fn the_schema_is_that_of_the_type() {
        let mut schema = ::api::json_schema::<super::super::wire::Envelope>();
        for word in ["description", "title"] {
            schema.as_object_mut().unwrap().remove(word);
        }
        as_draft_4(&mut schema, false);
        schema["$schema"] = json!("http://json-schema.org/draft-04/schema#");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(FILE, format!("{schema:#}\n")).unwrap();
        }
        let served: Value = serde_json::from_str(SCHEMA).unwrap();
        assert_eq!(
            served, schema,
            "look at the difference after `UPDATE=1 cargo test -p serverless schema`, and keep it if it is meant"
        );
    }

    /// What may be left out is not `null`, except the data service; and of what draft 4 does not know nothing is left.
    fn as_draft_4(schema: &mut Value, may_be_null: bool) {
        if let Some(value) = schema.get("oneOf").and_then(|all| all.get(0)).cloned() {
            *schema = value;
            if may_be_null {
                schema["type"] = json!([schema["type"], "null"]);
            }
        } else if !may_be_null && let Some(kind) = schema["type"].get(0).cloned() {
            schema["type"] = kind;
        }
        let members = schema.as_object_mut().unwrap();
        for word in ["format", "example"] {
            members.remove(word);
        }
        if let Some(Value::String(text)) = members.get_mut("description") {
            *text = text.trim_end_matches('.').to_owned();
        }
        for (name, inner) in
            members.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten()
        {
            as_draft_4(inner, name == "DAAS");
        }
    }
}
