//! What a batch writes, as arrays: one for each column.

use engine::store::{Append, Create, Finish, Park, RecordUpdate, StoreError, TakenSignal, Touch};
use engine::{AuditRow, Phase};
use uuid::Uuid;

use super::connection::Param;
use crate::draft::Draft;
use crate::rows::signed;

/// Events of operations that exist.
#[derive(Default)]
pub(super) struct Journal<'a> {
    pub(super) ids: Vec<Uuid>,
    pub(super) seqs: Vec<i32>,
    pub(super) ats: Vec<i64>,
    pub(super) bodies: Vec<&'a str>,
}

impl<'a> Journal<'a> {
    pub(super) fn add(&mut self, id: Uuid, draft: &'a Draft) -> Result<(), StoreError> {
        let Some(event) = draft.event() else { return Ok(()) };
        self.ids.push(id);
        self.seqs.push(signed(event.seq)?);
        self.ats.push(event.at.0);
        self.bodies.push(&draft.body);
        Ok(())
    }

    pub(super) fn params(&self) -> [Param<'_>; 4] {
        [&self.ids, &self.seqs, &self.ats, &self.bodies]
    }
}

#[derive(Default)]
pub(super) struct Creates<'a> {
    pub(super) ids: Vec<Uuid>,
    pub(super) workflows: Vec<&'a str>,
    pub(super) tenants: Vec<&'a str>,
    pub(super) resources: Vec<Option<&'a str>>,
    pub(super) params: Vec<&'a str>,
    pub(super) created_ats: Vec<i64>,
    pub(super) deadline_ats: Vec<i64>,
    pub(super) owners: Vec<Option<Uuid>>,
    pub(super) seqs: Vec<i32>,
    pub(super) ats: Vec<i64>,
    pub(super) bodies: Vec<&'a str>,
    pub(super) scopes: Vec<Option<&'a str>>,
    pub(super) keys: Vec<Option<&'a str>>,
    pub(super) digests: Vec<Option<&'a str>>,
    pub(super) names: Vec<Option<&'a str>>,
}

impl<'a> Creates<'a> {
    pub(super) fn add(&mut self, create: &'a Create, draft: &'a Draft) -> Result<(), StoreError> {
        self.seqs.push(signed(create.event.seq)?);
        self.ids.push(create.id.0);
        self.workflows.push(&create.workflow);
        self.tenants.push(&create.tenant);
        self.resources.push(create.resource.as_deref());
        self.params.push(&create.params);
        self.created_ats.push(create.created_at.0);
        self.deadline_ats.push(create.deadline_at.0);
        self.owners.push(create.owner.map(|node| node.0));
        self.ats.push(create.event.at.0);
        self.bodies.push(&draft.body);
        let same = create.idempotency.as_ref();
        self.scopes.push(same.map(|same| same.scope.as_str()));
        self.keys.push(same.map(|same| same.key.as_str()));
        self.digests.push(same.map(|same| same.digest.as_str()));
        self.names.push(create.name.as_deref());
        Ok(())
    }

    /// Whether one of them may take its key and then not get its resource.
    pub(super) fn may_waste_keys(&self) -> bool {
        self.keys.iter().zip(&self.resources).any(|(key, resource)| key.is_some() && resource.is_some())
    }

    pub(super) fn params(&self) -> [Param<'_>; 15] {
        [
            &self.ids,
            &self.workflows,
            &self.tenants,
            &self.resources,
            &self.params,
            &self.created_ats,
            &self.deadline_ats,
            &self.owners,
            &self.seqs,
            &self.ats,
            &self.bodies,
            &self.scopes,
            &self.keys,
            &self.digests,
            &self.names,
        ]
    }
}

/// Phases that change, and control requests that are dealt with, while an operation runs.
#[derive(Default)]
pub(super) struct Phases<'a> {
    pub(super) ids: Vec<Uuid>,
    pub(super) phases: Vec<Option<&'a str>>,
    pub(super) processed: Vec<Option<i64>>,
}

