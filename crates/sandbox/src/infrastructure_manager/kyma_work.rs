//! What the stand-in for Lifecycle Manager does with a Kyma resource.

use serde_json::{Value, json};

use super::controller::{ObjectWork, Task};
use super::faults::{ManagerFaultKind, Work};
use super::stamp;
use crate::delays::later;
use crate::ledger::{Effect, LedgerSystem};

const FINALIZER: &str = "operator.kyma-project.io/Kyma";
const KYMA: Effect = Effect { system: LedgerSystem::InfrastructureManager, kind: "kyma" };

pub(super) fn take_up(work: &mut ObjectWork<'_>) {
    let generation = work.generation();
    if work.is_being_deleted() {
        let hangs = work.outside.faults.next_for(
            &[ManagerFaultKind::KymaDeletionHangs],
            Some(Work::Delete),
            &work.object,
        );
        set_state(work, "Deleting");
        if hangs.is_some() {
            return;
        }
    } else {
        work.add_finalizer(FINALIZER);
        let name = work.key.name.clone();
        work.outside.ledger.make(KYMA, &name, &name);
        set_state(work, "Processing");
    }
    let at = later(work.now, work.controller.delays.kyma_ms);
    work.controller.schedule(at, Task::Finish(work.key.clone(), generation));
}

/// Every generation is taken up, and then has an end of its own: that of a creation does not end a deletion.
pub(super) fn finish(work: &mut ObjectWork<'_>, generation: i64) {
    if work.generation() != generation {
        return;
    }
    if work.is_being_deleted() {
        work.outside.ledger.take_back(KYMA, &work.key.name);
        work.remove_finalizer(FINALIZER);
    } else {
        set_state(work, "Ready");
    }
}

fn set_state(work: &mut ObjectWork<'_>, state: &str) {
    let modules = work.object["spec"]["modules"].as_array().cloned().unwrap_or_default();
    let modules: Vec<Value> =
        modules.iter().map(|module| json!({"name": module["name"], "state": state})).collect();
    let now = stamp(work.now);
    work.change(|object| {
        object["status"] = json!({
            "state": state, "modules": modules,
            "lastOperation": {"operation": format!("kyma is {state}"), "lastUpdateTime": now},
        });
    });
}
