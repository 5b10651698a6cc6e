//! `GET /reservations/aws/{ID}` and the same for the other providers.

use axum::Json;
use axum::extract::State;
use workflows::launch::cloud::ProviderKind;

use super::super::Desk;
use super::super::launches::find::find;
use super::super::principal::TenantPrincipal;
use super::super::query::Number;
use super::super::rights::Verb;
use super::super::wire::Error;
use super::wire::{self, ProviderReservation};
use crate::http::Failure;
use crate::launch::error;

/// Shows a launch in the words of AWS.
#[utoipa::path(
    get, path = "/reservations/aws/{ID}", tag = "reservations", operation_id = "getAWSReservationByID",
    params(("ID" = i64, Path, description = "The id of the reservation.")),
    responses((status = OK, body = wire::AwsReservation, description = "The reservation."),
              (status = BAD_REQUEST, body = Error, description = "It is of another type."))
)]
pub(in crate::launch) async fn get_aws_reservation(
    State(desk): State<Desk>,
    principal: TenantPrincipal,
    Number(id): Number,
) -> Result<Json<ProviderReservation>, Failure> {
    get(&desk, &principal, ProviderKind::Aws, id).await
}

/// Shows a launch in the words of Azure.
#[utoipa::path(
    get, path = "/reservations/azure/{ID}", tag = "reservations", operation_id = "getAzureReservationByID",
    params(("ID" = i64, Path, description = "The id of the reservation.")),
    responses((status = OK, body = wire::AzureReservation, description = "The reservation."),
              (status = BAD_REQUEST, body = Error, description = "It is of another type."))
)]
pub(in crate::launch) async fn get_azure_reservation(
    State(desk): State<Desk>,
    principal: TenantPrincipal,
    Number(id): Number,
) -> Result<Json<ProviderReservation>, Failure> {
    get(&desk, &principal, ProviderKind::Azure, id).await
}

/// Shows a launch in the words of GCP.
#[utoipa::path(
    get, path = "/reservations/gcp/{ID}", tag = "reservations", operation_id = "getGCPReservationByID",
    params(("ID" = i64, Path, description = "The id of the reservation.")),
    responses((status = OK, body = wire::GcpReservation, description = "The reservation."),
              (status = BAD_REQUEST, body = Error, description = "It is of another type."))
)]
pub(in crate::launch) async fn get_gcp_reservation(
    State(desk): State<Desk>,
    principal: TenantPrincipal,
    Number(id): Number,
) -> Result<Json<ProviderReservation>, Failure> {
    get(&desk, &principal, ProviderKind::Gcp, id).await
}

/// Shows a launch of nothing.
#[utoipa::path(
    get, path = "/reservations/noop/{ID}", tag = "reservations", operation_id = "getNoopReservationByID",
    params(("ID" = i64, Path, description = "The id of the reservation.")),
    responses((status = OK, body = wire::NoopReservation, description = "The reservation."),
              (status = BAD_REQUEST, body = Error, description = "It is of another type."))
)]
pub(in crate::launch) async fn get_noop_reservation(
    State(desk): State<Desk>,
    principal: TenantPrincipal,
    Number(id): Number,
) -> Result<Json<ProviderReservation>, Failure> {
    get(&desk, &principal, ProviderKind::Noop, id).await
}

async fn get(
    desk: &Desk,
    principal: &TenantPrincipal,
    kind: ProviderKind,
    id: i64,
) -> Result<Json<ProviderReservation>, Failure> {
    let found = find(desk, principal, &id.to_string(), Verb::Read).await?;
    let is = found.view.record.provider;
    if is != kind {
        return Err(error::invalid("type", format!("this reservation is of the type {is}")));
    }
    Ok(Json(ProviderReservation::from(&found.view)))
}
