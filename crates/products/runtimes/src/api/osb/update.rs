//! `PATCH /v2/service_instances/{instance_id}`

use crate::model::catalog::{BackendKind, Catalog, Purpose};
use crate::model::{ActionKind, InstanceRecord, Status, seal_json};
use crate::workflows::deprovision::{self, Deprovision};
use crate::workflows::provision::{self, Provision};
use crate::workflows::update::{Params, Update as UpdateWorkflow};
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use engine::secret::{Sealed, Sealer};
use engine::store::{Expect, RecordUpdate, ResourceRow};
use engine::{OperationId, RecordWrites, Submission, Timestamp, Workflow};
use serde_json::{Map, Value};

use super::body::{OsbBody, context_text};
use super::change::{Present, Update, UpdateDecision, UpdateFields, work_out};
use super::decide::{Decision, OsbCall, decide};
use super::error;
use super::instance_path::{InstancePath, QueryParams};
use super::standing::{StoredRecord, broken, open, record_update};
use super::submit::{ATTEMPTS_MAX, done, refused, under_way};
use super::update_queue::queue;
use super::wire::UpdateBody;
use super::{BrokerShared, BrokerState, checks, wire};
use server::http::Failure;
use server::principal::Principal;

/// A request to change an instance, and who makes it.
pub(super) struct UpdateRequest<'a> {
    asked: UpdateFields,
    instance: &'a str,
    pub(super) caller: &'a Principal,
    pub(super) can_wait: bool,
}

