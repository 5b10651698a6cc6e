//! What writes do to the records of resources.

use engine::store::{Expect, Portrait, Receipt, ResourceWrite, StoreError, Touch};
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
    let portrait = write.portrait.as_ref();
    let kind = portrait.map(|portrait| &portrait.kind);
    let record = portrait.map(|portrait| &portrait.record);
    let gone_at = portrait.and_then(|portrait| portrait.gone_at).map(|at| at.0);
    let due_at = portrait.and_then(|portrait| portrait.due_at).map(|at| at.0);
    let (name, tenant, at) = (&write.name, &write.tenant, write.at.0);
    if write.expect == Expect::Absent {
        let new = params![name, tenant, kind, record, gone_at, due_at, id, workflow, at];
        execute(db, sql::ADD_RESOURCE, new)?;
    } else {
        let change = params![name, kind, record, gone_at, due_at, id, workflow, at];
        execute(db, sql::CHANGE_RESOURCE, change)?;
    }
    portrait.map_or(Ok(()), |portrait| label(db, name, portrait))
}

/// What is not there is not touched.
pub(super) fn touch(db: &Connection, touch: &Touch<'_>) -> Result<(), StoreError> {
    let portrait = touch.portrait;
    let change = params![
        touch.name,
        touch.operation.0.as_bytes(),
        portrait.map(|portrait| &portrait.kind),
        portrait.map(|portrait| &portrait.record),
        portrait.and_then(|portrait| portrait.gone_at).map(|at| at.0),
        portrait.and_then(|portrait| portrait.due_at).map(|at| at.0),
        touch.settles.map(Phase::as_str),
        touch.at.0,
    ];
    let is_there = execute(db, sql::TOUCH, change)? > 0;
    match portrait.filter(|_| is_there) {
        Some(portrait) => label(db, touch.name, portrait),
        None => Ok(()),
    }
}

/// Labels change rarely, so they are compared before they are written.
fn label(db: &Connection, name: &str, portrait: &Portrait) -> Result<(), StoreError> {
    let Some(number) = one(db, sql::NUMBER, [name], |row| row.get::<_, i64>(0))? else { return Ok(()) };
    let mut before: Vec<(String, bool, String, String)> =
        all(db, sql::LABELS, [number], |row| row.try_into())?;
    let (kind, gone) = (&portrait.kind, portrait.gone_at.is_some());
    let labels = portrait.labels.iter();
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
