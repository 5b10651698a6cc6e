//! `GET /v2/service_instances/{instance_id}/service_bindings/{binding_id}`

use axum::extract::State;
use axum::{Extension, Json};

use super::decide::{Decision, OsbCall, decide};
use super::instance_path::InstancePath;
use super::{BrokerState, wire};
use server::http::Failure;
use server::principal::Principal;

/// Shows a binding with its credentials.
#[utoipa::path(
    get, path = "/v2/service_instances/{instance_id}/service_bindings/{binding_id}", tag = "bindings",
    operation_id = "fetch_binding",
    responses(
        (status = OK, body = wire::Binding, description = "The binding."),
        (status = NOT_FOUND, description = "There is none, it is not ready yet, or it has expired."),
    )
)]
pub(crate) async fn fetch_binding(
    State(broker): State<BrokerState>,
    instance_path: InstancePath,
    Extension(caller): Extension<Principal>,
) -> Result<Json<wire::Binding>, Failure> {
    let known = broker.binding(&caller, &instance_path.instance, &instance_path.binding).await?;
    let decision = decide(known.as_ref().map(|known| known.status), OsbCall::Get);
    match (decision, known) {
        (Decision::Show, Some(known))
            if known.record.kubeconfig.is_some() && !broker.has_expired(&known.row) =>
        {
            broker.credentials(&known).map(Json)
        }
        _ => Err(Decision::NotFound.osb_error("service binding")),
    }
}
