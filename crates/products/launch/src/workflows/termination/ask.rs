//! How the end of an instance is asked for, and how far it is.

use api::Code;
use cloud::spec::is_instance_id;
use cloud::{InstanceState, ProviderKind};
use engine::store::{Expect, ResourceQuery, ResourceRow};
use engine::{Engine, OperationId, Phase, RecordWrites, Resource, Submission, SubmitError};
use uuid::Uuid;

use super::{Params, Terminate, Termination};
use crate::model::api_error::LaunchApiError;
use crate::model::numbers;
use crate::model::params::LaunchOwner;
use crate::model::record::{INSTANCE, LaunchRecord};
use crate::model::status::LaunchPhase;

/// An instance that a launch of this organisation made.
#[derive(Debug, Clone)]
pub struct TerminatedInstance {
    pub instance_id: String,
    row: ResourceRow,
    record: LaunchRecord,
}

/// How far the end of an instance is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminationProgress {
    /// It was not requested.
    Untouched,
    Terminating(OperationId),
    Terminated,
    /// It was given up, and the instance may still be there.
    Failed(String),
}

impl TerminatedInstance {
    pub fn launch(&self) -> Uuid {
        self.record.launch
    }

    pub fn provider(&self) -> ProviderKind {
        self.record.provider
    }

    /// The row of the launch.
    pub fn row(&self) -> &ResourceRow {
        &self.row
    }

    fn is_terminated(&self) -> bool {
        let all = self.record.state.instances.iter().map(|tracked| &tracked.instance);
        all.filter(|one| one.id == self.instance_id).any(|one| one.state == InstanceState::Terminated)
    }

    fn resource(&self) -> String {
        Termination::resource(self.record.launch, &self.instance_id)
    }
    fn params(&self, who: &LaunchOwner) -> Result<Params, LaunchApiError> {
        let parameters = self.record.parameters.as_ref();
        let parameters = parameters.ok_or_else(|| internal("the launch has instances and no parameters"))?;
        Ok(Params {
            owner: who.clone(),
            launch: self.record.launch,
            instance_id: self.instance_id.clone(),
            provider: self.record.provider,
            source_id: parameters.source_id.clone(),
            region: parameters.region.clone(),
        })
    }
}

/// What a launch under way has made is its own business.
fn check(row: &ResourceRow, record: &LaunchRecord) -> Result<(), LaunchApiError> {
    if row.phase.is_none_or(Phase::is_final) {
        return Ok(());
    }
    let (message, hint) = if record.stage == LaunchPhase::FailedDirty {
        ("the launch of this instance failed and is not cleaned up", "ask for the clean-up of the launch")
    } else {
        let hint = "wait until it is over, or cancel it with terminate=true";
        ("the launch of this instance is under way", hint)
    };
    Err(LaunchApiError::new(Code::LaunchUnderWay, message).hint(hint))
}

/// How often to look again when another request has written the record in the meantime.
const LOOKS_MAX: u32 = 5;

/// The instance with this id. What is not there and what belongs to others look the same.
pub async fn find(
    engine: &Engine,
    who: &LaunchOwner,
    instance_id: &str,
) -> Result<TerminatedInstance, LaunchApiError> {
    let missing = || LaunchApiError::not_found("such instance");
    if !is_instance_id(instance_id) {
        return Err(missing());
    }
    let query = ResourceQuery {
        kind: LaunchRecord::KIND.to_owned(),
        tenant: Some(who.tenant()),
        labels: vec![(INSTANCE.to_owned(), vec![instance_id.to_owned()])],
        limit: 1,
        ..ResourceQuery::default()
    };
    let row = engine.resources(&query).await?.rows.pop().ok_or_else(missing)?;
    let record = numbers::read(&row)?;
    Ok(TerminatedInstance { instance_id: instance_id.to_owned(), row, record })
}

/// All instances of a launch. One that is under way is not asked for them.
pub fn instances(row: &ResourceRow) -> Result<Vec<TerminatedInstance>, LaunchApiError> {
    let record: LaunchRecord = numbers::read(row)?;
    check(row, &record)?;
    let ids = record.state.instances.iter().map(|tracked| tracked.instance.id.clone());
    Ok(ids
        .map(|instance_id| TerminatedInstance { instance_id, row: row.clone(), record: record.clone() })
        .collect())
}

/// Has the instance terminated, or joins an earlier request for that.
pub async fn ask(
    engine: &Engine,
    who: &LaunchOwner,
    instance: &TerminatedInstance,
) -> Result<TerminationProgress, LaunchApiError> {
    if instance.is_terminated() {
        return Ok(TerminationProgress::Terminated);
    }
    check(&instance.row, &instance.record)?;
    let name = instance.resource();
    let (tenant, by, params) = (who.tenant(), who.name(), instance.params(who)?);
    let record_update = Termination::new(instance.launch(), &instance.instance_id).record_update();
    let record_update = record_update.map_err(|error| internal(&error))?;
    for _ in 0..LOOKS_MAX {
        let row = engine.resource(&name).await?;
        let expect = row.map_or(Expect::Absent, |row| Expect::Version(row.version));
        let along =
            RecordWrites { subject: Some((expect, Some(record_update.clone()))), ..RecordWrites::default() };
        let instance_request = Submission::<Terminate>::new(&tenant, &by, &params);
        match engine
            .submit(Submission {
                resource: Some(&name),
                name: Some(&instance.instance_id),
                along,
                ..instance_request
            })
            .await
        {
            Ok(accepted) => return Ok(TerminationProgress::Terminating(accepted.id)),
            Err(SubmitError::Busy { operation }) => return Ok(TerminationProgress::Terminating(operation)),
            Err(SubmitError::Changed) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(LaunchApiError::conflict("another request keeps asking for the same; try again"))
}

/// How far it is.
pub async fn standing(
    engine: &Engine,
    instance: &TerminatedInstance,
) -> Result<TerminationProgress, LaunchApiError> {
    if instance.is_terminated() {
        return Ok(TerminationProgress::Terminated);
    }
    let Some(row) = engine.resource(&instance.resource()).await? else {
        return Ok(TerminationProgress::Untouched);
    };
    let record: Termination = numbers::read(&row)?;
    let is_under_way = row.phase.is_some_and(|phase| !phase.is_final());
    Ok(match (row.operation.filter(|_| is_under_way), record.error) {
        (Some(operation), _) => TerminationProgress::Terminating(operation),
        (None, Some(error)) => TerminationProgress::Failed(error),
        (None, None) => TerminationProgress::Terminated,
    })
}

fn internal(error: &str) -> LaunchApiError {
    tracing::error!(error, "terminating an instance failed");
    LaunchApiError::new(Code::Internal, "it could not be accepted; the reason is in the log")
}
