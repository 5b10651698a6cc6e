//! What writes do to the records of resources.

use engine::store::{Expect, Receipt, RecordUpdate, ResourceWrite, StoreError, Touch};
use engine::{OperationId, Phase, Timestamp};
use rusqlite::{Connection, params};

use super::apply::{all, execute, one};
use super::statements as sql;
use crate::PRUNE_MAX;

pub(super) fn fits(db: &Connection, write: &ResourceWrite) -> Result<bool, StoreError> {
    write.check()?;
    let version: Option<i64> = one(db, sql::VERSION, [&write.name], |row| row.get(0))?;
    Ok(match write.expect {
        Expect::Absent => version.is_none(),
        Expect::Version(expected) => version == Some(expected),
    })
}

pub(super) fn write_alone(db: &Connection, new: &ResourceWrite) -> Result<Receipt, StoreError> {
    if !fits(db, new)? {
        return Ok(Receipt::Changed);
    }
    write(db, new, None)?;
    Ok(Receipt::Saved)
}

/// Writes what fits, with the operation that it was accepted for and its workflow.
pub(super) fn write(
    db: &Connection,
    write: &ResourceWrite,
    operation: Option<(OperationId, &str)>,
) -> Result<(), StoreError> {
    let id = operation.as_ref().map(|(id, _)| id.0.as_bytes());
    let workflow = operation.map(|(_, workflow)| workflow);
    let record_update = write.record_update.as_ref();
    let kind = record_update.map(|record_update| &record_update.kind);
    let record = record_update.map(|record_update| &record_update.record);
    let gone_at = record_update.and_then(|record_update| record_update.gone_at).map(|at| at.0);
    let due_at = record_update.and_then(|record_update| record_update.due_at).map(|at| at.0);
    let (name, tenant, at) = (&write.name, &write.tenant, write.at.0);
    if write.expect == Expect::Absent {
        let new = params![name, tenant, kind, record, gone_at, due_at, id, workflow, at];
        execute(db, sql::ADD_RESOURCE, new)?;
    } else {
        let change = params![name, kind, record, gone_at, due_at, id, workflow, at];
        execute(db, sql::CHANGE_RESOURCE, change)?;
    }
    record_update.map_or(Ok(()), |record_update| label(db, name, record_update))
}

/// What is not there is not touched.
pub(super) fn touch(db: &Connection, touch: &Touch<'_>) -> Result<(), StoreError> {
    let record_update = touch.record_update;
    let change = params![
        touch.name,
        touch.operation.0.as_bytes(),
        record_update.map(|record_update| &record_update.kind),
        record_update.map(|record_update| &record_update.record),
        record_update.and_then(|record_update| record_update.gone_at).map(|at| at.0),
        record_update.and_then(|record_update| record_update.due_at).map(|at| at.0),
        touch.settles.map(Phase::as_str),
        touch.at.0,
    ];
    let is_there = execute(db, sql::TOUCH, change)? > 0;
    match record_update.filter(|_| is_there) {
        Some(record_update) => label(db, touch.name, record_update),
        None => Ok(()),
    }
}

/// Labels change rarely, so they are compared before they are written.
fn label(db: &Connection, name: &str, record_update: &RecordUpdate) -> Result<(), StoreError> {
    let Some(number) = one(db, sql::NUMBER, [name], |row| row.get::<_, i64>(0))? else { return Ok(()) };
    let mut before: Vec<(String, bool, String, String)> =
        all(db, sql::LABELS, [number], |row| row.try_into())?;
    let (kind, gone) = (&record_update.kind, record_update.gone_at.is_some());
    let labels = record_update.labels.iter();
    let mut after: Vec<_> =
        labels.map(|(key, value)| (kind.clone(), gone, key.clone(), value.clone())).collect();
    before.sort();
    after.sort();
    after.dedup();
    if before == after {
        return Ok(());
    }
    execute(db, sql::UNLABEL, [number])?;
    for (kind, gone, key, value) in after {
        execute(db, sql::LABEL, params![kind, gone, key, value, number])?;
    }
    Ok(())
}

pub(super) fn prune(db: &Connection, before: Timestamp) -> Result<(), StoreError> {
    let old = all(db, sql::OLD_RESOURCES, params![before.0, PRUNE_MAX], |row| row.get::<_, i64>(0))?;
    for number in old {
        execute(db, sql::UNLABEL, [number])?;
        execute(db, sql::PRUNE_RESOURCE, [number])?;
    }
    Ok(())
}
