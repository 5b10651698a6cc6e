//! `GET /reservations/{ID}`

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::super::LaunchState;
use super::super::launches::wait::{answer, look};
use super::super::principal::TenantPrincipal;
use super::super::query::{QueryParams, RecordId};
use super::wire;
use server::http::Failure;

/// Shows how far a launch is.
#[utoipa::path(
    get, path = "/reservations/{ID}", tag = "reservations", operation_id = "getReservationByID",
    params(("ID" = i64, Path, description = "The id of the reservation."),
           ("wait" = Option<String>, Query, description = "How long to wait for something new, such as `30s`."),
           ("If-None-Match" = Option<String>, Header, description = "What the client has.")),
    responses((status = OK, body = wire::Reservation, description = "The reservation."),
              (status = NOT_MODIFIED, description = "Nothing has happened."))
)]
pub(in crate::api) async fn get_reservation(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    RecordId(id): RecordId,
    asked: QueryParams,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let (found, is_known) = look(&shared, &principal, &id.to_string(), &asked, &headers).await?;
    Ok(answer(&found, is_known, wire::Reservation::from(&found.view)))
}
