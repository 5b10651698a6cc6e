//! One runtime, as the API tells about it.

use doors::osb::wire::Instance;
use doors::wire::{
    Operation, OperationDetail, OperationPage, Runtime, RuntimeEvent, RuntimeEvents, StepState,
};
use serde_json::{Map, Value};

use super::state::newest;
use crate::api::Api;
use crate::path;
use crate::trouble::Trouble;

const OPERATIONS: usize = 10;
const EVENTS: usize = 30;

pub(super) struct Look {
    pub(super) runtime: Runtime,
    pub(super) newest: Option<OperationDetail>,
    pub(super) operations: Vec<Operation>,
    pub(super) events: Vec<RuntimeEvent>,
}

impl Look {
    pub(super) async fn at(api: &Api, id: &str) -> Result<Look, Trouble> {
        let runtime = runtime(api, id).await?;
        let at = format!("/runtimes/{}", path::part(id));
        let operations: OperationPage = api.get(&format!("{at}/operations?limit={OPERATIONS}")).await?;
        let events: RuntimeEvents = api.get(&format!("{at}/events?limit={EVENTS}")).await?;
        let newest = match newest(&runtime) {
            // It may be forgotten already.
            Some(operation) => api.get(&format!("/operations/{operation}")).await.ok(),
            None => None,
        };
        Ok(Look { runtime, newest, operations: operations.items, events: events.items })
    }
}

pub(super) async fn runtime(api: &Api, id: &str) -> Result<Runtime, Trouble> {
    api.get(&format!("/runtimes/{}", path::part(id))).await
}

/// What it was asked to be. Only an admin may ask, and only of something that is there.
pub(super) async fn parameters(api: &Api, runtime: &Runtime) -> Option<Map<String, Value>> {
    let at = format!("/v2/service_instances/{}", path::part(&runtime.instance_id));
    api.get::<Instance>(&at).await.ok().map(|instance| instance.parameters)
}

/// How many steps are behind it, and how many there are.
pub(super) fn progress(detail: &OperationDetail) -> (usize, usize) {
    let is_over = |state: StepState| matches!(state, StepState::Done | StepState::Skipped);
    (detail.steps.iter().filter(|step| is_over(step.state)).count(), detail.steps.len())
}
