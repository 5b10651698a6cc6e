//! `GET /reservations/aws/{ID}` and the same for the other providers.

use crate::model::cloud::ProviderKind;
use axum::Json;
use axum::extract::State;

use super::super::LaunchState;
use super::super::launches::find::find;
use super::super::principal::TenantPrincipal;
use super::super::query::RecordId;
use super::super::rights::Verb;
use super::wire::{self, ProviderReservation};
use crate::api::error;
use server::http::Failure;

/// Writes the endpoint of one provider: in the document of the clients each is an operation with a type of its own.
macro_rules! get {
    ($(#[$doc:meta])+ $name:ident $kind:ident $path:tt $id:tt $reservation:ident) => {
        $(#[$doc])+
        #[utoipa::path(
            get, path = $path, tag = "reservations", operation_id = $id,
            params(("ID" = i64, Path, description = "The id of the reservation.")),
            responses((status = OK, body = wire::$reservation, description = "The reservation."),
                      (status = BAD_REQUEST, description = "It is of another type."))
        )]
        pub(in crate::api) async fn $name(
            State(shared): State<LaunchState>,
            principal: TenantPrincipal,
            RecordId(id): RecordId,
        ) -> Result<Json<ProviderReservation>, Failure> {
            get(&shared, &principal, ProviderKind::$kind, id).await
        }
    };
}

get!(
    /// Shows a launch in the words of AWS.
    get_aws_reservation Aws "/reservations/aws/{ID}" "getAWSReservationByID" AwsReservation
);
get!(
    /// Shows a launch in the words of Azure.
    get_azure_reservation Azure "/reservations/azure/{ID}" "getAzureReservationByID" AzureReservation
);
get!(
    /// Shows a launch in the words of GCP.
    get_gcp_reservation Gcp "/reservations/gcp/{ID}" "getGCPReservationByID" GcpReservation
);
get!(
    /// Shows a launch of nothing.
    get_noop_reservation Noop "/reservations/noop/{ID}" "getNoopReservationByID" NoopReservation
);

async fn get(
    shared: &LaunchState,
    principal: &TenantPrincipal,
    kind: ProviderKind,
    id: i64,
) -> Result<Json<ProviderReservation>, Failure> {
    let found = find(shared, principal, &id.to_string(), Verb::Read).await?;
    let is = found.view.record.provider;
    if is != kind {
        return Err(error::invalid("type", format!("this reservation is of the type {is}")));
    }
    Ok(Json(ProviderReservation::from(&found.view)))
}
