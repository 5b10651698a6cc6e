//! `DELETE /v2/service_instances/{instance_id}`

use crate::model::{InstanceRecord, Status};
use crate::workflows::deprovision::{Deprovision, Params};
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use engine::{RecordWrites, Submission};

use super::decide::{Decision, OsbCall, decide};
use super::error;
use super::instance_path::{InstancePath, QueryParams};
use super::standing::{StoredRecord, record_update};
use super::submit::{ATTEMPTS_MAX, done, under_way};
use super::{BrokerShared, BrokerState, wire};
use server::http::Failure;
use server::principal::Principal;

/// Has an instance deleted.
///
/// One that is still being made is not made to its end. One with live bindings is not deleted; with `compat.keb` its
/// bindings end first.
#[utoipa::path(
    delete, path = "/v2/service_instances/{instance_id}", tag = "instances", operation_id = "deprovision",
    responses(
        (status = OK, body = wire::Empty, description = "It does not exist."),
        (status = ACCEPTED, body = wire::Accepted, description = "It is being deleted."),
        (status = GONE, description = "There is none."),
        (status = UNPROCESSABLE_ENTITY,
         description = "`AsyncRequired`, `ConcurrencyError`, or there are live bindings."),
    )
)]
pub(crate) async fn deprovision(
    State(broker): State<BrokerState>,
    instance_path: InstancePath,
    query_params: QueryParams,
    Extension(caller): Extension<Principal>,
) -> Result<Response, Failure> {
    let (service, plan) = query_params.service_and_plan()?;
    if let Err(osb_error) = broker.plan(service, plan) {
        // An instance may outlive its plan.
        let known = broker.instance(&caller, &instance_path.instance).await?;
        let is_of = |record: &InstanceRecord| record.service_id == service && record.plan_id == plan;
        known.filter(|known| is_of(&known.record)).ok_or(osb_error)?;
    }
    broker.can_wait(&query_params)?;
    for _ in 0..ATTEMPTS_MAX {
        if let Some(answer) = attempt(&broker, &instance_path.instance, &caller).await? {
            return Ok(answer);
        }
    }
    Err(error::busy())
}

/// `None` when another request was faster: look again.
async fn attempt(broker: &BrokerShared, id: &str, caller: &Principal) -> Result<Option<Response>, Failure> {
    let Some(known) = broker.instance(caller, id).await? else {
        return if broker.settings().compat_keb { Ok(Some(done())) } else { Err(gone()) };
    };
    match decide(Some(known.status), OsbCall::Delete) {
        Decision::Start if broker.settings().compat_keb => {
            let bindings = broker.take_bindings_back(&known, caller).await?;
            remove(broker, known, None, bindings, &caller.name).await
        }
        Decision::Start => {
            broker.has_no_bindings(&known.record).await?;
            remove(broker, known, None, Vec::new(), &caller.name).await
        }
        // The record belongs to the operation that runs; the deletion comes after it.
        Decision::Busy if broker.settings().compat_keb && known.status != Status::Suspending => {
            queue(broker, &known, &caller.name).await
        }
        Decision::Supersede => {
            let reason = "the platform deleted the instance while it was being made";
            let running = known.row.operation.map(|operation| (operation, reason.to_owned()));
            remove(broker, known, running, Vec::new(), &caller.name).await
        }
        Decision::SameOperation => Ok(Some(in_progress(known.operation()))),
        Decision::Gone if broker.settings().compat_keb => {
            Ok(Some(known.operation().map_or_else(done, |operation| in_progress(Some(operation)))))
        }
        other => Err(other.osb_error("service instance")),
    }
}

fn gone() -> Failure {
    Decision::Gone.osb_error("service instance")
}

fn in_progress(operation: Option<String>) -> Response {
    under_way(wire::Accepted { operation, ..wire::Accepted::default() })
}

/// After what runs and what queues already.
async fn queue(
    broker: &BrokerShared,
    known: &StoredRecord<InstanceRecord>,
    by: &str,
) -> Result<Option<Response>, Failure> {
    let params = Params { instance_id: known.record.instance_id.clone(), temporary: false, force: false };
    let along = RecordWrites { subject: Some((known.expect(), None)), ..RecordWrites::default() };
    let submission = Submission::<Deprovision>::new(&known.row.tenant, by, &params);
    let (resource, name) = (Some(known.row.name.as_str()), known.record.shown_name());
    let submission = Submission { resource, name, queue: true, along, ..submission };
    Ok(broker.submit(submission).await?.map(|id| in_progress(Some(id.to_string()))))
}

async fn remove(
    broker: &BrokerShared,
    known: StoredRecord<InstanceRecord>,
    supersedes: Option<(engine::OperationId, String)>,
    bindings: Vec<String>,
    by: &str,
) -> Result<Option<Response>, Failure> {
    let expect = known.expect();
    let StoredRecord { row, mut record, .. } = known;
    let has_bindings = !bindings.is_empty();
    record.ending_bindings = bindings;
    // A suspended instance that is deleted is suspended no longer: this is for good.
    let was_suspended = std::mem::take(&mut record.suspended);
    let record_update = if was_suspended || has_bindings { Some(record_update(&record)?) } else { None };
    let params = Params { instance_id: record.instance_id.clone(), temporary: false, force: false };
    let queue = supersedes.is_some();
    let along =
        RecordWrites { subject: Some((expect, record_update)), supersedes, ..RecordWrites::default() };
    let submission = Submission::<Deprovision>::new(&row.tenant, by, &params);
    let submission =
        Submission { resource: Some(&row.name), name: record.shown_name(), queue, along, ..submission };
    Ok(broker.submit(submission).await?.map(|id| in_progress(Some(id.to_string()))))
}
