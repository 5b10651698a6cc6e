//! `PATCH /v2/service_instances/{instance_id}`

use crate::model::catalog::Purpose;
use crate::model::{InstanceRecord, Status, seal_json};
use crate::workflows::deprovision::{self, Deprovision};
use crate::workflows::provision::{self, Provision};
use crate::workflows::update::{Params, Update as UpdateWorkflow};
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use engine::secret::Sealed;
use engine::store::{Expect, RecordUpdate, ResourceRow};
use engine::{RecordWrites, Submission, Workflow};
use serde_json::{Map, Value};

use super::body::{OsbBody, context_text};
use super::change::{Present, Update, UpdateDecision, UpdateFields, work_out};
use super::decide::{Decision, OsbCall, decide};
use super::error;
use super::instance_path::{InstancePath, QueryParams};
use super::standing::{StoredRecord, broken, open, record_update};
use super::submit::{ATTEMPTS_MAX, done, refused, under_way};
use super::wire::UpdateBody;
use super::{BrokerShared, BrokerState, checks, wire};
use server::http::Failure;
use server::principal::Principal;

/// A request to change an instance, and who makes it.
struct UpdateRequest<'a> {
    asked: UpdateFields,
    instance: &'a str,
    caller: &'a Principal,
    can_wait: bool,
}

/// Changes an instance.
///
/// Parameters are laid over the present ones, field by field at the top level. What is absent stays. A change
/// that changes nothing is answered with 200.
#[utoipa::path(
    patch, path = "/v2/service_instances/{instance_id}", tag = "instances", operation_id = "update",
    request_body = wire::UpdateBody,
    responses(
        (status = OK, body = wire::Empty, description = "It is as it was asked for."),
        (status = ACCEPTED, body = wire::Accepted, description = "It is being changed."),
        (status = NOT_FOUND, body = wire::Error, description = "There is no such instance."),
        (status = UNPROCESSABLE_ENTITY, body = wire::Error,
         description = "`AsyncRequired`, `MaintenanceInfoConflict`, `ConcurrencyError`, or it cannot be changed \
                        like this."),
    )
)]
pub(crate) async fn update(
    State(broker): State<BrokerState>,
    instance_path: InstancePath,
    query_params: QueryParams,
    Extension(caller): Extension<Principal>,
    OsbBody(body): OsbBody<UpdateBody>,
) -> Result<Response, Failure> {
    let asked = read(&broker, body)?;
    broker.can_wait(&query_params)?;
    let (instance, caller) = (instance_path.instance.as_str(), &caller);
    let update_request = UpdateRequest { asked, instance, caller, can_wait: query_params.accepts_incomplete };
    for _ in 0..ATTEMPTS_MAX {
        if let Some(answer) = attempt(&broker, &update_request).await? {
            return Ok(answer);
        }
    }
    Err(error::busy())
}

fn read(broker: &BrokerShared, body: UpdateBody) -> Result<UpdateFields, Failure> {
    let UpdateBody { service_id, plan_id: plan, context, parameters, maintenance_info: maintenance, .. } =
        body;
    broker.service(&service_id)?;
    if plan.as_ref().is_some_and(|id| broker.catalog.plan(id).is_none()) {
        return Err(error::bad("plan_id: the catalog has no such plan"));
    }
    for name in ["globalaccount_id", "subaccount_id"] {
        context.as_ref().map_or(Ok(None), |context| context_text(context, name))?;
    }
    Ok(UpdateFields { plan, parameters, context, maintenance })
}

/// `None` when another request was faster: look again.
async fn attempt(
    broker: &BrokerShared,
    update_request: &UpdateRequest<'_>,
) -> Result<Option<Response>, Failure> {
    let known = broker.instance(update_request.caller, update_request.instance).await?;
    let present = known.as_ref().map(|known| known.record.plan_id.as_str());
    let meant = update_request.asked.plan.as_deref().or(present).and_then(|id| broker.catalog.plan(id));
    if let Some(plan) = meant {
        checks::maintenance(plan, update_request.asked.maintenance.as_ref())?;
        checks::schema(
            plan,
            Purpose::Update,
            update_request.asked.parameters.as_ref().unwrap_or(&Map::new()),
        )?;
    }
    let Some(known) = known else {
        return Err(decide(None, OsbCall::PatchOther).osb_error("service instance"));
    };
    let call = if is_running(broker, update_request, &known).await? {
        OsbCall::PatchSame
    } else {
        OsbCall::PatchOther
    };
    match decide(Some(known.status), call) {
        Decision::Start => {
            let change = broker.change(update_request, &known)?;
            begin(broker, update_request, known, change).await
        }
        Decision::SameOperation => Ok(Some(under_way(broker.accepted(&known)?))),
        other => Err(other.osb_error("service instance")),
    }
}

/// Whether the operation that runs does what is asked.
async fn is_running(
    broker: &BrokerShared,
    update_request: &UpdateRequest<'_>,
    known: &StoredRecord<InstanceRecord>,
) -> Result<bool, Failure> {
    if !matches!(known.status, Status::Updating | Status::Suspending | Status::Resuming) {
        return Ok(false);
    }
    Ok(match (known.status, broker.change(update_request, known)) {
        (Status::Suspending, Ok(UpdateDecision::Suspend(_)))
        | (Status::Resuming, Ok(UpdateDecision::Resume(_))) => true,
        (Status::Updating, Ok(UpdateDecision::Update(update))) => {
            broker.running_update(known).await? == Some(update)
        }
        _ => false,
    })
}

