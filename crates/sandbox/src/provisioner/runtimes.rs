//! The runtimes that the provisioner knows, their operations, and what happens when one of those ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

use super::dialect::Dialect;
use super::faults::{FaultMatch, RuntimeFaults};
use super::operation::{OperationKind, SimulatedError, SimulatedOperation};
use crate::graphql::{GraphqlError, GraphqlUser};

const RUNTIMES_MAX: usize = 200_000;
const OPERATIONS_MAX: usize = 1_000_000;
/// Of all inputs together.
const INPUT_BYTES_MAX: usize = 1024 * 1024 * 1024;

/// How long operations take, and which year the provisioner is from: what people send to
/// `PUT /provisioner/script`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ProvisionerScript {
    pub(super) provision_ms: u64,
    pub(super) deprovision_ms: u64,
    pub(super) upgrade_ms: u64,
    pub(super) dialect: Dialect,
}

impl ProvisionerScript {
    fn lasts(&self, kind: OperationKind) -> Duration {
        Duration::from_millis(match kind {
            OperationKind::Provision | OperationKind::ProvisionNoInstall => self.provision_ms,
            OperationKind::Deprovision | OperationKind::DeprovisionNoInstall => self.deprovision_ms,
            OperationKind::Upgrade | OperationKind::UpgradeShoot | OperationKind::Hibernate => {
                self.upgrade_ms
            }
        })
    }
}

#[derive(Debug)]
pub(super) struct SimulatedRuntime {
    pub(super) id: String,
    pub(super) subject: FaultMatch,
    pub(super) created_at: OffsetDateTime,
    /// The input as it arrived, changed by upgrades. As text it takes a fraction of the memory.
    input: String,
    /// What the last upgrade replaced.
    pub(super) kyma_before: Option<Value>,
    /// How often an upgrade of it was begun.
    pub(super) upgrades: u32,
    pub(super) last_operation: String,
    pub(super) is_provisioned: bool,
    pub(super) is_hibernated: bool,
    pub(super) is_gone: bool,
}

impl SimulatedRuntime {
    pub(super) fn input(&self) -> Value {
        serde_json::from_str(&self.input).unwrap_or_default()
    }

    pub(super) fn tenant(&self) -> &str {
        self.subject.tenant.as_deref().unwrap_or_default()
    }

    /// What the ledger calls it.
    pub(super) fn request(&self) -> &str {
        self.subject.instance_id.as_deref().or(self.subject.name.as_deref()).unwrap_or_default()
    }
}

/// All that is guarded by the lock of the provisioner.
#[derive(Debug, Default)]
pub(super) struct RuntimeTable {
    pub(super) script: ProvisionerScript,
    pub(super) faults: Arc<RuntimeFaults>,
    /// Ids grow with time, so this is the order in which they came.
    pub(super) by_id: BTreeMap<String, SimulatedRuntime>,
    pub(super) operations: BTreeMap<String, SimulatedOperation>,
    /// The operations that are not over, by their end.
    pending: BTreeSet<(OffsetDateTime, String)>,
    input_bytes: usize,
}

/// Tells the rest of the world what an ended operation changed there.
pub(super) trait Witness {
    fn provisioned(&self, runtime: &SimulatedRuntime);
    fn provisioning_failed(&self, runtime: &SimulatedRuntime);
    fn deprovisioned(&self, runtime: &SimulatedRuntime);
}

impl RuntimeTable {
    /// Ends every operation whose time has come.
    pub(super) fn settle(&mut self, now: OffsetDateTime, witness: &dyn Witness) {
        while self.pending.first().is_some_and(|(ends_at, _)| *ends_at <= now) {
            let Some((_, id)) = self.pending.pop_first() else { return };
            let Some(operation) = self.operations.get_mut(&id) else { continue };
            operation.is_over = true;
            let Some(runtime) = self.by_id.get_mut(&operation.runtime_id) else { continue };
            match (operation.kind, &operation.failure) {
                (OperationKind::Provision | OperationKind::ProvisionNoInstall, None) => {
                    runtime.is_provisioned = true;
                    witness.provisioned(runtime);
                }
                (OperationKind::Provision | OperationKind::ProvisionNoInstall, Some(_)) => {
                    witness.provisioning_failed(runtime);
                }
                (OperationKind::Deprovision | OperationKind::DeprovisionNoInstall, None) => {
                    runtime.is_gone = true;
                    witness.deprovisioned(runtime);
                }
                (OperationKind::Hibernate, None) => runtime.is_hibernated = true,
                _ => {}
            }
        }
    }

    /// Operations that are under way follow the new script too, so that they can be held and let go.
    pub(super) fn follow(&mut self, script: ProvisionerScript) {
        for (_, id) in std::mem::take(&mut self.pending) {
            if let Some(operation) = self.operations.get_mut(&id) {
                operation.lasts = script.lasts(operation.kind);
                self.pending.insert((operation.ends_at(), id));
            }
        }
        self.script = script;
    }

