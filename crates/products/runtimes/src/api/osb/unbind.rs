//! `DELETE /v2/service_instances/{instance_id}/service_bindings/{binding_id}`

use crate::model::{Binding, InstanceRecord, Status};
use crate::workflows::unbind::{Params, Unbind};
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use engine::{OperationId, RecordWrites, Submission};

use super::decide::{Decision, OsbCall, decide};
use super::error;
use super::instance_path::{InstancePath, QueryParams};
use super::standing::{StoredRecord, broken};
use super::submit::{ATTEMPTS_MAX, done, under_way};
use super::{BrokerShared, BrokerState, wire};
use server::http::Failure;
use server::principal::Principal;

/// Takes credentials back.
///
/// With `accepts_incomplete=true` that is done in the background, and without it before the answer.
#[utoipa::path(
    delete, path = "/v2/service_instances/{instance_id}/service_bindings/{binding_id}", tag = "bindings",
    operation_id = "unbind",
    responses(
        (status = OK, body = wire::Empty, description = "The credentials are worth nothing any more."),
        (status = ACCEPTED, body = wire::Accepted, description = "They are being revoked."),
        (status = GONE, description = "There is no such binding."),
        (status = UNPROCESSABLE_ENTITY, description = "`ConcurrencyError`, or they could not be revoked."),
    )
)]
pub(crate) async fn unbind(
    State(broker): State<BrokerState>,
    instance_path: InstancePath,
    query_params: QueryParams,
    Extension(caller): Extension<Principal>,
) -> Result<Response, Failure> {
    let (service, plan) = query_params.service_and_plan()?;
    if let Err(osb_error) = broker.plan(service, plan) {
        // A binding may outlive its plan.
        let known = broker.binding(&caller, &instance_path.instance, &instance_path.binding).await?;
        let is_of = |record: &Binding| record.service_id == service && record.plan_id == plan;
        known.filter(|known| is_of(&known.record)).ok_or(osb_error)?;
    }
    let later = query_params.accepts_incomplete && !broker.settings().compat_keb;
    for _ in 0..ATTEMPTS_MAX {
        match attempt(&broker, &instance_path, &caller).await? {
            None => {}
            Some(id) if later => {
                let operation = Some(id.to_string());
                return Ok(under_way(wire::Accepted { operation, ..wire::Accepted::default() }));
            }
            Some(id) => return at_once(&broker, &instance_path, &caller, id).await,
        }
    }
    Err(error::busy())
}

/// The operation that takes them back. `None` when another request was faster: look again.
async fn attempt(
    broker: &BrokerShared,
    instance_path: &InstancePath,
    caller: &Principal,
) -> Result<Option<OperationId>, Failure> {
    let Some(known) = broker.binding(caller, &instance_path.instance, &instance_path.binding).await? else {
        return Err(Decision::Gone.osb_error("service binding"));
    };
    match decide(Some(known.status), OsbCall::Delete) {
        Decision::Start => take_back(broker, &known, None, caller).await,
        Decision::Supersede => {
            let reason = "the platform deleted the binding while it was being made";
            let running = known.row.operation.map(|operation| (operation, reason.to_owned()));
            take_back(broker, &known, running, caller).await
        }
        Decision::SameOperation => {
            known.row.operation.map(Some).ok_or_else(|| broken("no operation deletes the binding"))
        }
        other => Err(other.osb_error("service binding")),
    }
}

impl BrokerShared {
    /// Begins to take back the credentials of all live bindings, and answers their ids.
    pub(crate) async fn take_bindings_back(
        &self,
        instance: &StoredRecord<InstanceRecord>,
        caller: &Principal,
    ) -> Result<Vec<String>, Failure> {
        let mut ending = Vec::new();
        for row in self.live_binding_rows(&instance.record).await? {
            let binding: Binding = super::standing::read(&row)?;
            let instance_path = InstancePath {
                region: None,
                instance: binding.instance_id,
                binding: binding.binding_id.clone(),
            };
            for _ in 0..ATTEMPTS_MAX {
                match attempt(self, &instance_path, caller).await {
                    Ok(None) => {}
                    Ok(Some(_)) => break,
                    // Another request was faster: it is gone already.
                    Err(Failure::Error(error)) if error.status == StatusCode::GONE => break,
                    Err(failure) => return Err(failure),
                }
            }
            ending.push(binding.binding_id);
        }
        Ok(ending)
    }
}

async fn take_back(
    broker: &BrokerShared,
    known: &StoredRecord<Binding>,
    supersedes: Option<(OperationId, String)>,
    caller: &Principal,
) -> Result<Option<OperationId>, Failure> {
    let StoredRecord { row, record, .. } = known;
    let owner = broker.instance(caller, &record.instance_id).await?.map(|owner| owner.record);
    let (account, subaccount) =
        owner.as_ref().map(|owner| (owner.account.as_str(), owner.subaccount.as_str())).unwrap_or_default();
    let params = Params {
        instance_id: record.instance_id.clone(),
        binding_id: record.binding_id.clone(),
        runtime_id: owner.as_ref().and_then(|owner| owner.runtime_id.clone()),
        account: account.to_owned(),
        subaccount: subaccount.to_owned(),
    };
    let queue = supersedes.is_some();
    let along = RecordWrites { subject: Some((known.expect(), None)), supersedes, ..RecordWrites::default() };
    let submission = Submission::<Unbind>::new(&row.tenant, &caller.name, &params);
    let name = owner.as_ref().and_then(InstanceRecord::shown_name);
    broker.submit(Submission { resource: Some(&row.name), name, queue, along, ..submission }).await
}

async fn at_once(
    broker: &BrokerShared,
    instance_path: &InstancePath,
    caller: &Principal,
    operation: OperationId,
) -> Result<Response, Failure> {
    broker.wait_for(&Binding::resource(&instance_path.instance, &instance_path.binding), operation).await?;
    let known = broker.binding(caller, &instance_path.instance, &instance_path.binding).await?;
    match known {
        Some(known) if known.status == Status::DeprovisionFailed => {
            let progress = broker.newest(&known.row).await?;
            let cause = progress.map(|progress| progress.cause()).unwrap_or_default();
            let text = format!("the credentials could not be revoked: {cause}; send the request again");
            Err(error::unprocessable(text))
        }
        Some(known) if known.status != Status::Gone => Err(error::busy()),
        _ => Ok(done()),
    }
}
