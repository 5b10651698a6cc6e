//! Writes that need a look first: control requests, signals, records of resources, and creates that come with a record
//! or whose key or resource another transaction has.

use engine::store::{ControlRequest, Create, QUEUED, Receipt, SignalLimit, StoreError, Touch, Write};
use engine::{OperationId, Phase, PhaseVerb, Timestamp};
use serde_json::Value;
use uuid::Uuid;

use super::batch_statements::APPEND;
use super::connection::{Param, SessionOptions, Unfinished};
use super::failure::TransactionFailure;
use super::resource_statements as resource_sql;
use super::resources;
use super::statements as sql;
use crate::draft::Draft;
use crate::rows::{self, signed};
use crate::rules::{self, Finished, RequestTarget};

/// Others may change what we looked at before we lock it; then we look again.
const LOOKS_MAX: usize = 5;

/// What became of a write, and whether something is free to be claimed because of it.
type Ruled = (Receipt, bool);

/// All of them in one transaction, one after the other. Answers also whether anything is free to be claimed.
pub(super) async fn run(
    session: &SessionOptions,
    drafts: &[&Draft],
) -> Result<(Vec<Receipt>, bool), TransactionFailure> {
    let unfinished = Unfinished::new(session);
    match transaction(session, drafts).await {
        Ok(ruled) => {
            unfinished.finished();
            Ok(ruled)
        }
        Err(failure) => {
            if !matches!(failure, TransactionFailure::Down(_)) && session.say(sql::ROLLBACK).await.is_ok() {
                unfinished.finished();
            }
            Err(failure)
        }
    }
}

async fn transaction(
    session: &SessionOptions,
    drafts: &[&Draft],
) -> Result<(Vec<Receipt>, bool), TransactionFailure> {
    session.say(sql::BEGIN).await?;
    // Two signals of one sender count each other, so the sender is locked as well as the key.
    let signalled = |draft: &&Draft| match &draft.write {
        Write::Signal { key, limit, .. } => {
            [Some(key.clone()), limit.as_ref().map(|limit| limit.prefix.clone())]
        }
        _ => [None, None],
    };
    let keys: Vec<String> = drafts.iter().flat_map(signalled).flatten().collect();
    session.query_if(!keys.is_empty(), sql::LOCK_KEYS, &[&keys]).await?;
    resources::lock(session, drafts).await?;
    let mut receipts = Vec::with_capacity(drafts.len());
    let mut rings = false;
    for draft in drafts {
        let (receipt, frees) = one(session, draft).await?;
        receipts.push(receipt);
        rings |= frees;
    }
    session.query_if(rings, sql::TELL, &[]).await?;
    session.say(sql::COMMIT).await?;
    Ok((receipts, rings))
}

async fn one(session: &SessionOptions, draft: &Draft) -> Result<Ruled, TransactionFailure> {
    match &draft.write {
        Write::Create(create) => contested_create(session, create, &draft.body).await,
        Write::Wish { id, control } => controlled(session, *id, control).await,
        Write::Signal { key, payload, at, limit } => {
            signalled(session, key, payload, *at, limit.as_ref()).await
        }
        Write::Resource(write) => Ok((resources::write_alone(session, write).await?, false)),
        Write::Append(_) | Write::Park(_) | Write::Finish(_) => {
            Err(TransactionFailure::Data(StoreError::Refused("this write needs no care".into())))
        }
    }
}

fn too_busy() -> TransactionFailure {
    TransactionFailure::Clash("others change the same operation again and again".into())
}

