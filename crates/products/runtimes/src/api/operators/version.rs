//! `GET /version`

use axum::Json;

use crate::api::types;
use server::http::Failure;
use server::query::Query;

/// The version of the program.
#[utoipa::path(
    get, path = "/version", tag = "runtimes", operation_id = "get_version",
    responses((status = OK, body = types::ProgramVersion, description = "The version."))
)]
pub(crate) async fn get_version(query: Query) -> Result<Json<types::ProgramVersion>, Failure> {
    query.finish()?;
    Ok(Json(types::ProgramVersion { version: env!("CARGO_PKG_VERSION").to_owned() }))
}
