//! `GET /feature/{FLAG}`

use axum::extract::State;
use axum::http::StatusCode;

use super::LaunchState;
use super::error;
use super::query::Name;
use api::Code;
use server::http::Failure;

const PREFIX: &str = "provisioning.";

/// Whether a feature is on.
///
/// Clients ask before they show it.
#[utoipa::path(
    get, path = "/feature/{FLAG}", tag = "service", operation_id = "feature",
    params(("FLAG" = String, Path, description = "Its name, which begins with `provisioning.`.")),
    responses(
        (status = OK, description = "It is on."),
        (status = UNAUTHORIZED, description = "It is off: `feature_off`."),
    )
)]
pub(crate) async fn feature(
    State(shared): State<LaunchState>,
    Name(flag): Name,
) -> Result<StatusCode, Failure> {
    if !flag.starts_with(PREFIX) {
        return Err(error::invalid("flag", format!("it must begin with {PREFIX}")));
    }
    if shared.api_parts.is_on(&flag) {
        return Ok(StatusCode::OK);
    }
    Err(Failure::new(Code::FeatureOff, "this feature is off"))
}
