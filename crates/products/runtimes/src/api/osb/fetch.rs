//! `GET /v2/service_instances/{instance_id}`

use crate::model::Status;
use axum::extract::State;
use axum::{Extension, Json};

use super::decide::{Decision, OsbCall, decide};
use super::instance_path::InstancePath;
use super::standing::broken;
use super::{BrokerState, wire};
use server::http::Failure;
use server::principal::Principal;

/// Shows an instance.
#[utoipa::path(
    get, path = "/v2/service_instances/{instance_id}", tag = "instances", operation_id = "fetch",
    responses(
        (status = OK, body = wire::Instance, description = "The instance."),
        (status = NOT_FOUND, description = "There is none, or it is not ready yet."),
        (status = UNPROCESSABLE_ENTITY, description = "It is being changed: `ConcurrencyError`."),
    )
)]
pub(crate) async fn fetch(
    State(broker): State<BrokerState>,
    instance_path: InstancePath,
    Extension(caller): Extension<Principal>,
) -> Result<Json<wire::Instance>, Failure> {
    let known = broker.instance(&caller, &instance_path.instance).await?;
    let status = known.as_ref().map(|known| known.status);
    let decision = match decide(status, OsbCall::Get) {
        // The broker whose place this takes shows what it changes.
        Decision::Busy if broker.settings().compat_keb => Decision::Show,
        decision => decision,
    };
    let is_half_gone = matches!(status, Some(Status::Deprovisioning | Status::DeprovisionFailed));
    match (decision, known) {
        (Decision::Show, Some(_)) if is_half_gone && broker.settings().compat_keb => {
            Err(Decision::NotFound.osb_error("service instance"))
        }
        (Decision::Show, Some(known)) => {
            let parameters =
                known.record.parameters(&broker.sealer(&known)).map_err(|error| broken(&error))?;
            let metadata = broker.metadata(&parameters);
            let version = known.record.maintenance_version;
            Ok(Json(wire::Instance {
                service_id: known.record.service_id,
                plan_id: known.record.plan_id,
                dashboard_url: known.record.dashboard_url,
                parameters,
                maintenance_info: version.map(|version| wire::MaintenanceInfo { version: Some(version) }),
                metadata,
            }))
        }
        (other, _) => Err(other.osb_error("service instance")),
    }
}
