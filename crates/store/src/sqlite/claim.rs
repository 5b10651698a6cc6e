//! Taking what is due, fairly, and freeing what no node runs any more.

use std::time::Duration;

use engine::store::{Claims, StoreError};
use engine::{Body, Event, NodeId, OperationId, Timestamp, Turn};
use rusqlite::{Connection, params};
use tracing::error;
use uuid::Uuid;

use super::apply::{all, append, execute, one, uuid};
use super::reader::event_row;
use super::statements as sql;
use super::writer::Transaction;
use crate::fair::{self, PROBES_MAX, Probe, Turns};
use crate::rows::{self, ClaimedRow, RowError, SignalText};

/// Only one process has the file, so what other nodes own belongs to processes that are gone.
pub(super) fn join(transaction: &Transaction<'_>, node: NodeId, lease: Duration) -> Result<(), StoreError> {
    let id = node.0.as_bytes();
    execute(transaction.db, sql::JOIN, params![id, rows::lease_micros(lease)])?;
    execute(transaction.db, sql::FORGET_OTHERS, [id])?;
    if execute(transaction.db, sql::FREE_OTHERS, [id])? > 0 {
        transaction.ring();
    }
    Ok(())
}

pub(super) fn leave(transaction: &Transaction<'_>, node: NodeId) -> Result<(), StoreError> {
    execute(transaction.db, sql::FORGET, [node.0.as_bytes()])?;
    execute(transaction.db, sql::FREE, [node.0.as_bytes()])?;
    transaction.ring();
    Ok(())
}

pub(super) fn release(
    transaction: &Transaction<'_>,
    node: NodeId,
    ids: &[OperationId],
) -> Result<(), StoreError> {
    for id in ids {
        execute(transaction.db, sql::RELEASE, params![node.0.as_bytes(), id.0.as_bytes()])?;
    }
    transaction.ring();
    Ok(())
}

/// Renews the lease of a node and brings the control requests for its operations.
pub(super) fn renew(
    db: &Connection,
    node: NodeId,
    lease: Duration,
) -> Result<Vec<(Uuid, String, i64)>, StoreError> {
    let id = node.0.as_bytes();
    if execute(db, sql::RENEW, params![id, rows::lease_micros(lease)])? == 0 {
        return Err(StoreError::Fenced);
    }
    all(db, sql::CONTROLS, [id], |row| Ok((uuid(row, 0)?, row.get(1)?, row.get(2)?)))
}

fn is_known(db: &Connection, node: NodeId) -> Result<bool, StoreError> {
    Ok(one(db, sql::IS_KNOWN, [node.0.as_bytes()], |row| row.get(0))?.unwrap_or_default())
}

pub(super) fn claim(
    transaction: &Transaction<'_>,
    turns: &mut Turns,
    node: NodeId,
    now: Timestamp,
    limit: usize,
) -> Result<Claims, StoreError> {
    let db = transaction.db;
    if !is_known(db, node)? {
        return Err(StoreError::Fenced);
    }
    let mut due = due(db, now, limit.saturating_add(1))?;
    if due.len() > limit {
        due = fairly(db, turns, now, limit)?;
    }
    let mut operations = Vec::with_capacity(due.len());
    for id in due {
        match take(db, OperationId(id), node, now)?.read() {
            Ok(claimed) => operations.push(claimed),
            Err(RowError { id, reason }) => {
                error!(operation.id = %id, "operation {id} is stuck: {reason}");
                execute(db, sql::SUSPEND_UNREADABLE, params![id.as_bytes(), reason])?;
            }
        }
    }
    let next_due: Option<Option<i64>> = one(db, sql::NEXT_DUE, [], |row| row.get(0))?;
    Ok(Claims { operations, next_due: next_due.flatten().map(Timestamp) })
}

fn due(db: &Connection, now: Timestamp, limit: usize) -> Result<Vec<Uuid>, StoreError> {
    all(db, sql::DUE, params![now.0, rows::rows(limit)], |row| uuid(row, 0))
}

/// As many as the limit allows: a share for each tenant, and what is left over by age.
fn fairly(db: &Connection, turns: &mut Turns, now: Timestamp, limit: usize) -> Result<Vec<Uuid>, StoreError> {
    let onward = probe(db, turns.start(), now, PROBES_MAX)?;
    let anew = probe(db, "", now, PROBES_MAX - onward.len())?;
    let tenants = turns.in_turn(onward, anew);
    let share = fair::share(limit, tenants.len());
    let mut chosen = Vec::with_capacity(limit);
    for tenant in tenants {
        let some = share.min(limit - chosen.len());
        if some == 0 {
            break;
        }
        let params = params![tenant, now.0, rows::rows(some)];
        chosen.extend(all(db, sql::DUE_OF_TENANT, params, |row| uuid(row, 0))?);
        turns.served(tenant);
    }
    if chosen.len() < limit {
        let oldest = due(db, now, limit + chosen.len())?;
        let rest: Vec<Uuid> = oldest.into_iter().filter(|id| !chosen.contains(id)).collect();
        chosen.extend(rest.into_iter().take(limit - chosen.len()));
    }
    Ok(chosen)
}

/// Looks at one tenant after the other, each with one step in the index, however much it has.
fn probe(db: &Connection, start: &str, now: Timestamp, most: usize) -> Result<Vec<Probe>, StoreError> {
    let mut probes: Vec<Probe> = Vec::new();
    while probes.len() < most {
        let (statement, from) = match probes.last() {
            Some(last) => (sql::TENANT_AFTER, last.tenant.as_str()),
            None => (sql::TENANT_FROM, start),
        };
        let found = one(db, statement, [from], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))?;
        let Some((tenant, due_at)) = found else { break };
        probes.push(Probe { tenant, due: due_at <= now.0 });
    }
    Ok(probes)
}

fn take(db: &Connection, id: OperationId, node: NodeId, now: Timestamp) -> Result<ClaimedRow, StoreError> {
    let key = id.0.as_bytes();
    let found = one(db, sql::FOUND, [key], |row| {
        let signal = match row.get(14)? {
            Some(payload) => Some(SignalText { key: row.get(13)?, payload, number: row.get(15)? }),
            None => None,
        };
        Ok(ClaimedRow {
            id: id.0,
            workflow: row.get(0)?,
            tenant: row.get(1)?,
            resource: row.get(2)?,
            params: row.get(3)?,
            phase: row.get(4)?,
            created_at: row.get(5)?,
            deadline_at: row.get(6)?,
            epoch: row.get(7)?,
            memory: row.get(8)?,
            memory_seq: row.get(9)?,
            orphaned: row.get(10)?,
            control: row.get(11)?,
            control_number: row.get(12)?,
            signal,
            events: Vec::new(),
        })
    })?;
    let mut row = found.ok_or_else(|| StoreError::Refused(format!("operation {id} is gone")))?;
    if row.orphaned {
        let last: u32 = one(db, sql::LAST_SEQ, [key], |row| row.get(0))?.unwrap_or_default();
        let adopted = Event { seq: last + 1, at: now, body: Body::Adopted { node } };
        append(db, id, &adopted, &adopted.body.to_text())?;
    }
    if let Ok(phase) = rows::phase(&row.phase) {
        phase.after(Turn::Claimed).unwrap_or(phase).as_str().clone_into(&mut row.phase);
    }
    row.epoch += 1;
    execute(db, sql::TAKE, params![key, node.0.as_bytes(), row.phase])?;
    row.events = all(db, sql::JOURNAL, params![key, row.memory_seq, i64::MAX], event_row)?;
    Ok(row)
}
