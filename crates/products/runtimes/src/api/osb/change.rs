//! What a change would change: pure, and decided before anything is written.

use crate::model::catalog::{Catalog, CatalogPlan, Purpose};
use crate::model::parameters::merged_oidc;
use crate::model::{InstanceRecord, Status};
use serde_json::{Map, Value};

use super::checks;
use super::error;
use super::wire::MaintenanceInfo;
use server::http::Failure;

type Object = Map<String, Value>;

/// What a platform sent. What is absent stays as it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct UpdateFields {
    pub(crate) plan: Option<String>,
    pub(crate) parameters: Option<Object>,
    pub(crate) context: Option<Object>,
    pub(crate) maintenance: Option<MaintenanceInfo>,
}

/// What is there.
pub(crate) struct Present<'a> {
    pub(crate) record: &'a InstanceRecord,
    pub(crate) status: Status,
    pub(crate) plan: &'a CatalogPlan,
    pub(crate) parameters: Object,
    pub(crate) context: Object,
    /// Whether to do as the broker whose place this takes.
    pub(crate) compat: bool,
}

/// What follows.
#[derive(Debug, PartialEq)]
pub(crate) enum UpdateDecision {
    Nothing,
    /// Only the record changes.
    Context(Object),
    /// The runtime has to be changed.
    Update(Update),
    /// The runtime has to go, and the instance stays.
    Suspend(Object),
    /// The instance gets a new runtime.
    Resume(Object),
    /// There is no runtime to change: only the record does.
    Save(Update),
}

/// The values as they are to be; `None` stays.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Update {
    pub(crate) plan: Option<String>,
    pub(crate) parameters: Option<Object>,
    pub(crate) context: Option<Object>,
    pub(crate) maintenance: Option<String>,
}

pub(crate) fn work_out(
    asked: &UpdateFields,
    present: &Present<'_>,
    catalog: &Catalog,
) -> Result<UpdateDecision, Failure> {
    let Present { record, status, plan, compat, .. } = present;
    let laid_over = |new: &Option<Object>, old: &Object| {
        let merged = merge(old, new.as_ref()?);
        (merged != *old).then_some(merged)
    };
    let update = Update {
        plan: asked.plan.clone().filter(|id| *id != record.plan_id),
        parameters: laid_over(&asked.parameters, &present.parameters),
        context: laid_over(&asked.context, &present.context),
        maintenance: asked
            .maintenance
            .as_ref()
            .and_then(|known| known.version.clone())
            .filter(|version| Some(version) != record.maintenance_version.as_ref()),
    };
    let turn = turn(asked, plan, *status)?;
    let is_work = update.plan.is_some() || update.parameters.is_some() || update.maintenance.is_some();
    // The broker whose place this takes does one of both, and the platform sends the rest again.
    if is_work && !(*compat && turn.is_some()) {
        if turn.is_some() {
            return Err(error::unprocessable("context.active: change it alone, without anything else"));
        }
        if *compat && record.expired_at.is_some() {
            return of_expired(asked, update.context);
        }
        check(&update, present, catalog)?;
        let has_runtime = *status != Status::Suspended;
        return Ok(if has_runtime { UpdateDecision::Update(update) } else { UpdateDecision::Save(update) });
    }
    let context = || update.context.clone().unwrap_or_else(|| present.context.clone());
    match (turn, &update.context) {
        (Some(Turn::Off), _) => Ok(UpdateDecision::Suspend(context())),
        (Some(Turn::On), _) if record.expired_at.is_some() => Err(expired()),
        (Some(Turn::On), _) => Ok(UpdateDecision::Resume(context())),
        (None, Some(_)) => Ok(UpdateDecision::Context(context())),
        (None, None) => Ok(UpdateDecision::Nothing),
    }
}

/// Field by field at the top level, and an object of `oidc` field by field as well.
fn merge(old: &Object, new: &Object) -> Object {
    let mut merged = old.clone();
    for (key, value) in new {
        let value = match (key.as_str(), old.get(key)) {
            ("oidc", Some(old)) => merged_oidc(old, value),
            _ => value.clone(),
        };
        merged.insert(key.clone(), value);
    }
    merged
}

/// An instance whose time is over gets nothing but a new account, and a platform that names one is not refused.
fn of_expired(asked: &UpdateFields, context: Option<Object>) -> Result<UpdateDecision, Failure> {
    let account = asked.context.as_ref().and_then(|context| context.get("globalaccount_id"));
    match (account.and_then(Value::as_str).filter(|account| !account.is_empty()), context) {
        (None, _) => Err(error::bad("the time of this service instance is over; it can only be deleted")),
        (Some(_), None) => Ok(UpdateDecision::Nothing),
        (Some(_), Some(context)) => Ok(UpdateDecision::Context(context)),
    }
}

fn expired() -> Failure {
    error::unprocessable("the time of this service instance is over; it can only be deleted")
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Turn {
    Off,
    On,
}

/// Whether the platform turns the instance off or on. Plans whose time never ends do not know that.
fn turn(asked: &UpdateFields, plan: &CatalogPlan, status: Status) -> Result<Option<Turn>, Failure> {
    let active = match asked.context.as_ref().and_then(|context| context.get("active")) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Bool(active)) => *active,
        Some(_) => return Err(error::bad("context.active: must be true or false")),
    };
    if plan.expires_after_days.is_none() {
        return Ok(None);
    }
    match (active, status) {
        (true, Status::SuspendFailed) => {
            let text = "the suspension of this service instance has failed; suspend it again, or delete it";
            Err(error::unprocessable(text))
        }
        (true, Status::Suspended | Status::Resuming | Status::ResumeFailed) => Ok(Some(Turn::On)),
        (false, Status::Suspended) | (true, _) => Ok(None),
        (false, _) => Ok(Some(Turn::Off)),
    }
}

fn check(update: &Update, present: &Present<'_>, catalog: &Catalog) -> Result<(), Failure> {
    if present.record.expired_at.is_some() {
        return Err(expired());
    }
    let is_compat = matches!(present.status, Status::Suspended | Status::Resuming) && present.compat;
    if !is_compat && !matches!(present.status, Status::Ready | Status::UpdateFailed | Status::Updating) {
        return Err(error::unprocessable("this service instance is suspended; activate it first"));
    }
    let parameters = update.parameters.as_ref().unwrap_or(&present.parameters);
    let InstanceRecord { provider, region, platform_region, .. } = present.record;
    let meaning = |plan: &CatalogPlan| {
        checks::meaning(catalog, &plan.on(provider), region, parameters, Some(&present.parameters))
    };
    let Some(id) = &update.plan else {
        return meaning(present.plan);
    };
    let seen = catalog.of_platform(platform_region.as_deref());
    let wanted = seen.plan(id).filter(|plan| present.plan.changes_to.contains(&plan.name));
    let Some(plan) = wanted else {
        let text = "plan_id: an instance of its plan cannot change to this one";
        return Err(if present.compat { error::bad(text) } else { error::unprocessable(text) });
    };
    checks::schema(plan, Purpose::Create, parameters)?;
    meaning(plan)
}
