//! `PUT /v2/service_instances/{instance_id}`

use std::borrow::Cow;

use crate::model::catalog::{CatalogPlan, Purpose};
use crate::model::{InstanceRecord, Status, seal_json};
use crate::workflows::provision::{Params, Provision};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use engine::store::Expect;
use engine::{RecordWrites, Submission};
use serde_json::{Map, Value};

use super::body::{OsbBody, context_text};
use super::decide::{Decision, OsbCall, decide};
use super::error;
use super::headers::Origin;
use super::instance_path::{InstancePath, QueryParams};
use super::standing::{StoredRecord, broken, record_update};
use super::submit::{ATTEMPTS_MAX, under_way};
use super::wire::ProvisionBody;
use super::{BrokerShared, BrokerState, checks, instance_path, wire};
use server::http::Failure;
use server::principal::Principal;

const USER_CHARS_MAX: usize = 255;

/// What a platform wants, read and checked.
struct ProvisionRequest<'a> {
    instance_path: &'a InstancePath,
    caller: &'a Principal,
    plan: &'a CatalogPlan,
    body: ProvisionBody,
    account: String,
    subaccount: String,
    user: String,
    context: Map<String, Value>,
    parameters: Map<String, Value>,
}

/// Asks for an instance.
///
/// The same request again changes nothing and is answered with the same operation.
#[utoipa::path(
    put, path = "/v2/service_instances/{instance_id}", tag = "instances", operation_id = "provision",
    request_body = wire::ProvisionBody,
    responses(
        (status = OK, body = wire::Accepted, description = "It exists, as it was asked for."),
        (status = ACCEPTED, body = wire::Accepted, description = "It is being made."),
        (status = CONFLICT, description = "The id belongs to something else."),
        (status = UNPROCESSABLE_ENTITY,
         description = "`AsyncRequired`, `MaintenanceInfoConflict` or `ConcurrencyError`."),
    )
)]
pub(crate) async fn provision(
    State(broker): State<BrokerState>,
    instance_path: InstancePath,
    query_params: QueryParams,
    Extension(caller): Extension<Principal>,
    Extension(origin): Extension<Origin>,
    OsbBody(body): OsbBody<ProvisionBody>,
) -> Result<Response, Failure> {
    let asked = ProvisionRequest::read(&broker, &instance_path, &caller, &origin, body)?;
    broker.can_wait(&query_params)?;
    checks::maintenance(asked.plan, asked.body.maintenance_info.as_ref())?;
    checks::schema(asked.plan, Purpose::Create, &asked.parameters)?;
    let (plan, region) = asked.place(broker.settings().compat_keb);
    checks::meaning(&broker.catalog, &plan, &region, &asked.parameters, None)?;
    instance_path::check("parameters.region", &region)?;
    let name = InstanceRecord::resource(&instance_path.instance);
    let sealer = broker.app.engine.sealer(&asked.account, &name);
    let (parameters, context) = (seal_json(&asked.parameters, &sealer), seal_json(&asked.context, &sealer));
    let instance = InstanceRecord {
        plan: asked.plan.name.clone(),
        provider: plan.provider.as_str().to_owned(),
        region,
        platform_region: instance_path.region.clone(),
        platform: caller.platform.clone(),
        account: asked.account.clone(),
        subaccount: asked.subaccount.clone(),
        user: asked.user.clone(),
        digest: asked.body.digest(&instance_path.instance, &asked.context, &asked.parameters),
        maintenance_version: asked.plan.maintenance.as_ref().map(|maintenance| maintenance.version.clone()),
        ..asked.body.record(&instance_path.instance, parameters, context)
    };
    for _ in 0..ATTEMPTS_MAX {
        if let Some(answer) = attempt(&broker, &asked, &instance).await? {
            return Ok(answer);
        }
    }
    Err(error::busy())
}

/// `None` when another request was faster: look again.
async fn attempt(
    broker: &BrokerShared,
    asked: &ProvisionRequest<'_>,
    new: &InstanceRecord,
) -> Result<Option<Response>, Failure> {
    let known = broker.instance_of_any_platform(&asked.instance_path.instance).await?;
    if known.as_ref().is_some_and(|known| !asked.caller.is_of_platform(&known.record.platform)) {
        return Err(Decision::Conflict.osb_error("service instance"));
    }
    let is_same = known.as_ref().is_some_and(|known| known.record.digest == new.digest);
    let call = if is_same { OsbCall::PutSame } else { OsbCall::PutDifferent };
    let Some(known) = known else {
        return make(broker, asked, new).await;
    };
    match decide(Some(known.status), call) {
        Decision::SameOperation => Ok(Some(under_way(broker.accepted(&known)?))),
        Decision::AsBefore | Decision::Busy | Decision::UsedUp
            if is_same && broker.settings().compat_keb && known.status != Status::Gone =>
        {
            Ok(Some(under_way(broker.accepted(&known)?)))
        }
        Decision::AsBefore => {
            let answer = wire::Accepted { operation: None, ..broker.accepted(&known)? };
            Ok(Some(Json(answer).into_response()))
        }
        other => Err(other.osb_error("service instance")),
    }
}

