//! `PUT /v2/service_instances/{instance_id}/service_bindings/{binding_id}`
//!
//! Credentials can be had at once or later. A call that wants them at once and does not get them is answered with
//! 422 when making them failed, which leaves nothing behind, and with 503 when it takes too long: then the platform
//! cleans up.

use crate::model::catalog::Purpose;
use crate::model::{Binding, InstanceRecord, Status, seal_json};
use crate::workflows::bind::{Bind as BindWorkflow, Params};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use engine::store::Expect;
use engine::{OperationId, Phase, RecordWrites, Submission};
use serde_json::{Map, Value};
use tracing::warn;

use super::body::OsbBody;
use super::decide::{Decision, OsbCall, decide};
use super::error;
use super::identity::BindingIdentity;
use super::instance_path::{InstancePath, QueryParams};
use super::standing::{StoredRecord, broken, record_update};
use super::submit::{ATTEMPTS_MAX, under_way};
use super::wire::BindBody;
use super::{BrokerShared, BrokerState, checks, wire};
use server::http::Failure;
use server::principal::Principal;

const SECONDS_DEFAULT: u32 = 600;

/// What a platform wants, read and checked.
struct BindRequest<'a> {
    instance_path: &'a InstancePath,
    caller: &'a Principal,
    service: String,
    plan: String,
    parameters: Map<String, Value>,
    digest: String,
}

impl BindRequest<'_> {
    fn name(&self) -> String {
        Binding::resource(&self.instance_path.instance, &self.instance_path.binding)
    }
}

/// What is there now, in one of its two forms.
enum ExistingBinding {
    /// This operation makes it; `true` when it was begun for this call.
    Making(OperationId, bool),
    Made(Box<StoredRecord<Binding>>),
}

/// Asks for credentials.
///
/// With `accepts_incomplete=true` they are made in the background, and without it before the answer. With
/// `predecessor_binding_id` they replace others, and what is left out is taken from those.
#[utoipa::path(
    put, path = "/v2/service_instances/{instance_id}/service_bindings/{binding_id}", tag = "bindings",
    operation_id = "bind", request_body = wire::BindBody,
    responses(
        (status = OK, body = wire::Binding, description = "It exists, as it was asked for."),
        (status = CREATED, body = wire::Binding, description = "It is made."),
        (status = ACCEPTED, body = wire::Accepted, description = "It is being made."),
        (status = NOT_FOUND, description = "There is no such instance, or no predecessor."),
        (status = CONFLICT, description = "The id belongs to something else."),
        (status = UNPROCESSABLE_ENTITY,
         description = "`ConcurrencyError`, `BindingNotSupported`, or it cannot be made."),
    )
)]
pub(crate) async fn bind(
    State(broker): State<BrokerState>,
    instance_path: InstancePath,
    query_params: QueryParams,
    Extension(caller): Extension<Principal>,
    OsbBody(body): OsbBody<BindBody>,
) -> Result<Response, Failure> {
    let asked = BindRequest::read(&broker, &instance_path, &caller, body).await?;
    let plan = broker.plan(&asked.service, &asked.plan)?;
    checks::schema(plan, Purpose::Bind, &asked.parameters)?;
    let later = query_params.accepts_incomplete && !broker.settings().compat_keb;
    for _ in 0..ATTEMPTS_MAX {
        match attempt(&broker, &asked).await? {
            None => {}
            Some(ExistingBinding::Made(known)) => {
                return Ok(Json(broker.credentials(&known)?).into_response());
            }
            Some(ExistingBinding::Making(id, _)) if later => {
                let operation = Some(id.to_string());
                return Ok(under_way(wire::Accepted { operation, ..wire::Accepted::default() }));
            }
            Some(ExistingBinding::Making(id, is_ours)) => return at_once(&broker, &asked, id, is_ours).await,
        }
    }
    Err(error::busy())
}

