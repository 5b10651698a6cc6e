//! A record and its newest operation, as the wire shows them.

use std::sync::Arc;

use crate::model::catalog::Catalog;
use crate::model::{ActionKind, DEPROVISION, InstanceRecord, PROVISION, Status, UPDATE, UPGRADE};
use engine::store::{ResourceRow, Summary};
use engine::{OperationId, Phase, Timestamp};

use super::ExistingInstance;
use crate::api::types;
use server::ToWire;

/// Everything that the row alone can say.
pub(crate) fn runtime(found: &ExistingInstance, catalog: Option<&Arc<Catalog>>) -> types::Runtime {
    let ExistingInstance { row, instance } = found;
    let class = catalog.map(|catalog| &catalog.service).filter(|class| class.id == instance.service_id);
    types::Runtime {
        instance_id: instance.instance_id.clone(),
        runtime_id: instance.runtime_id.clone().unwrap_or_default(),
        global_account_id: instance.account.clone(),
        sub_account_id: instance.subaccount.clone(),
        region: instance.region.clone(),
        sub_account_region: instance.platform_region.clone().unwrap_or_default(),
        shoot_name: instance.shoot.clone(),
        service_class_id: instance.service_id.clone(),
        service_class_name: class.map(|class| class.name.clone()).unwrap_or_default(),
        service_plan_id: instance.plan_id.clone(),
        service_plan_name: instance.plan.clone(),
        provider: instance.provider.clone(),
        user_id: instance.user.clone(),
        dashboard_url: instance.dashboard_url.clone(),
        status: status(row, instance, found.status()),
        bindings: None,
        runtime_config: None,
        kyma_config: None,
        cluster_config: None,
        actions: None,
    }
}

/// Puts all operations in the place of the newest one, by their kind. They come with the newest first.
pub(crate) fn all_operations(runtime: &mut types::Runtime, is_suspended: bool, operations: &[Summary]) {
    let mut kinds: [(&str, Vec<types::RuntimeOperation>); 5] =
        ["provisioning", "bringing it back", "the update", "the suspension", "deprovisioning"]
            .map(|what| (what, Vec::new()));
    let first_provisioning = operations.iter().rposition(|operation| operation.workflow == PROVISION);
    let last_provisioning = operations.iter().position(|operation| operation.workflow == PROVISION);
    for (at, summary) in operations.iter().enumerate() {
        let kind = match summary.workflow.as_str() {
            PROVISION if Some(at) == first_provisioning => 0,
            PROVISION => 1,
            UPDATE => 2,
            // What was taken down and came back, or may come back, was suspended.
            DEPROVISION if is_suspended || last_provisioning.is_some_and(|last| last < at) => 3,
            DEPROVISION => 4,
            _ => continue,
        };
        let (what, list) = &mut kinds[kind];
        list.push(operation(summary.id, summary.phase, what));
    }
    let [(_, provisioning), (_, resumed), (_, updates), (_, suspended), (_, removed)] = kinds;
    let list = |data: Vec<types::RuntimeOperation>| {
        let (total_count, count) = (data.len(), data.len());
        (count > 0).then_some(types::RuntimeOperations { data, total_count, count })
    };
    let status = &mut runtime.status;
    status.provisioning = provisioning.into_iter().next();
    status.deprovisioning = removed.into_iter().next();
    status.unsuspension = list(resumed);
    status.update = list(updates);
    status.suspension = list(suspended);
}

pub(crate) fn actions(found: &ExistingInstance) -> Vec<types::RuntimeAction> {
    let newest_first = found.instance.actions.iter().rev();
    let shown = newest_first.map(|action| {
        let (kind, what) = match action.kind {
            ActionKind::PlanUpdate => ("plan_update", "plan"),
            ActionKind::SubaccountMovement => ("subaccount_movement", "global account"),
        };
        types::RuntimeAction {
            kind: kind.to_owned(),
            message: format!("the {what} changed from {} to {}", action.old, action.new),
            old_value: action.old.clone(),
            new_value: action.new.clone(),
            created_at: action.at.to_wire(),
        }
    });
    shown.collect()
}