/// Changes an instance.
///
/// Parameters are laid over the present ones, field by field at the top level. What is absent stays. A change
/// that changes nothing is answered with 200. With `compat.keb` a change that comes while another operation works on
/// the instance is carried out after it.
#[utoipa::path(
    patch, path = "/v2/service_instances/{instance_id}", tag = "instances", operation_id = "update",
    request_body = wire::UpdateBody,
    responses(
        (status = OK, body = wire::Empty, description = "It is as it was asked for."),
        (status = ACCEPTED, body = wire::Accepted, description = "It is being changed."),
        (status = NOT_FOUND, description = "There is no such instance."),
        (status = UNPROCESSABLE_ENTITY,
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
        let mut parameters = update_request.asked.parameters.clone().unwrap_or_default();
        if broker.settings().compat_keb {
            checks::leave_out_unknown(plan, Purpose::Update, &mut parameters);
        }
        checks::schema(plan, Purpose::Update, &parameters)?;
    }
    let Some(known) = known else {
        return Err(decide(None, OsbCall::PatchOther).osb_error("service instance"));
    };
    let may_queue = matches!(
        known.status,
        Status::Provisioning | Status::Updating | Status::Resuming | Status::Suspending
    );
    if broker.settings().compat_keb && may_queue {
        return queue(broker, update_request, &known).await;
    }
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
    let StoredRecord { row, mut record, status } = known;
    let instance_id = record.instance_id.clone();
    let now = broker.app.engine.now();
    let by = &update_request.caller.name;
    let (is_change, submitted) = match change {
        UpdateDecision::Nothing => return Ok(Some(done())),
        UpdateDecision::Context(context) if is_labelled_with_account(&record, &context)? => {
            let update = Update { context: Some(context), ..Update::default() };
            let submitted = submit_update(broker, &row, (&record, expect), by, update).await?;
            if !update_request.can_wait {
                return Ok(submitted.map(|_| done()));
            }
            (false, submitted)
        }
        UpdateDecision::Context(context) => {
            take_over(&mut record, &context, now)?;
            record.context = seal_json(&context, &sealer);
            let record_update = Some(record_update(&record)?);
            return Ok(broker.write(&row, expect, record_update).await?.then(done));
        }
        UpdateDecision::Update(_) | UpdateDecision::Save(_) if !update_request.can_wait => {
            return Err(error::async_required());
        }
        // There is no work, so the newest operation, which is over, stands for it.
        UpdateDecision::Save(update) => {
            save(&mut record, update, &sealer, &broker.catalog, now)?;
            let answer =
                broker.accepted(&StoredRecord { row: row.clone(), record: record.clone(), status })?;
            let record_update = Some(record_update(&record)?);
            return Ok(broker.write(&row, expect, record_update).await?.then(|| under_way(answer)));
        }
        UpdateDecision::Update(update) => {
            (true, submit_update(broker, &row, (&record, expect), by, update).await?)
        }
        UpdateDecision::Suspend(context) => {
            take_over(&mut record, &context, now)?;
            record.context = seal_json(&context, &sealer);
            record.suspended = true;
            let params = deprovision::Params { instance_id, temporary: true, force: false };
            let submission = on::<Deprovision>(&row, by, &params, (expect, Some(record_update(&record)?)));
            let submission = Submission { name: record.shown_name(), ..submission };
            (false, broker.submit(submission).await?)
        }
        UpdateDecision::Resume(context) => {
            take_over(&mut record, &context, now)?;
            record.context = seal_json(&context, &sealer);
            record.suspended = false;
            let former = record.runtime_id.take().filter(|id| !record.former_runtimes.contains(id));
            record.former_runtimes.extend(former);
            let params = provision::Params { instance_id };
            let submission = on::<Provision>(&row, by, &params, (expect, Some(record_update(&record)?)));
            let submission = Submission { name: record.shown_name(), ..submission };
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

/// `None` when another request was faster.
async fn submit_update(
    broker: &BrokerShared,
    row: &ResourceRow,
    (record, expect): (&InstanceRecord, Expect),
    by: &str,
    update: Update,
) -> Result<Option<OperationId>, Failure> {
    let sealer = broker.app.engine.sealer(&row.tenant, &row.name);
    let params = sealed(record.instance_id.clone(), update, &sealer);
    let submission = on::<UpdateWorkflow>(row, by, &params, (expect, None));
    broker.submit(Submission { name: record.shown_name(), ..submission }).await
}

pub(super) fn sealed(instance_id: String, update: Update, sealer: &Sealer) -> Params {
    let seal = |map: Option<Map<String, Value>>| map.map(|map| seal_json(&map, sealer));
    Params {
        instance_id,
        plan_id: update.plan,
        parameters: seal(update.parameters),
        context: seal(update.context),
        maintenance_version: update.maintenance,
    }
}

/// Writes the change of an instance without a cluster into its record: the next cluster is made by it.
fn save(
    record: &mut InstanceRecord,
    update: Update,
    sealer: &Sealer,
    catalog: &Catalog,
    now: Timestamp,
) -> Result<(), Failure> {
    if let Some(plan) = update.plan.and_then(|id| catalog.plan(&id)) {
        record.note(ActionKind::PlanUpdate, &record.plan_id.clone(), &plan.id, now);
        (record.plan_id, record.plan) = (plan.id.clone(), plan.name.clone());
    }
    if let Some(parameters) = update.parameters {
        record.parameters = seal_json(&parameters, sealer);
    }
    if let Some(context) = update.context {
        take_over(record, &context, now)?;
        record.context = seal_json(&context, sealer);
    }
    record.maintenance_version = update.maintenance.or(record.maintenance_version.take());
    Ok(())
}

/// On the instance as it was seen, and with what it looks like from now on.
pub(super) fn on<'a, W: Workflow>(
    row: &'a ResourceRow,
    by: &'a str,
    params: &'a W::Params,
    subject: (Expect, Option<RecordUpdate>),
) -> Submission<'a, W> {
    let along = RecordWrites { subject: Some(subject), ..RecordWrites::default() };
    Submission { resource: Some(&row.name), along, ..Submission::new(&row.tenant, by, params) }
}

/// Whether the context moves an instance whose objects at the back end name their account: then an operation changes
/// those, and the record with them.
fn is_labelled_with_account(record: &InstanceRecord, context: &Map<String, Value>) -> Result<bool, Failure> {
    let account = context_text(context, "globalaccount_id")?;
    let is_move = account.is_some_and(|account| account != record.account);
    let has_labels =
        record.backend == Some(BackendKind::InfrastructureManager) && record.runtime_id.is_some();
    Ok(is_move && has_labels)
}

/// An instance can move to another account.
fn take_over(
    record: &mut InstanceRecord,
    context: &Map<String, Value>,
    now: Timestamp,
) -> Result<(), Failure> {
    if let Some(account) = context_text(context, "globalaccount_id")? {
        record.note(ActionKind::SubaccountMovement, &record.account.clone(), account, now);
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
        self.change_of(update_request, known, None)
    }

    /// What a request changes in what is there, or in what will be there.
    pub(super) fn change_of(
        &self,
        update_request: &UpdateRequest<'_>,
        known: &StoredRecord<InstanceRecord>,
        pending: Option<&Update>,
    ) -> Result<UpdateDecision, Failure> {
        let sealer = self.sealer(known);
        let mut record = known.record.clone();
        let pending_plan = pending.and_then(|pending| pending.plan.clone());
        record.plan_id = pending_plan.unwrap_or(record.plan_id);
        let pending_version = pending.and_then(|pending| pending.maintenance.clone());
        record.maintenance_version = pending_version.or(record.maintenance_version);
        let Some(plan) = self.catalog.plan(&record.plan_id) else {
            let text = "the plan of this service instance is not offered any longer; it can only be deleted";
            return Err(error::unprocessable(text));
        };
        let parameters = match pending.and_then(|pending| pending.parameters.clone()) {
            Some(parameters) => parameters,
            None => known.record.parameters(&sealer).map_err(|error| broken(&error))?,
        };
        let context = match pending.and_then(|pending| pending.context.clone()) {
            Some(context) => context,
            None => known.record.context(&sealer).map_err(|error| broken(&error))?,
        };
        let status = match known.status {
            status if pending.is_none() => status,
            Status::Resuming => Status::Resuming,
            // What comes after the suspension finds no cluster.
            Status::Suspending => Status::Suspended,
            _ => Status::Updating,
        };
        let compat = self.settings().compat_keb;
        let present = Present { record: &record, status, plan, parameters, context, compat };
        let asked = &update_request.asked;
        if !compat {
            return work_out(asked, &present, &self.catalog);
        }
        let mut asked = asked.clone();
        let meant = asked.plan.as_ref().and_then(|id| self.catalog.plan(id)).unwrap_or(plan);
        if let Some(parameters) = &mut asked.parameters {
            checks::leave_out_unknown(meant, Purpose::Update, parameters);
        }
        work_out(&asked, &present, &self.catalog)
    }

    /// `false` when another request has changed the record: look again.
    async fn write(
        &self,
        row: &ResourceRow,
        expect: Expect,
        record_update: Option<RecordUpdate>,
    ) -> Result<bool, Failure> {
        let written = self.app.engine.write_resource(&row.name, &row.tenant, expect, record_update).await;
        written.or_else(|error| refused(error).map_or(Ok(false), Err))
    }

    /// What the operation that runs was asked for.
    pub(super) async fn running_update(
        &self,
        known: &StoredRecord<InstanceRecord>,
    ) -> Result<Option<Update>, Failure> {
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