    pub(super) fn add(
        &mut self,
        config: &Value,
        subject: FaultMatch,
        now: OffsetDateTime,
    ) -> Result<&SimulatedRuntime, GraphqlError> {
        let input = config.to_string();
        let is_full = self.by_id.len() >= RUNTIMES_MAX
            || self.operations.len() >= OPERATIONS_MAX
            || self.input_bytes + input.len() > INPUT_BYTES_MAX;
        if is_full {
            return Err(GraphqlError::internal("the sandbox is full and makes no more runtimes"));
        }
        self.input_bytes += input.len();
        let id = Uuid::now_v7().to_string();
        let runtime = SimulatedRuntime {
            subject: FaultMatch { runtime_id: Some(id.clone()), ..subject },
            created_at: now,
            input,
            kyma_before: None,
            upgrades: 0,
            last_operation: String::new(),
            is_provisioned: false,
            is_hibernated: false,
            is_gone: false,
            id: id.clone(),
        };
        Ok(self.by_id.entry(id).or_insert(runtime))
    }

    /// Starts an operation on a runtime that is there.
    pub(super) fn start(
        &mut self,
        runtime_id: &str,
        kind: OperationKind,
        failure: Option<SimulatedError>,
        now: OffsetDateTime,
    ) -> Result<&SimulatedOperation, GraphqlError> {
        if self.operations.len() >= OPERATIONS_MAX {
            return Err(GraphqlError::internal("the sandbox is full and starts no more operations"));
        }
        let id = Uuid::now_v7().to_string();
        let operation = SimulatedOperation {
            id: id.clone(),
            runtime_id: runtime_id.to_owned(),
            kind,
            started_at: now,
            lasts: self.script.lasts(kind),
            failure,
            is_over: false,
        };
        if let Some(runtime) = self.by_id.get_mut(runtime_id) {
            runtime.last_operation.clone_from(&id);
        }
        self.pending.insert((operation.ends_at(), id.clone()));
        Ok(self.operations.entry(id).or_insert(operation))
    }

    /// A runtime that is there and belongs to the caller.
    pub(super) fn owned(&self, id: &str, caller: &GraphqlUser) -> Result<&SimulatedRuntime, GraphqlError> {
        let runtime = self.by_id.get(id).filter(|runtime| !runtime.is_gone);
        let runtime =
            runtime.ok_or_else(|| GraphqlError::internal(format!("the runtime {id:?} was not found")))?;
        check_tenant(runtime, caller)?;
        Ok(runtime)
    }

    /// A runtime on which nothing is under way, so that an operation may start.
    pub(super) fn idle(&self, id: &str, caller: &GraphqlUser) -> Result<&SimulatedRuntime, GraphqlError> {
        let runtime = self.owned(id, caller)?;
        let last = self.operations.get(&runtime.last_operation);
        if last.is_some_and(|operation| !operation.is_over) {
            let message = format!("cannot start an operation on runtime {id}: the last one is in progress");
            return Err(GraphqlError::bad_request(message));
        }
        Ok(runtime)
    }

    /// An operation, also of a runtime that is gone: its end must be seen by a client.
    pub(super) fn operation(
        &self,
        id: &str,
        caller: &GraphqlUser,
    ) -> Result<(&SimulatedOperation, &SimulatedRuntime), GraphqlError> {
        let found = self.operations.get(id).and_then(|operation| {
            let runtime = self.by_id.get(&operation.runtime_id)?;
            Some((operation, runtime))
        });
        let found =
            found.ok_or_else(|| GraphqlError::internal(format!("the operation {id:?} was not found")))?;
        check_tenant(found.1, caller)?;
        Ok(found)
    }

    /// Changes the stored input, for example because of an upgrade.
    pub(super) fn change(&mut self, id: &str, change: impl FnOnce(&mut SimulatedRuntime, &mut Value)) {
        let Some(runtime) = self.by_id.get_mut(id) else { return };
        let mut input = runtime.input();
        change(runtime, &mut input);
        self.input_bytes -= runtime.input.len();
        runtime.input = input.to_string();
        self.input_bytes += runtime.input.len();
    }

    pub(super) fn last_status(&self, runtime: &SimulatedRuntime, now: OffsetDateTime) -> Value {
        self.operations.get(&runtime.last_operation).map_or(json!(null), |operation| operation.at(now))
    }
}

fn check_tenant(runtime: &SimulatedRuntime, caller: &GraphqlUser) -> Result<(), GraphqlError> {
    if runtime.tenant() == caller.tenant {
        return Ok(());
    }
    let message = format!("the tenant of the call is not the tenant of runtime {}", runtime.id);
    Err(GraphqlError::bad_request(message))
}
