//! `serverless.update`: gives the VMs of a runtime another capacity, a larger disk or another place, and writes
//! it down. What was changed is put back if a later change is refused, as far as that is possible.

mod amend_machine;
mod change;
mod prepare;
mod record_update;
mod recover_machine;
mod rename;
mod report_runtime;
mod resize_disk;
mod resize_machine;

use std::collections::BTreeSet;

use engine::Settled;
use engine::Timestamp;
use engine::prelude::*;
use engine::store::RecordUpdate;
use opennebula::{NebulaError, NebulaErrorKind as Kind};
use utoipa::ToSchema;

use crate::model::UPDATE;
use crate::model::caller_credentials::{self, Input};
use crate::model::report::{Answers, later};
use crate::model::runtime_error::RuntimeError;
use crate::model::settings::{Serverless, ServerlessSettings};

pub use change::{DesiredPlacement, FromTo, FunctionChange};
pub use prepare::prepare;

pub struct Update;

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The document of the runtime in OpenNebula.
    pub document: i32,
    /// What its owner calls the runtime, for lists of operations.
    #[serde(skip)]
    pub runtime_name: Option<String>,
    /// One for every function that changes.
    #[serde(default)]
    pub functions: Vec<FunctionChange>,
    /// Whether the scheduler has to look for a place again.
    #[serde(default)]
    pub reschedule: bool,
    /// The body of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<FromTo<String>>,
    /// The name of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<FromTo<String>>,
}

/// What the steps learned.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct State {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_at: Option<Timestamp>,
    /// The body of the answer: JSON with its members in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "refusal")]
    pub runtime_error: Option<RuntimeError>,
    /// What was asked for and not done, though the rest was.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub warnings: BTreeSet<String>,
    /// What could not be put back.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub leftovers: BTreeSet<String>,
}

impl Workflow for Update {
    const KIND: &'static str = UPDATE;
    const ABOUT: &'static str = "Changes a serverless runtime in OpenNebula.";
    const DEADLINE: Duration = Duration::from_hours(1);
    type Params = Params;
    type State = State;
    type Input = Input;

    fn schema() -> serde_json::Value {
        api::json_schema::<Params>()
    }

    fn operation_name(params: &Params) -> Option<String> {
        params.runtime_name.clone()
    }

    fn on_settled(op: &Operation<Update>, rest: &Settled<'_>) -> Option<RecordUpdate> {
        caller_credentials::on_settled(op, rest)
    }
}

impl Answers for Update {
    fn runtime_error(state: &mut State) -> &mut Option<RuntimeError> {
        &mut state.runtime_error
    }
}

/// How long the update has been going on, from its first step on.
fn going_on_for(op: &mut Operation<Update>) -> Duration {
    let now = op.now();
    now.since(*op.state.began_at.get_or_insert(now))
}

/// Something stays as the update left it. The caller is told so.
fn leave(op: &mut Operation<Update>, what: &str) {
    if op.state.leftovers.insert(what.to_owned()) {
        op.state.runtime_error = op.state.runtime_error.take().map(|runtime_error| runtime_error.and(what));
    }
}

/// What is not there any longer has nothing to be put back, and what OpenNebula refuses stays as it is.
fn put_back<T>(
    op: &mut Operation<Update>,
    settings: &ServerlessSettings,
    what: &str,
    answer: Result<T, NebulaError>,
) -> Result<Option<T>, Halt> {
    match answer {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.is(Kind::NotFound) => Ok(None),
        Err(error) if error.may_heal() => Err(later(settings, &error)),
        Err(error) => {
            leave(op, &format!("{what} stays as it is: {error}"));
            Ok(None)
        }
    }
}

/// The table of steps and weights.
pub fn plan(serverless: &Arc<Serverless>) -> Plan<Update> {
    let places = |op: &Operation<Update>| op.params.functions.iter().any(|change| change.place.is_some());
    let recovers = |op: &Operation<Update>| op.params.functions.iter().any(|change| change.recover.is_some());
    Plan::new(OnFailure::Unwind)
        .step_when(recovers, 5, recover_machine::RecoverMachine::new(serverless))
        .step(10, resize_machine::ResizeMachine::new(serverless))
        .step(20, resize_disk::ResizeDisk::new(serverless))
        .step_when(places, 30, amend_machine::AmendMachine::new(serverless))
        .step_when(|op| op.params.body.is_some(), 40, record_update::RecordUpdate::new(serverless))
        .step_when(|op| op.params.name.is_some(), 50, rename::Rename::new(serverless))
        .step(60, report_runtime::ReportRuntime::new(serverless))
}