/// `None` when another request was faster: look again.
async fn attempt(broker: &BrokerShared, asked: &BindRequest<'_>) -> Result<Option<ExistingBinding>, Failure> {
    let InstancePath { instance, binding, .. } = asked.instance_path;
    let owner = broker.instance(asked.caller, instance).await?;
    let allowed = decide(owner.as_ref().map(|owner| owner.status), OsbCall::Bind);
    let Some(owner) = owner.filter(|_| allowed != Decision::NotFound) else {
        return Err(Decision::NotFound.osb_error("service instance"));
    };
    let Some(known) = broker.binding(asked.caller, instance, binding).await? else {
        return make(broker, asked, &owner, allowed).await;
    };
    let is_same = known.record.digest == asked.digest;
    let call = if is_same { OsbCall::PutSame } else { OsbCall::PutDifferent };
    match decide(Some(known.status), call) {
        Decision::AsBefore if !broker.has_expired(&known.row) => {
            Ok(Some(ExistingBinding::Made(Box::new(known))))
        }
        Decision::AsBefore if broker.settings().compat_keb => {
            Err(error::bad("binding_id: this binding has expired, and its id cannot be used again"))
        }
        Decision::AsBefore => Err(Decision::UsedUp.osb_error("service binding")),
        Decision::SameOperation => {
            let running = known.row.operation.ok_or_else(|| broken("a binding is made by no operation"))?;
            Ok(Some(ExistingBinding::Making(running, false)))
        }
        other => Err(other.osb_error("service binding")),
    }
}

async fn make(
    broker: &BrokerShared,
    asked: &BindRequest<'_>,
    owner: &StoredRecord<InstanceRecord>,
    allowed: Decision,
) -> Result<Option<ExistingBinding>, Failure> {
    let instance = &owner.record;
    if (&instance.service_id, &instance.plan_id) != (&asked.service, &asked.plan) {
        return Err(error::bad("plan_id: is not the plan of the service instance"));
    }
    let plan = broker.plan(&asked.service, &asked.plan)?;
    if !plan.bindable {
        return Err(error::not_bindable());
    }
    let is_made = !matches!(owner.status, Status::Provisioning | Status::ProvisionFailed);
    match allowed {
        Decision::Start => {}
        _ if broker.settings().compat_keb && !is_made => {
            return Err(error::bad("this service instance is not made yet, or could not be made"));
        }
        // A change takes nothing from the credentials.
        Decision::Busy if broker.settings().compat_keb && owner.status == Status::Updating => {}
        _ => return Err(allowed.osb_error("service instance")),
    }
    let Some(runtime) = &instance.runtime_id else {
        return Err(error::unprocessable("this service instance has no cluster to bind to"));
    };
    broker.has_room(plan, instance).await?;
    let name = asked.name();
    let (tenant, instance_path) = (&owner.row.tenant, asked.instance_path);
    let parameters = seal_json(&asked.parameters, &broker.app.engine.sealer(tenant, &name));
    let mut binding = Binding::new(
        &instance_path.instance,
        &instance_path.binding,
        &asked.service,
        &asked.plan,
        parameters,
    );
    binding.digest.clone_from(&asked.digest);
    binding.platform.clone_from(&instance.platform);
    binding.runtime_id = Some(runtime.clone());
    let seconds = asked.parameters.get("expiration_seconds").and_then(Value::as_u64);
    let params = Params {
        instance_id: instance_path.instance.clone(),
        binding_id: instance_path.binding.clone(),
        runtime_id: runtime.clone(),
        account: instance.account.clone(),
        subaccount: instance.subaccount.clone(),
        // The schema of the plan has checked it.
        expiration_seconds: seconds
            .and_then(|seconds| u32::try_from(seconds).ok())
            .unwrap_or(SECONDS_DEFAULT),
    };
    let along = RecordWrites {
        subject: Some((Expect::Absent, Some(record_update(&binding)?))),
        // A request that deletes the instance at the same moment, or binds to it, has to look again.
        beside: Some((owner.row.name.clone(), owner.expect(), None)),
        supersedes: None,
    };
    let submission = Submission::<BindWorkflow>::new(tenant, &asked.caller.name, &params);
    let submission = Submission { resource: Some(&name), name: instance.shown_name(), along, ..submission };
    Ok(broker.submit(submission).await?.map(|id| ExistingBinding::Making(id, true)))
}

