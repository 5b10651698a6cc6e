//! Who gets what is due, in memory.

use std::collections::BTreeMap;

use super::Tables;
use crate::clock::Timestamp;
use crate::event::{Body, Event};
use crate::ids::{NodeId, OperationId};
use crate::phase::Turn;
use crate::store::{Claimed, Signal};

impl Tables {
    /// Due operations, one of each tenant in turn, beginning after the tenant that was served last.
    pub(super) fn due(&mut self, now: Timestamp, limit: usize) -> Vec<OperationId> {
        let mut by_tenant: BTreeMap<&str, Vec<(Timestamp, OperationId)>> = BTreeMap::new();
        for row in self.operations.values() {
            let due_at = row.summary.due_at.filter(|due_at| *due_at <= now);
            if let (Some(due_at), None, false) = (due_at, row.summary.owner, row.queued) {
                by_tenant.entry(&row.summary.tenant).or_default().push((due_at, row.summary.id));
            }
        }
        let mut queues: Vec<_> = by_tenant.into_iter().collect();
        for (_, queue) in &mut queues {
            queue.sort_by(|a, b| b.cmp(a));
        }
        let first = queues.partition_point(|(tenant, _)| *tenant <= self.served.as_str());
        queues.rotate_left(first);
        let mut due = Vec::new();
        let mut served = None;
        while due.len() < limit && queues.iter().any(|(_, queue)| !queue.is_empty()) {
            for (tenant, queue) in &mut queues {
                if let (true, Some((_, id))) = (due.len() < limit, queue.pop()) {
                    due.push(id);
                    served = Some(tenant.to_string());
                }
            }
        }
        if let Some(served) = served {
            self.served = served;
        }
        due
    }

    pub(super) fn claim_one(&mut self, id: OperationId, node: NodeId, now: Timestamp) -> Option<Claimed> {
        let orphaned = self.operations.get(&id)?.orphaned;
        let mut seq = self.last_seq(id);
        if orphaned {
            seq += 1;
            let adopted = Event { seq, at: now, body: Body::Adopted { node } };
            self.append(id, &adopted).ok()?;
        }
        let row = self.operations.get_mut(&id)?;
        row.summary.owner = Some(node);
        row.summary.phase = row.summary.phase.after(Turn::Claimed).unwrap_or(row.summary.phase);
        row.summary.due_at = None;
        row.orphaned = false;
        row.epoch += 1;
        let row = row.clone();
        let events = self.journal.range((id, row.memory_seq + 1)..=(id, u32::MAX));
        let events = events.map(|(_, event)| event.clone()).collect();
        let signal = row.key.clone().and_then(|key| {
            let inbox = self.signals.get(&key)?;
            Some(Signal { key, payload: inbox.payload.clone(), number: inbox.number })
        });
        let control = row.control();
        Some(Claimed {
            id,
            workflow: row.summary.workflow,
            tenant: row.summary.tenant,
            resource: row.summary.resource,
            params: row.params,
            phase: row.summary.phase,
            created_at: row.summary.created_at,
            deadline_at: row.summary.deadline_at,
            epoch: row.epoch,
            memory: row.memory,
            events,
            seq,
            orphaned,
            control,
            signal,
            unreadable: None,
        })
    }
}
