//! One runtime, as the API tells about it.

use doors::osb::wire::Instance;
use doors::wire::{
    Operation, OperationDetail, OperationPage, Runtime, RuntimeEvent, RuntimeEvents, StepState,
};
use engine::Role;
use serde_json::{Map, Value};
use tokio::{join, try_join};

use super::state::newest;
use crate::api::Api;
use crate::path;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

const OPERATIONS: usize = 10;
const EVENTS: usize = 30;

#[derive(Clone)]
pub(super) struct Look {
    pub(super) runtime: Runtime,
    pub(super) newest: Option<OperationDetail>,
    pub(super) operations: Vec<Operation>,
    pub(super) events: Vec<RuntimeEvent>,
    /// What it was asked to be, for whoever may know that.
    pub(super) parameters: Map<String, Value>,
}

impl Look {
    /// `before` is what was seen the last time: what cannot have changed since is not asked for again.
    pub(super) async fn at(visitor: &Visitor, id: &str, before: Option<&Look>) -> Result<Look, Trouble> {
        let api = &visitor.api;
        let at = format!("/runtimes/{}", path::part(id));
        let of_operations = format!("{at}/operations?limit={OPERATIONS}");
        let (runtime, operations) = try_join!(runtime(api, id), api.get::<OperationPage>(&of_operations))?;
        let operations = operations.items;
        let is_same = before.is_some_and(|before| before.runtime == runtime);
        let is_over = operations.iter().all(|one| one.phase.is_final());
        if let Some(before) = before
            && is_same
            && is_over
            && before.operations == operations
        {
            return Ok(before.clone());
        }
        let of_events = format!("{at}/events?limit={EVENTS}");
        let newest = async {
            let at = format!("/operations/{}", newest(&runtime)?);
            // It may be forgotten already.
            api.get(&at).await.ok()
        };
        let parameters = async {
            let known = before.map(|before| before.parameters.clone()).unwrap_or_default();
            if is_same || !visitor.is(Role::Admin) {
                return known;
            }
            // The broker does not tell them while something is under way.
            parameters(api, &runtime).await.unwrap_or(known)
        };
        let (newest, events, parameters) = join!(newest, api.get::<RuntimeEvents>(&of_events), parameters);
        Ok(Look { newest, operations, events: events?.items, parameters, runtime })
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
