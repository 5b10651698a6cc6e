//! `launch.terminate`: ends one instance of a launch that is over, and says so in the record of the launch. One at a time
//! for each instance: who asks while one is under way has asked for that one.

mod ask;
mod delete_parts;
mod note_in_record;
mod record;
mod terminate_instance;

use cloud::{CloudInstance, ProviderKind};
use engine::Settled;
use engine::prelude::*;
use engine::store::RecordUpdate;
use utoipa::ToSchema;
use uuid::Uuid;

pub use self::ask::{TerminatedInstance, TerminationProgress, ask, find, instances, standing};
pub use self::record::Termination;
use crate::model::Launches;
use crate::model::params::{LaunchOwner, provider_schema};

pub const TERMINATE: &str = "launch.terminate";

pub struct Terminate;

/// The instance, and the way to it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// On whose behalf the instance is terminated.
    #[serde(rename = "requester")]
    pub owner: LaunchOwner,
    /// The launch that the instance is of.
    pub launch: Uuid,
    /// The instance, as the cloud calls it.
    pub instance_id: String,
    #[schema(schema_with = provider_schema)]
    pub provider: ProviderKind,
    /// The source of the cloud account.
    pub source_id: String,
    pub region: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The instance as it was seen once it was gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<CloudInstance>,
}

impl Workflow for Terminate {
    const KIND: &'static str = TERMINATE;
    const ABOUT: &'static str = "Terminates one instance of a finished launch.";
    type Params = Params;
    type State = State;
    type Input = ();

    fn schema() -> serde_json::Value {
        api::json_schema::<Params>()
    }

    /// Whatever happened, the record says how it ended.
    fn on_settled(op: &Operation<Terminate>, rest: &Settled<'_>) -> Option<RecordUpdate> {
        let cause = rest.cause.map_or("it was given up", |cause| cause.as_str());
        let error = op.state.gone.is_none().then(|| cause.to_owned());
        let Params { launch, instance_id, .. } = &op.params;
        let record = Termination { ended_at: Some(rest.at), error, ..Termination::new(*launch, instance_id) };
        record.record_update().ok()
    }
}

/// The table of steps and weights.
pub fn plan(launches: &Arc<Launches>) -> Plan<Terminate> {
    Plan::new(OnFailure::Leave)
        .step(10, terminate_instance::TerminateInstance::new(launches))
        .step_when(
            |op| !op.params.provider.spec().parts.is_empty(),
            15,
            delete_parts::DeleteParts::new(launches),
        )
        .step(20, note_in_record::NoteInRecord::new(launches))
}