async fn at_once(
    broker: &BrokerShared,
    asked: &BindRequest<'_>,
    operation: OperationId,
    is_ours: bool,
) -> Result<Response, Failure> {
    broker.wait_for(&asked.name(), operation).await?;
    let known =
        broker.binding(asked.caller, &asked.instance_path.instance, &asked.instance_path.binding).await?;
    let Some(known) = known else { return Err(broken("a binding has disappeared")) };
    match known.status {
        Status::Ready => {
            let status = if is_ours { StatusCode::CREATED } else { StatusCode::OK };
            Ok((status, Json(broker.credentials(&known)?)).into_response())
        }
        Status::ProvisionFailed => Err(failed(broker, known).await?),
        // A client took it back while it was made.
        _ => Err(error::busy()),
    }
}

/// What was made has been taken back, so the record can go too: no request would ever delete it.
async fn failed(broker: &BrokerShared, known: StoredRecord<Binding>) -> Result<Failure, Failure> {
    let progress = broker.newest(&known.row).await?;
    let cause = progress.map(|progress| progress.cause()).unwrap_or_default();
    let expect = known.expect();
    let StoredRecord { row, record, .. } = known;
    if matches!(row.phase, Some(Phase::Undone | Phase::Cancelled)) {
        let gone = Binding { gone_at: Some(broker.app.engine.now()), ..record };
        let record_update = Some(record_update(&gone)?);
        if let Err(error) =
            broker.app.engine.write_resource(&row.name, &row.tenant, expect, record_update).await
        {
            warn!(%error, "marking a failed binding as deleted failed");
        }
    }
    Ok(error::unprocessable(format!("the credentials could not be made: {cause}")))
}

impl<'a> BindRequest<'a> {
    async fn read(
        broker: &BrokerShared,
        instance_path: &'a InstancePath,
        caller: &'a Principal,
        body: BindBody,
    ) -> Result<BindRequest<'a>, Failure> {
        let BindBody { service_id, plan_id, predecessor_binding_id: predecessor, bind_resource, .. } = &body;
        for (name, given) in [("service_id", service_id), ("plan_id", plan_id)] {
            if given.is_none() && predecessor.is_none() {
                return Err(error::bad(format!("{name}: is missing")));
            }
        }
        let context = body.context.clone().unwrap_or_default();
        let before = match predecessor {
            Some(id) => Some(broker.predecessor(caller, &instance_path.instance, id).await?),
            None => None,
        };
        let or_before = |given: &Option<String>, of: fn(&Binding) -> &str| {
            given.as_deref().or(before.as_ref().map(|(record, _)| of(record))).unwrap_or_default().to_owned()
        };
        let service = or_before(service_id, |binding| &binding.service_id);
        let plan = or_before(plan_id, |binding| &binding.plan_id);
        let parameters =
            body.parameters.clone().or(before.as_ref().map(|(_, parameters)| parameters.clone()));
        let parameters = parameters.unwrap_or_default();
        // With `compat.keb` a request for the usual lifetime is the same as one that names none.
        let mut compared = parameters.clone();
        let is_usual =
            parameters.get("expiration_seconds").and_then(Value::as_u64) == Some(SECONDS_DEFAULT.into());
        if broker.settings().compat_keb && is_usual {
            compared.remove("expiration_seconds");
        }
        let wanted = BindingIdentity {
            ids: (&instance_path.instance, &instance_path.binding),
            service: &service,
            plan: &plan,
            context: &context,
            parameters: &compared,
            bind_resource: bind_resource.as_ref(),
            predecessor: predecessor.as_deref(),
        };
        let digest = wanted.digest();
        Ok(BindRequest { instance_path, caller, service, plan, parameters, digest })
    }
}

impl BrokerShared {
    /// The binding that is to be replaced, and its parameters.
    async fn predecessor(
        &self,
        caller: &Principal,
        instance: &str,
        id: &str,
    ) -> Result<(Binding, Map<String, Value>), Failure> {
        let known = self.binding(caller, instance, id).await?;
        let Some(known) = known.filter(|known| known.status == Status::Ready) else {
            return Err(error::not_found("predecessor_binding_id: there is no such service binding"));
        };
        let parameters = self.parameters(&known)?;
        Ok((known.record, parameters))
    }
}