impl Phases<'_> {
    pub(super) fn add(&mut self, append: &Append) {
        if append.phase.is_none() && append.processed.is_none() {
            return;
        }
        self.ids.push(append.id.0);
        self.phases.push(append.phase.map(Phase::as_str));
        self.processed.push(append.processed);
    }

    pub(super) fn params(&self) -> [Param<'_>; 3] {
        [&self.ids, &self.phases, &self.processed]
    }
}

/// Signals that events take over.
#[derive(Default)]
pub(super) struct Consumed<'a> {
    pub(super) keys: Vec<&'a str>,
    pub(super) numbers: Vec<i64>,
}

impl<'a> Consumed<'a> {
    pub(super) fn extend(&mut self, taken: Option<&'a TakenSignal>) {
        self.keys.extend(taken.map(|taken| taken.key.as_str()));
        self.numbers.extend(taken.map(|taken| taken.number));
    }

    pub(super) fn params(&self) -> [Param<'_>; 2] {
        [&self.keys, &self.numbers]
    }
}

#[derive(Default)]
pub(super) struct Parks<'a> {
    pub(super) ids: Vec<Uuid>,
    pub(super) nodes: Vec<Uuid>,
    pub(super) epochs: Vec<i64>,
    pub(super) phases: Vec<&'a str>,
    pub(super) processed: Vec<i64>,
    pub(super) keys: Vec<Option<&'a str>>,
    pub(super) due_ats: Vec<Option<i64>>,
    pub(super) steps: Vec<Option<&'a str>>,
    pub(super) reasons: Vec<Option<&'a str>>,
    pub(super) memories: Vec<Option<&'a str>>,
    pub(super) memory_seqs: Vec<Option<i32>>,
    pub(super) not_befores: Vec<Option<i64>>,
}

impl<'a> Parks<'a> {
    pub(super) fn add(&mut self, park: &'a Park) -> Result<(), StoreError> {
        let memory = park.memory.as_ref();
        self.memory_seqs.push(memory.map(|(_, seq)| signed(*seq)).transpose()?);
        self.memories.push(memory.map(|(memory, _)| memory.as_str()));
        self.ids.push(park.hold.id.0);
        self.nodes.push(park.hold.node.0);
        self.epochs.push(park.hold.epoch);
        self.phases.push(park.phase.as_str());
        self.processed.push(park.processed);
        self.not_befores.push(park.not_before.map(|at| at.0));
        self.keys.push(park.key.as_deref());
        self.due_ats.push(park.due_at.map(|at| at.0));
        self.steps.push(park.step.as_deref());
        self.reasons.push(park.reason.as_deref());
        Ok(())
    }

    pub(super) fn params(&self) -> [Param<'_>; 12] {
        [
            &self.ids,
            &self.nodes,
            &self.epochs,
            &self.phases,
            &self.processed,
            &self.keys,
            &self.due_ats,
            &self.steps,
            &self.reasons,
            &self.memories,
            &self.memory_seqs,
            &self.not_befores,
        ]
    }
}

#[derive(Default)]
pub(super) struct Finishes<'a> {
    pub(super) ids: Vec<Uuid>,
    pub(super) nodes: Vec<Uuid>,
    pub(super) epochs: Vec<i64>,
    pub(super) phases: Vec<&'a str>,
    pub(super) ats: Vec<i64>,
    pub(super) causes: Vec<Option<&'a str>>,
    pub(super) memories: Vec<&'a str>,
    pub(super) seqs: Vec<i32>,
    pub(super) event_seqs: Vec<Option<i32>>,
    pub(super) event_ats: Vec<Option<i64>>,
    pub(super) bodies: Vec<&'a str>,
}

