//! What each kind of write does to the tables.

use engine::store::{
    Append, ControlRequest, Create, Finish, Ownership, Park, QUEUED, Receipt, SignalLimit, StoreError, Touch,
    Write,
};
use engine::{Event, OperationId, Phase, Timestamp};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use serde_json::Value;
use uuid::Uuid;

use super::connection::{fault, is_collision};
use super::resources;
use super::statements as sql;
use super::writer::Transaction;
use crate::draft::Draft;
use crate::rows;
use crate::rules::{self, Finished, RequestTarget};

pub(super) fn apply(transaction: &Transaction<'_>, draft: &Draft) -> Result<Receipt, StoreError> {
    let receipt = match &draft.write {
        Write::Create(new) => create(transaction, new, &draft.body),
        Write::Append(new) => append_alone(transaction, new, &draft.body),
        Write::Park(down) => park(transaction, down, &draft.body),
        Write::Finish(end) => finish(transaction, end, &draft.body),
        Write::Wish { id, control: wanted } => control(transaction, *id, wanted),
        Write::Signal { key, payload, at, limit } => signal(transaction, key, payload, *at, limit.as_ref()),
        Write::Resource(write) => resources::write_alone(transaction.db, write),
    }?;
    for touch in draft.write.touches() {
        resources::touch(transaction.db, &touch)?;
    }
    Ok(receipt)
}

/// The number of an event is given once. A second time means that another transaction owns the operation.
pub(super) fn append(db: &Connection, id: OperationId, event: &Event, body: &str) -> Result<(), StoreError> {
    let mut statement = db.prepare_cached(sql::APPEND).map_err(fault)?;
    match statement.execute(params![id.0.as_bytes(), event.seq, event.at.0, body]) {
        Ok(_) => Ok(()),
        Err(error) if is_collision(&error) => Err(StoreError::Fenced),
        Err(error) => Err(fault(error)),
    }
}

pub(super) fn execute(db: &Connection, sql: &str, params: impl Params) -> Result<usize, StoreError> {
    db.prepare_cached(sql).and_then(|mut statement| statement.execute(params)).map_err(fault)
}

/// The only row, or none.
pub(super) fn one<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>, StoreError> {
    let mut statement = db.prepare_cached(sql).map_err(fault)?;
    statement.query_row(params, read).optional().map_err(fault)
}

/// All rows, in order.
pub(super) fn all<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = db.prepare_cached(sql).map_err(fault)?;
    statement.query_map(params, read).and_then(Iterator::collect).map_err(fault)
}

pub(super) fn uuid(row: &Row<'_>, column: usize) -> rusqlite::Result<Uuid> {
    row.get(column).map(Uuid::from_bytes)
}

fn holder(db: &Connection, resource: Option<&str>) -> Result<Option<OperationId>, StoreError> {
    let Some(resource) = resource else { return Ok(None) };
    Ok(one(db, sql::HOLDER, [resource], |row| uuid(row, 0))?.map(OperationId))
}

fn create(transaction: &Transaction<'_>, create: &Create, body: &str) -> Result<Receipt, StoreError> {
    let db = transaction.db;
    if let Some(same) = &create.idempotency {
        let found = one(db, sql::KEY_USED, [&same.scope, &same.key], |row| {
            Ok((OperationId(uuid(row, 0)?), row.get::<_, String>(1)?))
        })?;
        if let Some((operation, digest)) = found {
            return Ok(rules::used_before(same, operation, &digest));
        }
    }
    for write in [&create.subject, &create.beside].into_iter().flatten() {
        if !resources::fits(db, write)? {
            return Ok(Receipt::Changed);
        }
    }
    let holder = holder(db, create.resource.as_deref())?;
    if let (Some(holder), false) = (holder, create.queue) {
        return Ok(Receipt::Busy(holder));
    }
    append(db, create.id, &create.event, body)?;
    let id = create.id.0.as_bytes();
    if let Some(same) = &create.idempotency {
        execute(db, sql::USE_KEY, params![same.scope, same.key, id, same.digest, create.created_at.0])?;
    }
    let queued = holder.is_some();
    let owner = create.owner.filter(|_| !queued);
    let due_at = (!queued && owner.is_none()).then_some(create.created_at.0);
    let phase = if owner.is_some() { Phase::Running } else { Phase::Pending };
    if queued {
        execute(db, sql::NEXT_NUMBER, [])?;
    }
    execute(
        db,
        sql::CREATE,
        params![
            id,
            create.workflow,
            create.tenant,
            create.resource,
            create.params,
            phase.as_str(),
            owner.as_ref().map(|node| node.0.as_bytes()),
            queued,
            due_at,
            create.deadline_at.0,
            create.created_at.0,
            queued.then_some(QUEUED),
            create.name,
        ],
    )?;
    if due_at.is_some() {
        transaction.ring();
    }
    record_writes(transaction, create)?;
    Ok(Receipt::Saved)
}