async fn contested_create(
    session: &SessionOptions,
    create: &Create,
    body: &str,
) -> Result<Ruled, TransactionFailure> {
    if let Some(receipt) = take_key(session, create).await? {
        return Ok((receipt, false));
    }
    if !resources::fit(session, create.subject.iter().chain(&create.beside)).await? {
        return refused(session, create, Receipt::Changed).await;
    }
    for _ in 0..LOOKS_MAX {
        let holder = holder(session, create.resource.as_deref()).await?;
        if let (Some(holder), false) = (holder, create.queue) {
            return refused(session, create, Receipt::Busy(holder)).await;
        }
        let queued = holder.is_some();
        if insert(session, create, queued).await? {
            let (seq, at) = (signed(create.event.seq)?, create.event.at.0);
            let event: [Param<'_>; 4] = [&vec![create.id.0], &vec![seq], &vec![at], &vec![body]];
            session.execute(APPEND, &event).await?;
            let frees = record_writes(session, create).await?;
            return Ok((Receipt::Saved, frees || (!queued && create.owner.is_none())));
        }
    }
    Err(too_busy())
}

/// A key is not used up by an operation that is not made.
async fn refused(
    session: &SessionOptions,
    create: &Create,
    receipt: Receipt,
) -> Result<Ruled, TransactionFailure> {
    if let Some(same) = &create.idempotency {
        session.execute(sql::UNUSE_KEY, &[&same.scope, &same.key, &create.id.0]).await?;
    }
    Ok((receipt, false))
}

/// What becomes true together with a new operation. Answers whether something is free to be claimed.
async fn record_writes(session: &SessionOptions, create: &Create) -> Result<bool, TransactionFailure> {
    let frees = match &create.supersedes {
        Some((other, control)) => controlled(session, *other, control).await?.1,
        None => false,
    };
    if let Some(write) = &create.subject {
        resources::write(session, write, Some((create.id, &create.workflow))).await?;
    }
    if let Some(write) = &create.beside {
        resources::write(session, write, None).await?;
    }
    Ok(frees)
}

/// The answer when the key was used before.
async fn take_key(session: &SessionOptions, create: &Create) -> Result<Option<Receipt>, TransactionFailure> {
    let Some(same) = &create.idempotency else { return Ok(None) };
    let (id, at) = (create.id.0, create.created_at.0);
    for _ in 0..LOOKS_MAX {
        if session.execute(sql::USE_KEY, &[&same.scope, &same.key, &id, &same.digest, &at]).await? > 0 {
            return Ok(None);
        }
        let found = session.query(sql::KEY_USED, &[&same.scope, &same.key]).await?;
        if let Some(row) = found.first() {
            return Ok(Some(rules::used_before(same, OperationId(row.get(0)), row.get(1))));
        }
    }
    Err(too_busy())
}

async fn holder(
    session: &SessionOptions,
    resource: Option<&str>,
) -> Result<Option<OperationId>, TransactionFailure> {
    let Some(resource) = resource else { return Ok(None) };
    let found = session.query(sql::HOLDER, &[&resource]).await?;
    Ok(found.first().map(|row| OperationId(row.get(0))))
}

/// `false` when another request got the resource after we looked.
async fn insert(session: &SessionOptions, create: &Create, queued: bool) -> Result<bool, TransactionFailure> {
    let owner = create.owner.filter(|_| !queued).map(|node| node.0);
    let due_at = (!queued && owner.is_none()).then_some(create.created_at.0);
    let phase = if owner.is_some() { Phase::Running } else { Phase::Pending };
    let made = session
        .execute(
            sql::CREATE_ONE,
            &[
                &create.id.0,
                &create.workflow,
                &create.tenant,
                &create.resource,
                &create.params,
                &phase.as_str(),
                &owner,
                &queued,
                &due_at,
                &create.deadline_at.0,
                &create.created_at.0,
                &queued.then_some(QUEUED),
                &create.name,
            ],
        )
        .await?;
    Ok(made > 0)
}

async fn controlled(
    session: &SessionOptions,
    id: OperationId,
    control: &ControlRequest,
) -> Result<Ruled, TransactionFailure> {
    // Only a cancel takes an operation out of its queue.
    let cancels = control.verb == PhaseVerb::Cancel;
    let queues_for = session.query_if(cancels, sql::QUEUES_FOR, &[&id.0]).await?;
    let queues_for: Option<&str> = queues_for.first().and_then(|row| row.get(0));
    if let Some(name) = queues_for {
        resources::lock_one(session, name).await?;
    }
    for _ in 0..LOOKS_MAX {
        if let Some(row) = session.query(sql::STANDING, &[&id.0]).await?.first() {
            let standing =
                RequestTarget { phase: rows::phase(row.get(0))?, queued: row.get(1), owned: row.get(2) };
            let processed = match standing.hear(control) {
                Ok(processed) => processed,
                Err(receipt) => return Ok((receipt, false)),
            };
            let text = rows::control_text(control)?;
            let change: [Param<'_>; 5] =
                [&id.0, &text, &control.at.0, &processed.leaves_queue, &processed.wakes];
            session.execute(sql::CONTROL, &change).await?;
            if let Some(name) = queues_for.filter(|_| processed.leaves_queue) {
                resources::touch(session, Touch::left_queue(name, id, control.at)).await?;
            }
            return Ok((Receipt::Saved, processed.wakes));
        }
        if let Some(ruled) = revived(session, id.0, control).await? {
            return Ok(ruled);
        }
        // It is in neither table: there is none, or it moved from one to the other between our looks.
        if session.query(sql::IS_THERE, &[&id.0]).await?.is_empty() {
            return Ok((Receipt::NoSuchOperation, false));
        }
    }
    Err(too_busy())
}

/// `None` when it is not in the archive, or cannot be moved right now.
async fn revived(
    session: &SessionOptions,
    id: Uuid,
    control: &ControlRequest,
) -> Result<Option<Ruled>, TransactionFailure> {
    let found = session.query(sql::FINISHED, &[&id]).await?;
    let Some(row) = found.first() else { return Ok(None) };
    let finished = Finished {
        phase: rows::phase(row.get(0))?,
        created_at: Timestamp(row.get(1)),
        deadline_at: Timestamp(row.get(2)),
    };
    let (phase, deadline_at) = match finished.revive(control) {
        Ok(revived) => revived,
        Err(receipt) => return Ok(Some((receipt, false))),
    };
    let resource: Option<&str> = row.get(3);
    if let Some(name) = resource {
        resources::lock_one(session, name).await?;
    }
    if let Some(holder) = holder(session, resource).await? {
        return Ok(Some((Receipt::Busy(holder), false)));
    }
    let text = rows::control_text(control)?;
    let made =
        session.execute(sql::REVIVE, &[&id, &phase.as_str(), &control.at.0, &deadline_at.0, &text]).await?;
    if made == 0 {
        return Ok(None);
    }
    session.execute(sql::UNARCHIVE, &[&id]).await?;
    if let Some(name) = resource {
        session.execute(resource_sql::REVIVE_RESOURCE, &[&name, &id, &control.at.0]).await?;
    }
    Ok(Some((Receipt::Saved, true)))
}

async fn signalled(
    session: &SessionOptions,
    key: &str,
    payload: &Value,
    at: Timestamp,
    limit: Option<&SignalLimit>,
) -> Result<Ruled, TransactionFailure> {
    let payload = payload.to_string();
    let woken = session.execute(sql::WAKE, &[&key, &at.0]).await?;
    if let Some(limit) = limit.filter(|_| woken == 0) {
        let unread = session.query(sql::UNREAD_SIGNALS, &[&limit.prefix, &limit.end(), &key]).await?;
        let number = |at: usize| unread.first().map_or(0, |row| row.get::<_, i64>(at).unsigned_abs());
        let (signals, bytes) = (number(0), number(1));
        if !limit.has_room(signals, bytes, u64::try_from(payload.len()).unwrap_or(u64::MAX)) {
            return Ok((Receipt::TooManySignals { signals, bytes }, false));
        }
    }
    session.execute(sql::SIGNAL, &[&key, &payload, &at.0]).await?;
    Ok((Receipt::Woke(usize::try_from(woken).unwrap_or(usize::MAX)), woken > 0))
}
