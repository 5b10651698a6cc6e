//! `GET /reservations/{type}/{id}`

use axum::Json;
use axum::extract::{OriginalUri, State};

use super::super::Desk;
use super::super::launches::find::{find, provider};
use super::super::principal::TenantPrincipal;
use super::super::query::Number;
use super::super::refused::Refused;
use super::super::rights::Verb;
use super::wire;

/// Shows a launch in the words of its provider.
#[utoipa::path(
    get, path = "/reservations/{type}/{id}", tag = "reservations", operation_id = "get_provider_reservation",
    params(("type" = String, Path, description = "`aws`, `azure`, `gcp` or `noop`."),
           ("id" = i64, Path, description = "The id of the reservation.")),
    responses((status = OK, body = wire::ProviderReservation, description = "The reservation."),
              (status = BAD_REQUEST, body = super::super::wire::Error, description = "It is of another type."))
)]
pub(in crate::launch) async fn get_provider_reservation(
    State(desk): State<Desk>,
    principal: TenantPrincipal,
    Number(id): Number,
    OriginalUri(uri): OriginalUri,
) -> Result<Json<wire::ProviderReservation>, Refused> {
    let path = uri.path().strip_prefix(super::super::BASE).unwrap_or_default();
    let kind = provider("type", path.split('/').nth(2).unwrap_or_default())?;
    let found = find(&desk, &principal, &id.to_string(), Verb::Read).await?;
    if found.view.record.provider != kind {
        let is = found.view.record.provider;
        return Err(Refused::invalid("type", format!("this reservation is of the type {is}")));
    }
    Ok(Json(wire::ProviderReservation::from(&found.view)))
}
