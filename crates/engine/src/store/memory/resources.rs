//! The records of resources, in memory.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Timestamp;
use crate::ids::OperationId;
use crate::phase::Phase;
use crate::store::{
    Expect, LabelQuery, RecordUpdate, ResourcePage, ResourceQuery, ResourceRow, ResourceWrite, RowKey,
    SealedColumn, SealedRow, StoreError, Touch,
};

#[derive(Default)]
pub(super) struct Resources {
    by_name: BTreeMap<String, StoredResource>,
    /// How many were ever made.
    made: i64,
}

struct StoredResource {
    row: ResourceRow,
    labels: Vec<(String, String)>,
}

impl StoredResource {
    fn wear(&mut self, record_update: &RecordUpdate) {
        self.row.kind.clone_from(&record_update.kind);
        self.row.record.clone_from(&record_update.record);
        self.row.gone_at = record_update.gone_at;
        self.row.due_at = record_update.due_at;
        self.labels.clone_from(&record_update.labels);
    }

    fn touched(&mut self, at: Timestamp) {
        self.row.version += 1;
        self.row.updated_at = at;
    }
}

impl Resources {
    pub(super) fn fits(&self, write: &ResourceWrite) -> Result<bool, StoreError> {
        write.check()?;
        let version = self.by_name.get(&write.name).map(|kept| kept.row.version);
        Ok(match write.expect {
            Expect::Absent => version.is_none(),
            Expect::Version(expected) => version == Some(expected),
        })
    }

    /// Every record, for those who look for sealed values.
    pub(super) fn texts(&self) -> Vec<SealedRow> {
        let text = |kept: &StoredResource| SealedRow {
            column: SealedColumn::Record,
            key: RowKey::Resource(kept.row.name.clone()),
            tenant: kept.row.tenant.clone(),
            resource: Some(kept.row.name.clone()),
            workflow: String::new(),
            text: kept.row.record.clone(),
        };
        self.by_name.values().map(text).collect()
    }

    /// Another version of the record, so that a writer that read it before reads it again.
    pub(super) fn reseal(&mut self, name: &str, record: &str) {
        if let Some(kept) = self.by_name.get_mut(name) {
            record.clone_into(&mut kept.row.record);
            kept.row.version += 1;
        }
    }

    /// Writes what fits, with the operation that it was accepted for.
    pub(super) fn write(&mut self, write: &ResourceWrite, operation: Option<(OperationId, &str)>) {
        let kept = match (self.by_name.get_mut(&write.name), &write.record_update) {
            (Some(kept), Some(record_update)) => {
                kept.wear(record_update);
                kept.touched(write.at);
                kept
            }
            (Some(kept), None) => {
                let at = if operation.is_some() { write.at } else { kept.row.updated_at };
                kept.touched(at);
                kept
            }
            (None, record_update) => {
                let Some(record_update) = record_update else { return };
                self.made += 1;
                let row = ResourceRow {
                    number: self.made,
                    name: write.name.clone(),
                    kind: record_update.kind.clone(),
                    tenant: write.tenant.clone(),
                    version: 1,
                    record: record_update.record.clone(),
                    operation: None,
                    workflow: None,
                    phase: None,
                    created_at: write.at,
                    updated_at: write.at,
                    gone_at: record_update.gone_at,
                    due_at: record_update.due_at,
                };
                let labels = record_update.labels.clone();
                self.by_name.entry(write.name.clone()).or_insert(StoredResource { row, labels })
            }
        };
        if let Some((id, workflow)) = operation {
            kept.row.operation = Some(id);
            kept.row.workflow = Some(workflow.to_owned());
            kept.row.phase = Some(Phase::Running);
        }
    }

    pub(super) fn touch(&mut self, touch: &Touch<'_>) {
        let Some(kept) = self.by_name.get_mut(touch.name) else { return };
        let settles = touch.settles.filter(|_| kept.row.operation == Some(touch.operation));
        if let Some(record_update) = touch.record_update {
            kept.wear(record_update);
        }
        kept.row.phase = settles.or(kept.row.phase);
        if touch.record_update.is_some() || settles.is_some() {
            kept.touched(touch.at);
        }
    }

    pub(super) fn revive(&mut self, name: &str, id: OperationId, workflow: &str, at: Timestamp) {
        let there = self.by_name.get_mut(name).filter(|kept| kept.row.gone_at.is_none());
        if let Some(kept) = there {
            kept.row.operation = Some(id);
            kept.row.workflow = Some(workflow.to_owned());
            kept.row.phase = Some(Phase::Running);
            kept.touched(at);
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<ResourceRow> {
        self.by_name.get(name).map(|kept| kept.row.clone())
    }

    pub(super) fn label_counts(&self, query: &LabelQuery) -> BTreeMap<String, u64> {
        let is_wanted = |kept: &&StoredResource| {
            kept.row.kind == query.kind && (query.also_gone || kept.row.gone_at.is_none())
        };
        let mut counts = BTreeMap::new();
        for kept in self.by_name.values().filter(is_wanted) {
            let has = |value: &String| kept.labels.iter().any(|(key, of)| *key == query.key && of == value);
            let values: BTreeSet<&String> = query.values.iter().filter(|value| has(value)).collect();
            for value in values {
                *counts.entry(value.clone()).or_default() += 1;
            }
        }
        counts
    }

    pub(super) fn page(&self, query: &ResourceQuery) -> ResourcePage {
        let mut wanted: Vec<&ResourceRow> =
            self.by_name.values().filter(|kept| is_wanted(kept, query)).map(|kept| &kept.row).collect();
        wanted.sort_by_key(|row| (row.due_at.filter(|_| query.due_by.is_some()), row.number));
        if query.newest_first {
            wanted.reverse();
        }
        let total = query.counts.then_some(wanted.len() as u64);
        let is_after =
            |number: i64, last: i64| if query.newest_first { number < last } else { number > last };
        let rest = wanted.into_iter().filter(|row| query.after.is_none_or(|last| is_after(row.number, last)));
        ResourcePage { rows: rest.skip(query.offset).take(query.limit).cloned().collect(), total }
    }

    pub(super) fn prune(&mut self, before: Timestamp) {
        self.by_name.retain(|_, kept| kept.row.gone_at.is_none_or(|at| at >= before));
    }
}

fn is_wanted(kept: &StoredResource, query: &ResourceQuery) -> bool {
    let row = &kept.row;
    let has_label = |(key, values): &(String, Vec<String>)| {
        kept.labels.iter().any(|(of, value)| of == key && values.contains(value))
    };
    let is_state = |(workflow, phases): &(String, Vec<Phase>)| {
        row.workflow.as_ref() == Some(workflow) && row.phase.is_some_and(|phase| phases.contains(&phase))
    };
    row.kind == query.kind
        && query.tenant.as_ref().is_none_or(|tenant| *tenant == row.tenant)
        && (query.names.is_empty() || query.names.contains(&row.name))
        && query.labels.iter().all(has_label)
        && (query.states.is_empty() || query.states.iter().any(is_state))
        && (query.also_gone || row.gone_at.is_none())
        && query.due_by.is_none_or(|by| row.due_at.is_some_and(|due_at| due_at <= by))
}
