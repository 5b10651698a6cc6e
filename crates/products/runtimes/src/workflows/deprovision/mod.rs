//! `runtime.deprovision`: cleans up what belongs to a runtime, has it removed, and waits until it is gone. With
//! `temporary` the instance stays and can get a new runtime later: that is a suspension.

mod archive;
mod end_bindings;
mod find_runtime;
mod release_credentials;
mod remove_kyma;
mod remove_runtime;
mod revoke_bindings;
mod wait_for_removal;

use engine::prelude::*;
use utoipa::ToSchema;

use crate::clients::Clients;
use crate::model::DEPROVISION;
use crate::workflows::shared::{Input, OnInstance, Start};

pub struct Deprovision;

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The service instance whose runtime is removed.
    pub instance_id: String,
    /// The instance stays, suspended.
    #[serde(default)]
    pub temporary: bool,
    /// An operator has decided: the record goes, whatever becomes of the runtime.
    #[serde(default)]
    pub force: bool,
}

/// What the steps learned.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct State {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioner_operation: Option<String>,
    #[serde(default)]
    pub is_removed: bool,
}

impl Workflow for Deprovision {
    const KIND: &'static str = DEPROVISION;
    const ABOUT: &'static str = "Removes the runtime of a service instance, for good or until it is resumed.";
    type Params = Params;
    type State = State;
    type Input = Input;

    fn schema() -> serde_json::Value {
        api::json_schema::<Params>()
    }
}

impl OnInstance for Deprovision {
    const TAKES_GONE: bool = true;
}

/// The weight of the step that has the runtime removed.
pub const REMOVE_RUNTIME: u16 = 10;

/// The table of steps and weights.
pub fn plan(clients: &Clients) -> Plan<Deprovision> {
    let plan = Plan::new(OnFailure::Leave)
        .step(1, Start)
        .step_when(|op| !op.params.force, 1, end_bindings::EndBindings)
        .step_when(|op| !op.params.force, 2, find_runtime::FindRuntime::new(clients))
        .clean_up(4, revoke_bindings::RevokeBindings::new(clients))
        .step_when(|op| !op.params.force, 6, remove_kyma::RemoveKyma::new(clients))
        .step_when(|op| !op.params.force, REMOVE_RUNTIME, remove_runtime::RemoveRuntime::new(clients))
        .step_when(|op| !op.params.force, 20, wait_for_removal::WaitForRemoval::new(clients))
        .clean_up(30, release_credentials::ReleaseCredentials::new(clients))
        .step(40, archive::Archive);
    clients.external.join(plan)
}
