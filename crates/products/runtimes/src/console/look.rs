//! One runtime, read from the API.

use crate::api::osb::wire::Instance;
use crate::api::types::{Runtime, RuntimeEvent, RuntimeEvents};
use api::types::{Operation, OperationDetail, OperationPage};
use engine::Capability;
use serde_json::{Map, Value};
use tokio::{join, try_join};

use super::state::newest;
use console::{ApiClient, PageError, SignedIn, path};

const OPERATIONS: usize = 10;
const EVENTS: usize = 30;

#[derive(Clone)]
pub(super) struct RuntimeLook {
    pub(super) runtime: Runtime,
    pub(super) newest: Option<OperationDetail>,
    pub(super) operations: Vec<Operation>,
    pub(super) events: Vec<RuntimeEvent>,
    /// What it was asked to be, for the user who may know that.
    pub(super) parameters: Map<String, Value>,
}

impl RuntimeLook {
    /// `before` is what was seen the last time: what cannot have changed since is not asked for again.
    pub(super) async fn at(
        signed_in: &SignedIn,
        id: &str,
        before: Option<&RuntimeLook>,
    ) -> Result<RuntimeLook, PageError> {
        let api = &signed_in.api;
        let at = format!("/runtimes/{}", path::part(id));
        let of_operations = format!("{at}/operations?limit={OPERATIONS}");
        let (runtime, operations) = try_join!(runtime(api, id), api.get::<OperationPage>(&of_operations))?;
        let operations = operations.items;
        let is_same = before.is_some_and(|before| before.is_of(&runtime, &operations));
        if let Some(before) = before.filter(|_| is_same && is_over(&operations)) {
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
            if is_same || !signed_in.can(Capability::Administer) {
                return known;
            }
            // The broker does not tell them while something is under way.
            parameters(api, &runtime).await.unwrap_or(known)
        };
        let (newest, events, parameters) = join!(newest, api.get::<RuntimeEvents>(&of_events), parameters);
        Ok(RuntimeLook { newest, operations, events: events?.items, parameters, runtime })
    }

    /// Whether this is what was seen.
    fn is_of(&self, runtime: &Runtime, operations: &[Operation]) -> bool {
        self.runtime == *runtime && self.operations == operations
    }
}

/// What is over has no more events.
fn is_over(operations: &[Operation]) -> bool {
    operations.iter().all(|one| one.phase.is_final())
}

pub(super) async fn runtime(api: &ApiClient, id: &str) -> Result<Runtime, PageError> {
    api.get(&format!("/runtimes/{}", path::part(id))).await
}

/// What it was asked to be. Only an admin may ask, and only of something that is there.
pub(super) async fn parameters(api: &ApiClient, runtime: &Runtime) -> Option<Map<String, Value>> {
    let at = format!("/v2/service_instances/{}", path::part(&runtime.instance_id));
    api.get::<Instance>(&at).await.ok().map(|instance| instance.parameters)
}

/// How many steps are behind it, and how many there are.
pub(super) fn progress(detail: &OperationDetail) -> (usize, usize) {
    (detail.steps.iter().filter(|step| step.state.is_passed()).count(), detail.steps.len())
}

#[cfg(test)]
mod tests {
    use crate::api::types::RuntimeState;
    use api::types::Phase;
    use serde_json::json;

    use super::*;

    fn look(phase: &str) -> RuntimeLook {
        let runtime = json!({
            "instanceID": "i", "runtimeID": "r", "globalAccountID": "g", "subAccountID": "s", "region": "eu",
            "subAccountRegion": "", "shootName": "", "serviceClassID": "c", "serviceClassName": "c",
            "servicePlanID": "p", "servicePlanName": "p", "provider": "azure", "userID": "", "status": {
                "createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z", "state": "succeeded"},
        });
        let operation = json!({
            "id": "01a1e3ec-17ab-7170-9e88-9f6a32315443", "workflow": "w", "tenant": "g", "phase": phase,
            "created_at": "2026-01-01T00:00:00Z", "deadline_at": "2026-01-02T00:00:00Z",
        });
        RuntimeLook {
            runtime: serde_json::from_value(runtime).unwrap(),
            newest: None,
            operations: vec![serde_json::from_value(operation).unwrap()],
            events: Vec::new(),
            parameters: Map::new(),
        }
    }

    #[test]
    fn only_what_is_over_and_the_same_is_not_asked_for_again() {
        let seen = look("succeeded");
        assert!(seen.is_of(&seen.runtime, &seen.operations) && is_over(&seen.operations));
        assert!(!is_over(&look("waiting").operations));
        let mut changed = look("succeeded");
        changed.runtime.status.state = RuntimeState::Suspended;
        assert!(!seen.is_of(&changed.runtime, &seen.operations));
        changed.operations[0].phase = Phase::Failed;
        assert!(!seen.is_of(&seen.runtime, &changed.operations) && !seen.is_of(&seen.runtime, &[]));
    }
}
