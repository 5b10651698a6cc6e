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
    use super::*;

    #[test]
    fn the_schema_demands_what_a_runtime_needs() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let required = |pointer: &str| schema.pointer(pointer).unwrap().as_array().unwrap().clone();
        assert_eq!(required("/required"), ["SERVERLESS_RUNTIME"]);
        let runtime = "/properties/SERVERLESS_RUNTIME";
        assert_eq!(required(&format!("{runtime}/required")), ["FAAS"]);
        for function in ["FAAS", "DAAS"] {
            assert_eq!(required(&format!("{runtime}/properties/{function}/required")), ["FLAVOUR"]);
        }
        let states = schema.pointer(&format!("{runtime}/properties/FAAS/properties/STATE/enum")).unwrap();
        assert_eq!(*states, serde_json::json!(super::super::wire::State::ALL));
    }
}