fn status(row: &ResourceRow, instance: &InstanceRecord, status: Status) -> types::RuntimeStatus {
    let mut shown = types::RuntimeStatus {
        created_at: row.created_at.to_wire(),
        modified_at: row.updated_at.to_wire(),
        expires_at: instance.expires_at.to_wire(),
        expired_at: instance.expired_at.to_wire(),
        deleted_at: row.gone_at.to_wire(),
        state: state(status, !instance.not_completed.is_empty()),
        provisioning: None,
        deprovisioning: None,
        update: None,
        suspension: None,
        unsuspension: None,
        not_completed: instance.not_completed.clone(),
    };
    let (Some(id), Some(workflow), Some(phase)) = (row.operation, row.workflow.as_deref(), row.phase) else {
        return shown;
    };
    match (workflow, status) {
        (PROVISION, Status::Resuming | Status::ResumeFailed) => {
            shown.unsuspension = Some(alone(operation(id, phase, "bringing it back")));
        }
        (PROVISION, _) => shown.provisioning = Some(operation(id, phase, "provisioning")),
        (UPDATE, _) => shown.update = Some(alone(operation(id, phase, "the update"))),
        (UPGRADE, _) => {
            if status == Status::Updating {
                shown.state = types::RuntimeState::Upgrading;
            }
            shown.update = Some(alone(operation(id, phase, "the upgrade")));
        }
        (DEPROVISION, Status::Suspending | Status::Suspended | Status::SuspendFailed) => {
            shown.suspension = Some(alone(operation(id, phase, "the suspension")));
        }
        (DEPROVISION, _) => shown.deprovisioning = Some(operation(id, phase, "deprovisioning")),
        _ => {}
    }
    shown
}

fn state(status: Status, is_incomplete: bool) -> types::RuntimeState {
    use types::RuntimeState;
    match status {
        Status::Ready => RuntimeState::Succeeded,
        Status::Provisioning | Status::Resuming => RuntimeState::Provisioning,
        Status::ProvisionFailed
        | Status::ResumeFailed
        | Status::SuspendFailed
        | Status::DeprovisionFailed => RuntimeState::Failed,
        Status::Updating => RuntimeState::Updating,
        Status::UpdateFailed => RuntimeState::Error,
        Status::Suspending | Status::Deprovisioning => RuntimeState::Deprovisioning,
        Status::Suspended => RuntimeState::Suspended,
        Status::Gone if is_incomplete => RuntimeState::DeprovisionIncomplete,
        Status::Gone => RuntimeState::Deprovisioned,
    }
}

fn operation(id: OperationId, phase: Phase, what: &str) -> types::RuntimeOperation {
    let (state, description) = match phase {
        Phase::Succeeded => ("succeeded", format!("{what} has succeeded")),
        phase if phase.is_final() => {
            ("failed", format!("{what} has failed; /operations/{id}/explain says why"))
        }
        _ => ("in progress", format!("{what} is in progress")),
    };
    types::RuntimeOperation {
        state: state.to_owned(),
        description,
        created_at: created_at(id).to_wire(),
        operation_id: id.0,
    }
}

/// The id of an operation begins with the time at which it was accepted.
fn created_at(id: OperationId) -> Timestamp {
    let (seconds, nanos) = id.0.get_timestamp().map(|at| at.to_unix()).unwrap_or_default();
    Timestamp(0).plus(std::time::Duration::new(seconds, nanos))
}

fn alone(operation: types::RuntimeOperation) -> types::RuntimeOperations {
    types::RuntimeOperations { data: vec![operation], total_count: 1, count: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_an_operation_is_in_its_id() {
        let at = Timestamp(1_700_000_000_123_000);
        assert_eq!(created_at(OperationId::first_at(at)), at);
        assert_eq!(created_at(OperationId(uuid::Uuid::nil())), Timestamp(0));
    }
}
