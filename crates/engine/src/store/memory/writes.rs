//! The writes of an operation: created, appended to, parked, finished.

use super::{MemoryRow, QUEUED, Tables};
use crate::clock::Timestamp;
use crate::phase::Phase;
use crate::store::{Append, Create, Finish, Park, Receipt, ResourceWrite, StoreError, Summary};

impl Tables {
    pub(super) fn create(&mut self, create: &Create) -> Result<Receipt, StoreError> {
        if let Some(same) = &create.idempotency {
            let found = self.idempotency.get(&(same.scope.clone(), same.key.clone()));
            match found {
                Some((id, digest)) if *digest == same.digest => return Ok(Receipt::Repeated(*id)),
                Some(_) => return Ok(Receipt::KeyReused),
                None => {}
            }
        }
        for write in [&create.subject, &create.beside].into_iter().flatten() {
            if !self.resources.fits(write)? {
                return Ok(Receipt::Changed);
            }
        }
        let holder = self.holder(create.resource.as_deref());
        if let (Some(holder), false) = (holder, create.queue) {
            return Ok(Receipt::Busy(holder));
        }
        self.append(create.id, &create.event)?;
        if let Some(same) = &create.idempotency {
            let key = (same.scope.clone(), same.key.clone());
            self.idempotency.insert(key, (create.id, same.digest.clone()));
        }
        if let Some((other, control)) = &create.supersedes {
            self.control(*other, control.clone());
        }
        if let Some(write) = &create.subject {
            self.resources.write(write, Some((create.id, &create.workflow)));
        }
        if let Some(write) = &create.beside {
            self.resources.write(write, None);
        }
        let queued = holder.is_some();
        let owner = if queued { None } else { create.owner };
        let due_at = if queued || owner.is_some() { None } else { Some(create.created_at) };
        let summary = Summary {
            name: create.name.clone(),
            id: create.id,
            workflow: create.workflow.clone(),
            tenant: create.tenant.clone(),
            resource: create.resource.clone(),
            phase: if owner.is_some() { Phase::Running } else { Phase::Pending },
            step: None,
            reason: queued.then(|| QUEUED.to_owned()),
            due_at,
            created_at: create.created_at,
            deadline_at: create.deadline_at,
            finished_at: None,
            owner,
            control: None,
        };
        self.last_number += i64::from(queued);
        let row = MemoryRow {
            summary,
            params: create.params.clone(),
            epoch: 1,
            queued,
            queue_number: self.last_number,
            orphaned: false,
            key: None,
            control_number: 0,
            memory: None,
            memory_seq: 0,
        };
        self.operations.insert(create.id, row);
        Ok(Receipt::Saved)
    }

    pub(super) fn write_resource(&mut self, write: &ResourceWrite) -> Result<Receipt, StoreError> {
        if !self.resources.fits(write)? {
            return Ok(Receipt::Changed);
        }
        self.resources.write(write, None);
        Ok(Receipt::Saved)
    }

    pub(super) fn append_alone(&mut self, append: &Append) -> Result<Receipt, StoreError> {
        self.append(append.id, &append.event)?;
        if let Some(row) = self.operations.get_mut(&append.id) {
            row.summary.phase = append.phase.unwrap_or(row.summary.phase);
            row.summary
                .control
                .take_if(|_| append.processed.is_some_and(|processed| row.control_number <= processed));
        }
        if let Some(taken) = &append.consumes
            && self.signals.get(&taken.key).is_some_and(|signal| signal.number == taken.number)
        {
            self.signals.remove(&taken.key);
        }
        Ok(Receipt::Saved)
    }

    pub(super) fn park(&mut self, park: &Park) -> Result<Receipt, StoreError> {
        if let Some(event) = &park.event {
            self.append(park.hold.id, event)?;
        }
        let signal = park.key.as_ref().and_then(|key| self.signals.get(key)).map(|signal| signal.at);
        let row = self.held(park.hold).ok_or(StoreError::Fenced)?;
        let control = row.summary.control.take().filter(|_| row.control_number > park.processed);
        let hurry = control.as_ref().map(|control| control.at).or(signal);
        let rings = hurry.is_some();
        let hurry = hurry.map(|at| park.not_before.map_or(at, |not_before| at.max(not_before)));
        row.summary.owner = None;
        row.summary.phase = park.phase;
        row.summary.due_at = hurry.or(park.due_at);
        row.summary.step.clone_from(&park.step);
        row.summary.reason.clone_from(&park.reason);
        row.summary.control = control;
        row.key.clone_from(&park.key);
        if let Some((memory, seq)) = &park.memory {
            row.memory = Some(memory.clone());
            row.memory_seq = *seq;
        }
        self.rings |= rings;
        Ok(Receipt::Saved)
    }

    pub(super) fn finish(&mut self, finish: &Finish) -> Result<Receipt, StoreError> {
        if let Some(event) = &finish.event {
            self.append(finish.hold.id, event)?;
        }
        self.held(finish.hold).ok_or(StoreError::Fenced)?;
        let Some(mut row) = self.operations.remove(&finish.hold.id) else { return Err(StoreError::Fenced) };
        row.summary.phase = finish.phase;
        row.summary.finished_at = Some(finish.at);
        row.summary.due_at = None;
        row.summary.owner = None;
        row.summary.step = None;
        row.summary.reason.clone_from(&finish.cause);
        row.summary.control = None;
        row.key = None;
        row.memory = Some(finish.memory.clone());
        row.memory_seq = finish.seq;
        let resource = row.summary.resource.clone();
        self.archive.insert(finish.hold.id, row);
        self.promote(resource.as_deref(), finish.at);
        Ok(Receipt::Saved)
    }

    /// The resource is free: the operation that has queued for it longest gets it.
    fn promote(&mut self, resource: Option<&str>, now: Timestamp) {
        let next = self
            .operations
            .values_mut()
            .filter(|row| row.queued && row.summary.resource.as_deref() == resource && resource.is_some())
            .min_by_key(|row| row.queue_number);
        if let Some(row) = next {
            row.queued = false;
            row.summary.reason = None;
            row.summary.due_at = Some(now);
        }
    }
}