/// What becomes true together with a new operation.
fn record_writes(transaction: &Transaction<'_>, create: &Create) -> Result<(), StoreError> {
    if let Some((other, wanted)) = &create.supersedes {
        control(transaction, *other, wanted)?;
    }
    if let Some(write) = &create.subject {
        resources::write(transaction.db, write, Some((create.id, &create.workflow)))?;
    }
    if let Some(write) = &create.beside {
        resources::write(transaction.db, write, None)?;
    }
    Ok(())
}

fn append_alone(transaction: &Transaction<'_>, new: &Append, body: &str) -> Result<Receipt, StoreError> {
    append(transaction.db, new.id, &new.event, body)?;
    if new.phase.is_some() || new.processed.is_some() {
        let phase = new.phase.map(Phase::as_str);
        execute(transaction.db, sql::SET_PHASE, params![new.id.0.as_bytes(), phase, new.processed])?;
    }
    if let Some(taken) = &new.consumes {
        execute(transaction.db, sql::TAKE_SIGNAL, params![taken.key, taken.number])?;
    }
    Ok(Receipt::Saved)
}

/// The number of the control request for an operation, when that came, and its resource.
type OwnedRow = (i64, Option<i64>, Option<String>);

fn held(db: &Connection, hold: Ownership) -> Result<OwnedRow, StoreError> {
    let proof = params![hold.id.0.as_bytes(), hold.node.0.as_bytes(), hold.epoch];
    one(db, sql::HELD, proof, |row| row.try_into())?.ok_or(StoreError::Fenced)
}

/// A control request that has not been heard wakes at once, and any other is cleared. A signal that came before
/// the wait wakes too.
fn park(transaction: &Transaction<'_>, park: &Park, body: &str) -> Result<Receipt, StoreError> {
    let db = transaction.db;
    if let Some(event) = &park.event {
        append(db, park.hold.id, event, body)?;
    }
    let (number, control_at, _) = held(db, park.hold)?;
    let unheard = control_at.filter(|_| number > park.processed);
    let signalled: Option<i64> = match &park.key {
        Some(key) => one(db, sql::SIGNALLED_AT, [key], |row| row.get(0))?,
        None => None,
    };
    let hurry = unheard.or(signalled);
    let hurry = hurry.map(|at| park.not_before.map_or(at, |not_before| at.max(not_before.0)));
    let (memory, memory_seq) = park.memory.as_ref().map(|(memory, seq)| (memory, seq)).unzip();
    execute(
        db,
        sql::PARK,
        params![
            park.hold.id.0.as_bytes(),
            park.phase.as_str(),
            hurry.or(park.due_at.map(|at| at.0)),
            park.key,
            park.step,
            park.reason,
            unheard.is_some(),
            memory,
            memory_seq,
        ],
    )?;
    if hurry.is_some() {
        transaction.ring();
    }
    Ok(Receipt::Saved)
}

fn finish(transaction: &Transaction<'_>, finish: &Finish, body: &str) -> Result<Receipt, StoreError> {
    let db = transaction.db;
    if let Some(event) = &finish.event {
        append(db, finish.hold.id, event, body)?;
    }
    let (.., resource) = held(db, finish.hold)?;
    let id = finish.hold.id.0.as_bytes();
    let (phase, at) = (finish.phase.as_str(), finish.at.0);
    execute(db, sql::ARCHIVE, params![id, phase, at, finish.cause, finish.memory, finish.seq])?;
    execute(db, sql::REMOVE, [id])?;
    if let Some(resource) = resource
        && execute(db, sql::PROMOTE, params![resource, finish.at.0])? > 0
    {
        transaction.ring();
    }
    Ok(Receipt::Saved)
}

