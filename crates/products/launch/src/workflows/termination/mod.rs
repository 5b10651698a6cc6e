//! `launch.terminate`: ends one machine of a launch that is over, and says so in the record of the launch. One at a time
//! for each machine: who asks while one is under way has asked for that one.

mod ask;
mod note_in_record;
mod record;
mod terminate_instance;

use cloud::{Instance, ProviderKind};
use engine::Rest;
use engine::prelude::*;
use engine::store::Portrait;
use uuid::Uuid;

pub use self::ask::{Machine, Standing, ask, find, machines, standing};
pub use self::record::Termination;
use crate::model::Launches;
use crate::model::params::Requester;

pub const TERMINATE: &str = "launch.terminate";

pub struct Terminate;

/// The machine, and the way to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    pub requester: Requester,
    pub launch: Uuid,
    pub instance_id: String,
    pub provider: ProviderKind,
    pub source_id: String,
    pub region: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The machine as it was seen once it was gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<Instance>,
}

impl Workflow for Terminate {
    const KIND: &'static str = TERMINATE;
    const ABOUT: &'static str = "Terminates one machine of a launch that is over.";
    type Params = Params;
    type State = State;
    type Input = ();

    /// Whatever happened, the record says how it ended.
    fn parting(op: &Operation<Terminate>, rest: &Rest<'_>) -> Option<Portrait> {
        let cause = rest.cause.map_or("it was given up", |cause| cause.as_str());
        let error = op.state.gone.is_none().then(|| cause.to_owned());
        let Params { launch, instance_id, .. } = &op.params;
        let record = Termination { ended_at: Some(rest.at), error, ..Termination::new(*launch, instance_id) };
        record.portrait().ok()
    }
}

/// The table of steps and weights.
pub fn plan(launches: &Arc<Launches>) -> Plan<Terminate> {
    Plan::new(OnFailure::Leave)
        .step(10, terminate_instance::TerminateInstance::new(launches))
        .step(20, note_in_record::NoteInRecord::new(launches))
}
