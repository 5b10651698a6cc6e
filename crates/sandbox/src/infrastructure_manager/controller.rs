//! The stand-ins for Infrastructure Manager and Lifecycle Manager: what they do when an object changes, and when.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::faults::{ManagerFaultKind, ManagerFaults, Work};
use super::kinds::KubeKind;
use super::runtime_work::{self, RuntimeRecord};
use super::store::{ObjectKey, ObjectStore};
use super::{kyma_work, stamp};
use crate::cluster::Clusters;
use crate::delays::later;
use crate::ledger::Ledger;

/// How long the work takes, in milliseconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ManagerDelays {
    /// Until a change is noticed.
    take_up_ms: u64,
    pub(super) create_ms: u64,
    pub(super) update_ms: u64,
    pub(super) delete_ms: u64,
    pub(super) kyma_ms: u64,
    /// Between two bookmarks of a watch.
    pub(super) bookmark_ms: u64,
}

impl Default for ManagerDelays {
    fn default() -> ManagerDelays {
        let [take_up_ms, create_ms, update_ms, delete_ms, kyma_ms] = [0; 5];
        ManagerDelays { take_up_ms, create_ms, update_ms, delete_ms, kyma_ms, bookmark_ms: 10_000 }
    }
}

/// What comes next for an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Task {
    TakeUp(ObjectKey),
    /// Ends the work that was taken up with this generation; another generation has its own end.
    Finish(ObjectKey, i64),
}

/// The external systems that the controllers act on.
#[derive(Debug)]
pub(super) struct Outside {
    pub(super) ledger: Arc<Ledger>,
    pub(super) clusters: Arc<Clusters>,
    pub(super) faults: Arc<ManagerFaults>,
}

#[derive(Debug, Default)]
pub(super) struct Controller {
    pub(super) delays: ManagerDelays,
    due: BTreeSet<(OffsetDateTime, u64, Task)>,
    last: u64,
    /// The next look at each object, by its time and number. A controller looks at what is there then, so a later look
    /// that was scheduled before it is dropped, as in the queue of a real one.
    next_looks: HashMap<ObjectKey, (OffsetDateTime, u64)>,
    /// Updates whose Pending no client has seen: they do not end before, so that a client that looks often enough
    /// always sees that they began.
    unseen: HashMap<ObjectKey, (OffsetDateTime, i64)>,
    pub(super) records: HashMap<String, RuntimeRecord>,
}

impl Controller {
    pub(super) fn schedule(&mut self, at: OffsetDateTime, task: Task) {
        self.last += 1;
        self.due.insert((at, self.last, task));
    }

    fn schedule_look(&mut self, at: OffsetDateTime, key: &ObjectKey) {
        if self.next_looks.get(key).is_some_and(|(sooner, _)| *sooner <= at) {
            return;
        }
        self.schedule(at, Task::TakeUp(key.clone()));
        self.next_looks.insert(key.clone(), (at, self.last));
    }

    pub(super) fn schedule_when_seen(&mut self, at: OffsetDateTime, key: ObjectKey, generation: i64) {
        self.unseen.insert(key, (at, generation));
    }

    /// A client has read the object.
    pub(super) fn seen(&mut self, key: &ObjectKey) {
        if self.unseen.is_empty() {
            return;
        }
        if let Some((at, generation)) = self.unseen.remove(key) {
            self.schedule(at, Task::Finish(key.clone(), generation));
        }
    }

    fn pop_due(&mut self, now: OffsetDateTime) -> Option<Task> {
        while self.due.first().is_some_and(|(at, ..)| *at <= now) {
            let (at, number, task) = self.due.pop_first()?;
            let Task::TakeUp(key) = &task else { return Some(task) };
            if self.next_looks.get(key) == Some(&(at, number)) {
                self.next_looks.remove(key);
                return Some(task);
            }
        }
        None
    }

    /// A client has changed an object; None for one that is new.
    pub(super) fn changed(
        &mut self,
        outside: &Outside,
        key: &ObjectKey,
        before: Option<&Value>,
        after: &Value,
        now: OffsetDateTime,
    ) {
        if !matches!(key.kind, KubeKind::Runtime | KubeKind::Kyma) {
            return;
        }
        let mut wait_ms = self.delays.take_up_ms;
        if let Some(before) = before {
            if !is_work(before, after) {
                return;
            }
            let is_update = after["metadata"].get("deletionTimestamp").is_none();
            if is_update
                && let Some(fault) =
                    outside.faults.next_for(&[ManagerFaultKind::StaleReady], Some(Work::Update), after)
            {
                wait_ms = fault.lasts_ms.unwrap_or(3_600_000);
            }
        }
        self.schedule_look(later(now, wait_ms), key);
    }
}