fn control(
    transaction: &Transaction<'_>,
    id: OperationId,
    control: &ControlRequest,
) -> Result<Receipt, StoreError> {
    let db = transaction.db;
    let standing: Option<(String, bool, bool)> =
        one(db, sql::STANDING, [id.0.as_bytes()], |row| row.try_into())?;
    let Some((phase, queued, owned)) = standing else { return revive(transaction, id, control) };
    let processed = match (RequestTarget { phase: rows::phase(&phase)?, queued, owned }).hear(control) {
        Ok(processed) => processed,
        Err(receipt) => return Ok(receipt),
    };
    if processed.leaves_queue
        && let Some(name) = one(db, sql::QUEUES_FOR, [id.0.as_bytes()], |row| row.get::<_, String>(0))?
    {
        resources::touch(db, &Touch::left_queue(&name, id, control.at))?;
    }
    let text = rows::control_text(control)?;
    execute(db, sql::NEXT_NUMBER, [])?;
    execute(
        db,
        sql::CONTROL,
        params![id.0.as_bytes(), text, control.at.0, processed.leaves_queue, processed.wakes],
    )?;
    if processed.wakes {
        transaction.ring();
    }
    Ok(Receipt::Saved)
}

fn revive(
    transaction: &Transaction<'_>,
    id: OperationId,
    control: &ControlRequest,
) -> Result<Receipt, StoreError> {
    let db = transaction.db;
    let found: Option<(String, i64, i64, Option<String>)> =
        one(db, sql::FINISHED, [id.0.as_bytes()], |row| row.try_into())?;
    let Some((phase, created_at, deadline_at, resource)) = found else { return Ok(Receipt::NoSuchOperation) };
    let finished = Finished {
        phase: rows::phase(&phase)?,
        created_at: Timestamp(created_at),
        deadline_at: Timestamp(deadline_at),
    };
    let (phase, deadline_at) = match finished.revive(control) {
        Ok(revived) => revived,
        Err(receipt) => return Ok(receipt),
    };
    if let Some(holder) = holder(db, resource.as_deref())? {
        return Ok(Receipt::Busy(holder));
    }
    let text = rows::control_text(control)?;
    execute(db, sql::NEXT_NUMBER, [])?;
    execute(db, sql::REVIVE, params![id.0.as_bytes(), phase.as_str(), control.at.0, deadline_at.0, text])?;
    execute(db, sql::UNARCHIVE, [id.0.as_bytes()])?;
    if let Some(resource) = resource {
        execute(db, sql::REVIVE_RESOURCE, params![resource, id.0.as_bytes(), control.at.0])?;
    }
    transaction.ring();
    Ok(Receipt::Saved)
}

fn signal(
    transaction: &Transaction<'_>,
    key: &str,
    payload: &Value,
    at: Timestamp,
    limit: Option<&SignalLimit>,
) -> Result<Receipt, StoreError> {
    let payload = payload.to_string();
    let woken = execute(transaction.db, sql::WAKE, params![key, at.0])?;
    if let Some(limit) = limit.filter(|_| woken == 0) {
        let unread = params![limit.prefix, limit.end(), key];
        let (signals, bytes) = one(transaction.db, sql::UNREAD_SIGNALS, unread, |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })?
        .map_or((0, 0), |(signals, bytes)| (signals.unsigned_abs(), bytes.unsigned_abs()));
        if !limit.has_room(signals, bytes, u64::try_from(payload.len()).unwrap_or(u64::MAX)) {
            return Ok(Receipt::TooManySignals { signals, bytes });
        }
    }
    execute(transaction.db, sql::NEXT_NUMBER, [])?;
    execute(transaction.db, sql::SIGNAL, params![key, payload, at.0])?;
    if woken > 0 {
        transaction.ring();
    }
    Ok(Receipt::Woke(woken))
}