async fn make(
    broker: &BrokerShared,
    asked: &ProvisionRequest<'_>,
    new: &InstanceRecord,
) -> Result<Option<Response>, Failure> {
    broker.may_have(asked.plan, &asked.account, asked.instance_path.region.as_deref())?;
    let beside = broker.quota(asked.plan, &asked.account).await?;
    let resource = InstanceRecord::resource(&new.instance_id);
    let params = Params { instance_id: new.instance_id.clone() };
    let subject = Some((Expect::Absent, Some(record_update(new)?)));
    let along = RecordWrites { subject, beside, ..RecordWrites::default() };
    let submission = Submission::<Provision>::new(&asked.account, &asked.caller.name, &params);
    let submission = Submission { resource: Some(&resource), name: new.shown_name(), along, ..submission };
    let Some(id) = broker.submit(submission).await? else { return Ok(None) };
    let metadata = broker.metadata(&asked.parameters);
    Ok(Some(under_way(wire::Accepted { operation: Some(id.to_string()), dashboard_url: None, metadata })))
}

impl BrokerShared {
    /// What is told about an instance that is there, with its newest operation.
    pub(crate) fn accepted(&self, known: &StoredRecord<InstanceRecord>) -> Result<wire::Accepted, Failure> {
        let metadata = if self.settings().compat_keb {
            let opened = known.record.parameters(&self.sealer(known)).map_err(|error| broken(&error))?;
            self.metadata(&opened)
        } else {
            None
        };
        let dashboard_url = known.record.dashboard_url.clone();
        Ok(wire::Accepted { operation: known.operation(), dashboard_url, metadata })
    }

    /// Labels, as the broker whose place this takes has them.
    pub(crate) fn metadata(&self, parameters: &Map<String, Value>) -> Option<wire::InstanceMetadata> {
        let name = parameters.get("name").and_then(Value::as_str)?;
        let labels = [("Name".to_owned(), name.to_owned())].into();
        self.settings().compat_keb.then_some(wire::InstanceMetadata { labels })
    }
}

impl<'a> ProvisionRequest<'a> {
    fn read(
        broker: &'a BrokerShared,
        instance_path: &'a InstancePath,
        caller: &'a Principal,
        origin: &Origin,
        mut body: ProvisionBody,
    ) -> Result<ProvisionRequest<'a>, Failure> {
        let compat = broker.settings().compat_keb;
        for (name, given) in
            [("organization_guid", &body.organization_guid), ("space_guid", &body.space_guid)]
        {
            if given.is_empty() && !compat {
                return Err(error::bad(format!("{name}: is missing")));
            }
        }
        let context = body.context.take().unwrap_or_default();
        let mut parameters = body.parameters.take().unwrap_or_default();
        let of_context = |name: &str| match context_text(&context, name)? {
            None if compat => Err(error::bad(format!("context.{name}: is missing"))),
            found => Ok(found.map(str::to_owned)),
        };
        let account = of_context("globalaccount_id")?.unwrap_or_else(|| body.organization_guid.clone());
        let subaccount = of_context("subaccount_id")?.unwrap_or_else(|| body.space_guid.clone());
        let from_origin = || origin.user().unwrap_or_default().chars().take(USER_CHARS_MAX).collect();
        let user = of_context("user_id")?.unwrap_or_else(from_origin);
        let platform_region = instance_path.region.as_deref();
        let plan = broker.plan_seen_from(platform_region, &body.service_id, &body.plan_id)?;
        if compat {
            checks::leave_out_unknown(plan, Purpose::Create, &mut parameters);
            if let (false, Some(first)) = (parameters.contains_key("region"), plan.regions.first()) {
                parameters.insert("region".into(), first.as_str().into());
            }
        }
        Ok(ProvisionRequest {
            instance_path,
            caller,
            plan,
            body,
            account,
            subaccount,
            user,
            context,
            parameters,
        })
    }

    /// The plan on the cloud that is asked for, and the region. The broker whose place this takes lets the region of the
    /// platform choose the area, whatever is asked for.
    fn place(&self, compat: bool) -> (Cow<'a, CatalogPlan>, String) {
        let text = |name: &str| self.parameters.get(name).and_then(Value::as_str);
        let plan = text("provider").map_or(Cow::Borrowed(self.plan), |provider| self.plan.on(provider));
        let platform_region = self.instance_path.region.as_deref();
        let asked = text("region").filter(|_| !compat || plan.area_of(platform_region).is_none());
        let region = plan.region(asked, platform_region);
        (plan, region)
    }
}