async fn begin(
    broker: &BrokerShared,
    update_request: &UpdateRequest<'_>,
    known: StoredRecord<InstanceRecord>,
    change: UpdateDecision,
) -> Result<Option<Response>, Failure> {
    let (compat, expect) = (broker.settings().compat_keb, known.expect());
    let sealer = broker.sealer(&known);
    let StoredRecord { row, mut record, .. } = known;
    let instance_id = record.instance_id.clone();
    let by = &update_request.caller.name;
    let (is_change, submitted) = match change {
        UpdateDecision::Nothing => return Ok(Some(done())),
        UpdateDecision::Context(context) => {
            take_over(&mut record, &context)?;
            record.context = seal_json(&context, &sealer);
            let record_update = Some(record_update(&record)?);
            let written =
                broker.app.engine.write_resource(&row.name, &row.tenant, expect, record_update).await;
            let written = written.or_else(|error| refused(error).map_or(Ok(false), Err))?;
            return Ok(written.then(done));
        }
        UpdateDecision::Update(_) if !update_request.can_wait => return Err(error::async_required()),
        UpdateDecision::Update(update) => {
            let seal = |map: Option<Map<String, Value>>| map.map(|map| seal_json(&map, &sealer));
            let params = Params {
                instance_id,
                plan_id: update.plan,
                parameters: seal(update.parameters),
                context: seal(update.context),
                maintenance_version: update.maintenance,
            };
            let submission = on::<UpdateWorkflow>(&row, by, &params, (expect, None));
            (true, broker.submit(submission).await?)
        }
        UpdateDecision::Suspend(context) => {
            take_over(&mut record, &context)?;
            record.context = seal_json(&context, &sealer);
            record.suspended = true;
            let params = deprovision::Params { instance_id, temporary: true, force: false };
            let submission = on::<Deprovision>(&row, by, &params, (expect, Some(record_update(&record)?)));
            (false, broker.submit(submission).await?)
        }
        UpdateDecision::Resume(context) => {
            take_over(&mut record, &context)?;
            record.context = seal_json(&context, &sealer);
            record.suspended = false;
            let former = record.runtime_id.take().filter(|id| !record.former_runtimes.contains(id));
            record.former_runtimes.extend(former);
            let params = provision::Params { instance_id };
            let submission = on::<Provision>(&row, by, &params, (expect, Some(record_update(&record)?)));
            (false, broker.submit(submission).await?)
        }
    };
    let Some(operation) = submitted else { return Ok(None) };
    if compat && !is_change {
        return Ok(Some(done()));
    }
    let (operation, dashboard_url) = (Some(operation.to_string()), record.dashboard_url);
    Ok(Some(under_way(wire::Accepted { operation, dashboard_url, metadata: None })))
}

/// On the instance as it was seen, and with what it looks like from now on.
fn on<'a, W: Workflow>(
    row: &'a ResourceRow,
    by: &'a str,
    params: &'a W::Params,
    subject: (Expect, Option<RecordUpdate>),
) -> Submission<'a, W> {
    let along = RecordWrites { subject: Some(subject), ..RecordWrites::default() };
    Submission { resource: Some(&row.name), along, ..Submission::new(&row.tenant, by, params) }
}

/// An instance can move to another account.
fn take_over(record: &mut InstanceRecord, context: &Map<String, Value>) -> Result<(), Failure> {
    if let Some(account) = context_text(context, "globalaccount_id")? {
        account.clone_into(&mut record.account);
    }
    if let Some(subaccount) = context_text(context, "subaccount_id")? {
        subaccount.clone_into(&mut record.subaccount);
    }
    Ok(())
}

impl BrokerShared {
    fn change(
        &self,
        update_request: &UpdateRequest<'_>,
        known: &StoredRecord<InstanceRecord>,
    ) -> Result<UpdateDecision, Failure> {
        let sealer = self.sealer(known);
        let Some(plan) = self.catalog.plan(&known.record.plan_id) else {
            let text = "the plan of this service instance is not offered any longer; it can only be deleted";
            return Err(error::unprocessable(text));
        };
        let present = Present {
            record: &known.record,
            status: known.status,
            plan,
            parameters: known.record.parameters(&sealer).map_err(|error| broken(&error))?,
            context: known.record.context(&sealer).map_err(|error| broken(&error))?,
        };
        work_out(&update_request.asked, &present, &self.catalog)
    }

    /// What the operation that runs was asked for.
    async fn running_update(&self, known: &StoredRecord<InstanceRecord>) -> Result<Option<Update>, Failure> {
        let Some(operation) = known.row.operation else { return Ok(None) };
        let Some(inspection) = self.app.engine.inspect(operation).await? else { return Ok(None) };
        let params: Params = serde_json::from_str(&inspection.shown.params)
            .map_err(|error| broken(&format!("the params of {operation} cannot be read: {error}")))?;
        let sealer = self.sealer(known);
        let opened = |sealed: Option<Sealed>| sealed.map(|sealed| open(&sealed, &sealer)).transpose();
        Ok(Some(Update {
            plan: params.plan_id,
            parameters: opened(params.parameters)?,
            context: opened(params.context)?,
            maintenance: params.maintenance_version,
        }))
    }
}
