//! `GET /v2/service_instances/{instance_id}/service_bindings/{binding_id}/last_operation`

use axum::Extension;
use axum::extract::State;
use axum::response::Response;

use super::decide::{OsbCall, decide};
use super::instance_path::{InstancePath, QueryParams};
use super::{BrokerState, wire};
use server::http::Failure;
use server::principal::Principal;

/// How the last operation on a binding stands.
#[utoipa::path(
    get, path = "/v2/service_instances/{instance_id}/service_bindings/{binding_id}/last_operation",
    tag = "bindings", operation_id = "binding_last_operation",
    responses(
        (status = OK, body = wire::LastOperation, description = "How it stands.",
         headers(("retry-after" = Option<u64>, description = "Seconds until it is worth asking again."))),
        (status = NOT_FOUND, description = "The binding was never heard of."),
        (status = GONE, description = "The binding was deleted."),
    )
)]
pub(crate) async fn binding_last_operation(
    State(broker): State<BrokerState>,
    instance_path: InstancePath,
    query_params: QueryParams,
    Extension(caller): Extension<Principal>,
) -> Result<Response, Failure> {
    let known = broker.binding(&caller, &instance_path.instance, &instance_path.binding).await?;
    let decision = decide(known.as_ref().map(|known| known.status), OsbCall::LastOperation);
    let Some(known) = known else { return Err(decision.osb_error("service binding")) };
    let report = broker.report(decision, &known.row, &query_params, "service binding").await?;
    Ok(report.respond(&broker))
}