/// Whether a controller acts on the change: on another spec, on a deletion, on being told to, and on any change of a
/// runtime that it had given up.
fn is_work(before: &Value, after: &Value) -> bool {
    let differs = |name: &str| before["metadata"].get(name) != after["metadata"].get(name);
    let was_failed = before["status"]["state"] == "Failed";
    let is_forced =
        after["metadata"]["annotations"]["operator.kyma-project.io/force-patch-reconciliation"] == "true";
    differs("generation")
        || differs("deletionTimestamp")
        || (differs("annotations") && (is_forced || was_failed))
        || (differs("labels") && was_failed)
}

/// Does all work whose time has come.
pub(super) fn settle(
    controller: &mut Controller,
    store: &mut ObjectStore,
    outside: &Outside,
    now: OffsetDateTime,
) {
    while let Some(task) = controller.pop_due(now) {
        let (Task::TakeUp(key) | Task::Finish(key, _)) = &task;
        let Some(object) = store.get(key) else { continue };
        let mut work = ObjectWork { controller, store, outside, key, object, now };
        match (&task, key.kind) {
            (Task::TakeUp(_), KubeKind::Kyma) => kyma_work::take_up(&mut work),
            (Task::Finish(_, generation), KubeKind::Kyma) => kyma_work::finish(&mut work, *generation),
            (Task::TakeUp(_), _) => runtime_work::take_up(&mut work),
            (Task::Finish(_, generation), _) => runtime_work::finish(&mut work, *generation),
        }
    }
}

/// One object that a controller works on.
pub(super) struct ObjectWork<'a> {
    pub(super) controller: &'a mut Controller,
    pub(super) store: &'a mut ObjectStore,
    pub(super) outside: &'a Outside,
    pub(super) key: &'a ObjectKey,
    pub(super) object: Arc<Value>,
    pub(super) now: OffsetDateTime,
}

impl ObjectWork<'_> {
    pub(super) fn generation(&self) -> i64 {
        self.object["metadata"]["generation"].as_i64().unwrap_or_default()
    }

    pub(super) fn is_being_deleted(&self) -> bool {
        self.object["metadata"].get("deletionTimestamp").is_some()
    }

    pub(super) fn label(&self, name: &str) -> &str {
        self.object["metadata"]["labels"][name].as_str().unwrap_or_default()
    }

    /// Writes the object, unless nothing changes.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Value)) {
        let mut next = Value::clone(&self.object);
        change(&mut next);
        if next != *self.object {
            self.object = self.store.put(self.key, next);
        }
    }

    pub(super) fn set_status(&mut self, state: &str, conditions: &[Value]) {
        self.change(|object| {
            let mut status = object["status"].as_object().cloned().unwrap_or_default();
            status.insert("state".to_owned(), json!(state));
            if !conditions.is_empty() {
                status.insert("conditions".to_owned(), json!(conditions));
            }
            status.remove("shootLastErrors");
            object["status"] = status.into();
        });
    }

    pub(super) fn condition(&self, kind: &str, reason: &str, status: &str, message: &str) -> Value {
        json!({
            "type": kind, "reason": reason, "status": status, "message": message,
            "lastTransitionTime": stamp(self.now),
        })
    }

    pub(super) fn add_finalizer(&mut self, finalizer: &str) {
        self.change(|object| {
            if object["metadata"].get("finalizers").is_none() {
                object["metadata"]["finalizers"] = json!([finalizer]);
            }
        });
    }

    /// Removes the finalizer of this controller, and with the last one the object.
    pub(super) fn remove_finalizer(&mut self, finalizer: &str) {
        let mut left = self.object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        left.retain(|one| one != finalizer);
        if left.is_empty() && self.is_being_deleted() {
            self.store.remove(self.key);
        } else {
            self.change(|object| object["metadata"]["finalizers"] = json!(left));
        }
    }
}
