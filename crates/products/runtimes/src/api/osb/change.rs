//! What a change would change: pure, and decided before anything is written.

use crate::model::catalog::{Catalog, CatalogPlan, Purpose};
use crate::model::{InstanceRecord, Status};
use serde_json::{Map, Value};

use super::checks;
use super::error;
use super::wire::MaintenanceInfo;
use server::http::Failure;

type Object = Map<String, Value>;

/// What a platform sent. What is absent stays as it is.
#[derive(Debug, Default)]
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
    let Present { record, status, plan, .. } = present;
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
    if is_work {
        if turn.is_some() {
            return Err(error::unprocessable("context.active: change it alone, without anything else"));
        }
        check(&update, present, catalog)?;
        return Ok(UpdateDecision::Update(update));
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

fn merge(old: &Object, new: &Object) -> Object {
    let mut merged = old.clone();
    merged.extend(new.iter().map(|(key, value)| (key.clone(), value.clone())));
    merged
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
    if !matches!(present.status, Status::Ready | Status::UpdateFailed | Status::Updating) {
        return Err(error::unprocessable("this service instance is suspended; activate it first"));
    }
    let parameters = update.parameters.as_ref().unwrap_or(&present.parameters);
    let Some(id) = &update.plan else {
        return checks::meaning(present.plan, parameters).map(drop);
    };
    let wanted = catalog.plan(id).filter(|plan| present.plan.changes_to.contains(&plan.name));
    let Some(plan) = wanted else {
        return Err(error::unprocessable("plan_id: an instance of its plan cannot change to this one"));
    };
    checks::schema(plan, Purpose::Create, parameters)?;
    checks::meaning(plan, parameters).map(drop)
}
