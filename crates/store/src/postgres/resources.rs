//! What careful writes do to the records of resources.

use std::collections::HashMap;

use engine::OperationId;
use engine::store::{Expect, Receipt, ResourceWrite, Touch, Write};
use tokio_postgres::Error;

use super::columns::{Touches, labels_text};
use super::connection::{Param, SessionOptions};
use super::failure::TransactionFailure;
use super::resource_statements as sql;
use crate::draft::Draft;

/// Locks every record that these writes look at or make, before anything else is locked.
pub(super) async fn lock(session: &SessionOptions, drafts: &[&Draft]) -> Result<(), TransactionFailure> {
    let mut names: Vec<&str> = Vec::new();
    for draft in drafts {
        match &draft.write {
            Write::Create(create) => {
                names.extend(
                    [&create.subject, &create.beside].into_iter().flatten().map(|write| &*write.name),
                );
            }
            Write::Resource(write) => names.push(&write.name),
            _ => {}
        }
    }
    if !names.is_empty() {
        session.query(sql::LOCK_NAMES, &[&names]).await?;
        session.query(sql::LOCK_RESOURCES, &[&names]).await?;
    }
    Ok(())
}

/// Of an operation whose name is known only now.
pub(super) async fn lock_one(session: &SessionOptions, name: &str) -> Result<(), TransactionFailure> {
    session.query(sql::LOCK_RESOURCES, &[&vec![name]]).await?;
    Ok(())
}

pub(super) async fn fit<'a>(
    session: &SessionOptions,
    writes: impl Iterator<Item = &'a ResourceWrite> + Clone,
) -> Result<bool, TransactionFailure> {
    let names: Vec<&str> = writes.clone().map(|write| write.name.as_str()).collect();
    if names.is_empty() {
        return Ok(true);
    }
    let found = session.query(sql::VERSIONS, &[&names]).await?;
    let versions: HashMap<&str, i64> = found.iter().map(|row| (row.get(0), row.get(1))).collect();
    let fits = |write: &ResourceWrite| match write.expect {
        Expect::Absent => !versions.contains_key(write.name.as_str()),
        Expect::Version(expected) => versions.get(write.name.as_str()) == Some(&expected),
    };
    let mut all_fit = true;
    for write in writes {
        write.check()?;
        all_fit &= fits(write);
    }
    Ok(all_fit)
}

pub(super) async fn write_alone(
    session: &SessionOptions,
    new: &ResourceWrite,
) -> Result<Receipt, TransactionFailure> {
    if !fit(session, std::iter::once(new)).await? {
        return Ok(Receipt::Changed);
    }
    write(session, new, None).await?;
    Ok(Receipt::Saved)
}

/// Writes what fits, with the operation that it was accepted for and its workflow.
pub(super) async fn write(
    session: &SessionOptions,
    write: &ResourceWrite,
    operation: Option<(OperationId, &str)>,
) -> Result<(), Error> {
    let (id, workflow) = (operation.map(|(id, _)| id.0), operation.map(|(_, workflow)| workflow));
    let record_update = write.record_update.as_ref();
    let kind = record_update.map(|record_update| &record_update.kind);
    let record = record_update.map(|record_update| &record_update.record);
    let gone_at = record_update.and_then(|record_update| record_update.gone_at).map(|at| at.0);
    let due_at = record_update.and_then(|record_update| record_update.due_at).map(|at| at.0);
    let labels = record_update.map(labels_text);
    let (name, tenant, at) = (&write.name, &write.tenant, write.at.0);
    if write.expect == Expect::Absent {
        let new: [Param<'_>; 10] =
            [name, tenant, &kind, &record, &gone_at, &due_at, &id, &workflow, &at, &labels];
        session.execute(sql::ADD_RESOURCE, &new).await?;
    } else {
        let change: [Param<'_>; 9] = [name, &kind, &record, &gone_at, &due_at, &id, &workflow, &at, &labels];
        session.execute(sql::CHANGE_RESOURCE, &change).await?;
    }
    Ok(())
}

pub(super) async fn touch(session: &SessionOptions, touch: Touch<'_>) -> Result<(), TransactionFailure> {
    let mut touches = Touches::default();
    touches.add(touch);
    session.execute(sql::TOUCH, &touches.params()).await?;
    Ok(())
}
