//! Control requests and signals, in memory.

use serde_json::Value;

use super::{Inbox, Tables};
use crate::clock::Timestamp;
use crate::ids::OperationId;
use crate::phase::{PhaseVerb, Turn};
use crate::store::{ControlRequest, Receipt, SignalLimit, Touch};

impl Tables {
    pub(super) fn control(&mut self, id: OperationId, control: ControlRequest) -> Receipt {
        if let Some(row) = self.operations.get_mut(&id) {
            if !row.summary.phase.allows(control.verb) {
                return Receipt::NotNow(row.summary.phase);
            }
            if row.queued && control.verb == PhaseVerb::Cancel {
                row.queued = false;
                if let Some(name) = row.summary.resource.take() {
                    self.resources.touch(&Touch::left_queue(&name, id, control.at));
                }
            }
            if row.summary.owner.is_none() && !row.queued {
                row.summary.due_at = Some(control.at);
            }
            row.summary.control = Some(control);
            self.last_number += 1;
            row.control_number = self.last_number;
            return Receipt::Saved;
        }
        let Some(row) = self.archive.get(&id) else { return Receipt::NoSuchOperation };
        let phase = row.summary.phase;
        let Some(revived) = phase.after(Turn::Revived).filter(|_| phase.allows(control.verb)) else {
            return Receipt::NotNow(phase);
        };
        if let Some(holder) = self.holder(row.summary.resource.as_deref()) {
            return Receipt::Busy(holder);
        }
        let Some(mut row) = self.archive.remove(&id) else { return Receipt::NoSuchOperation };
        // The time it had slept in the archive does not count against its deadline.
        let allowed = row.summary.deadline_at.since(row.summary.created_at);
        row.summary.deadline_at = control.at.plus(allowed);
        row.summary.phase = revived;
        row.summary.finished_at = None;
        row.summary.reason = None;
        row.summary.due_at = Some(control.at);
        row.summary.control = Some(control);
        self.last_number += 1;
        row.control_number = self.last_number;
        row.epoch += 1;
        if let (Some(name), Some(control)) = (&row.summary.resource, &row.summary.control) {
            self.resources.revive(name, id, &row.summary.workflow, control.at);
        }
        self.operations.insert(id, row);
        Receipt::Saved
    }

    pub(super) fn signal(
        &mut self,
        key: &str,
        payload: &Value,
        at: Timestamp,
        limit: Option<&SignalLimit>,
    ) -> Receipt {
        if let Some(full) = limit.and_then(|limit| self.is_full(limit, key, payload)) {
            return full;
        }
        let mut woken = 0;
        for row in self.operations.values_mut().filter(|row| row.key.as_deref() == Some(key)) {
            if row.summary.owner.is_none() {
                row.summary.due_at = Some(at);
                woken += 1;
            }
        }
        self.last_number += 1;
        let inbox = Inbox { payload: payload.clone(), at, number: self.last_number };
        self.signals.insert(key.to_owned(), inbox);
        Receipt::Woke(woken)
    }

    fn is_full(&self, limit: &SignalLimit, key: &str, payload: &Value) -> Option<Receipt> {
        let mut waits = self.operations.values().filter(|row| row.key.as_deref() == Some(key));
        if waits.any(|row| row.summary.owner.is_none()) {
            return None;
        }
        let size = |payload: &Value| u64::try_from(payload.to_string().len()).unwrap_or(u64::MAX);
        let keys = self.signals.range(limit.prefix.clone()..limit.end());
        let others = keys.filter(|(other, _)| *other != key).map(|(_, signal)| size(&signal.payload));
        let (signals, bytes) = others.fold((0, 0), |(signals, bytes), size| (signals + 1, bytes + size));
        (!limit.has_room(signals, bytes, size(payload))).then_some(Receipt::TooManySignals { signals, bytes })
    }
}