impl<'a> Finishes<'a> {
    pub(super) fn add(&mut self, finish: &'a Finish, draft: &'a Draft) -> Result<(), StoreError> {
        let event = finish.event.as_ref();
        self.event_seqs.push(event.map(|event| signed(event.seq)).transpose()?);
        self.event_ats.push(event.map(|event| event.at.0));
        self.bodies.push(&draft.body);
        self.seqs.push(signed(finish.seq)?);
        self.ids.push(finish.hold.id.0);
        self.nodes.push(finish.hold.node.0);
        self.epochs.push(finish.hold.epoch);
        self.phases.push(finish.phase.as_str());
        self.ats.push(finish.at.0);
        self.causes.push(finish.cause.as_deref());
        self.memories.push(&finish.memory);
        Ok(())
    }

    pub(super) fn events(&self) -> [Param<'_>; 3] {
        [&self.event_seqs, &self.event_ats, &self.bodies]
    }

    pub(super) fn params(&self) -> [Param<'_>; 8] {
        [
            &self.ids,
            &self.nodes,
            &self.epochs,
            &self.phases,
            &self.ats,
            &self.causes,
            &self.memories,
            &self.seqs,
        ]
    }
}

/// What writes do to the records of their resources.
#[derive(Default)]
pub(super) struct Touches<'a> {
    pub(super) names: Vec<&'a str>,
    pub(super) ids: Vec<Uuid>,
    pub(super) nodes: Vec<Option<Uuid>>,
    pub(super) epochs: Vec<Option<i64>>,
    pub(super) kinds: Vec<Option<&'a str>>,
    pub(super) records: Vec<Option<&'a str>>,
    pub(super) gone_ats: Vec<Option<i64>>,
    pub(super) due_ats: Vec<Option<i64>>,
    pub(super) phases: Vec<Option<&'a str>>,
    pub(super) ats: Vec<i64>,
    pub(super) labels: Vec<Option<String>>,
}

impl<'a> Touches<'a> {
    pub(super) fn add(&mut self, touch: Touch<'a>) {
        let record_update = touch.record_update;
        self.names.push(touch.name);
        self.ids.push(touch.operation.0);
        self.nodes.push(touch.hold.map(|hold| hold.node.0));
        self.epochs.push(touch.hold.map(|hold| hold.epoch));
        self.kinds.push(record_update.map(|record_update| record_update.kind.as_str()));
        self.records.push(record_update.map(|record_update| record_update.record.as_str()));
        self.gone_ats.push(record_update.and_then(|record_update| record_update.gone_at).map(|at| at.0));
        self.due_ats.push(record_update.and_then(|record_update| record_update.due_at).map(|at| at.0));
        self.phases.push(touch.settles.map(Phase::as_str));
        self.ats.push(touch.at.0);
        self.labels.push(record_update.map(labels_text));
    }

    pub(super) fn params(&self) -> [Param<'_>; 11] {
        [
            &self.names,
            &self.ids,
            &self.nodes,
            &self.epochs,
            &self.kinds,
            &self.records,
            &self.gone_ats,
            &self.due_ats,
            &self.phases,
            &self.ats,
            &self.labels,
        ]
    }
}

/// Pairs of key and value as JSON: the labels of one resource are one value of a column.
pub(super) fn labels_text(record_update: &RecordUpdate) -> String {
    serde_json::json!(record_update.labels).to_string()
}

#[derive(Default)]
pub(super) struct Audits<'a> {
    pub(super) ats: Vec<i64>,
    pub(super) whos: Vec<&'a str>,
    pub(super) actions: Vec<&'a str>,
    pub(super) targets: Vec<&'a str>,
    pub(super) results: Vec<&'a str>,
    pub(super) requests: Vec<&'a str>,
}

impl<'a> Audits<'a> {
    pub(super) fn add(&mut self, row: &'a AuditRow) {
        self.ats.push(row.at.0);
        self.whos.push(&row.who);
        self.actions.push(&row.action);
        self.targets.push(&row.target);
        self.results.push(&row.result);
        self.requests.push(&row.request);
    }

    pub(super) fn params(&self) -> [Param<'_>; 6] {
        [&self.ats, &self.whos, &self.actions, &self.targets, &self.results, &self.requests]
    }
}
