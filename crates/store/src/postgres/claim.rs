//! Taking what is due, fairly between tenants, while other processes do the same.

use std::collections::HashMap;
use std::sync::Arc;

use engine::store::{Claims, StoreError};
use engine::{Body, NodeId, Timestamp};
use tokio::sync::Mutex;
use tokio_postgres::Row;
use tracing::error;
use uuid::Uuid;

use super::connection::{BATCH_TIMEOUT, BY_KEY, Connection, ConnectionRole, SessionOptions, Unfinished};
use super::failure::TransactionFailure;
use super::heartbeat::released;
use super::statements as sql;
use super::target::DatabaseTarget;
use crate::fair::{self, PROBES_MAX, Probe, Turns};
use crate::rows::{self, ClaimedRow, EventRow, RowError, SignalText, signed};

pub(super) const CLAIMER: ConnectionRole = ConnectionRole {
    settings: BY_KEY,
    statements: &[
        sql::LOOK,
        sql::NEXT_DUE,
        sql::NEXT_FREE,
        sql::LOCK_OLDEST,
        sql::LOCK_OF_TENANTS,
        sql::PROBE,
        sql::TAKE,
        sql::ADOPT,
        sql::EVENTS,
        sql::SUSPEND_UNREADABLE,
        sql::RELEASE,
    ],
};

/// An old owner may append in the very moment in which we adopt; then we look again.
const TRIES_MAX: usize = 4;

pub(super) struct Claimer {
    line: Connection,
    /// Also makes claims take turns: a connection has one transaction at a time.
    context: Mutex<ClaimContext>,
}

/// What claims know of the ones before them.
#[derive(Default)]
struct ClaimContext {
    turns: Turns,
    /// What a claim without an answer may have taken, for this node. No node works on that.
    unanswered: Option<(NodeId, Vec<Uuid>)>,
}

/// What one claim is about.
#[derive(Clone, Copy)]
struct ClaimHistory {
    node: NodeId,
    now: Timestamp,
    limit: usize,
}

impl Claimer {
    pub(super) fn new(target: &Arc<DatabaseTarget>) -> Claimer {
        Claimer { line: Connection::new(target, CLAIMER), context: Mutex::default() }
    }

    pub(super) async fn claim(
        &self,
        node: NodeId,
        now: Timestamp,
        limit: usize,
    ) -> Result<Claims, StoreError> {
        let mut context = self.context.lock().await;
        let asked = ClaimHistory { node, now, limit };
        self.release_unanswered(&mut context).await?;
        let more = rows::rows(limit.saturating_add(1));
        let look = self.line.read(sql::LOOK, &[&node.0, &now.0, &more]).await?;
        let Some(look) = look.first() else { return Err(StoreError::Fenced) };
        let (is_known, due): (bool, i64) = (look.get(0), look.get(1));
        if !is_known {
            return Err(StoreError::Fenced);
        }
        if due == 0 || limit == 0 {
            return Ok(Claims {
                operations: Vec::new(),
                next_due: look.get::<_, Option<i64>>(2).map(Timestamp),
            });
        }
        let mut tries = 0;
        loop {
            tries += 1;
            match self.attempt(&mut context, asked, due == more).await {
                Err(
                    TransactionFailure::Clash(_)
                    | TransactionFailure::Locked(_)
                    | TransactionFailure::Data(StoreError::Fenced),
                ) if tries < TRIES_MAX => {}
                // The node was known a moment ago, so this is not about the node.
                Err(TransactionFailure::Data(StoreError::Fenced)) => {
                    return Err(StoreError::Unavailable("an old owner keeps writing".into()));
                }
                done => return Ok(done?),
            }
        }
    }

    /// Where a commit had no answer, its operations may be ours on paper while no transaction here knows of them.
    async fn release_unanswered(&self, context: &mut ClaimContext) -> Result<(), StoreError> {
        let Some((node, ids)) = &context.unanswered else { return Ok(()) };
        let released = released(&self.line.read(sql::RELEASE, &[&node.0, ids]).await?);
        if released.is_ok() {
            context.unanswered = None;
        }
        released
    }

    async fn attempt(
        &self,
        context: &mut ClaimContext,
        asked: ClaimHistory,
        crowded: bool,
    ) -> Result<Claims, TransactionFailure> {
        let session = self.line.session().await.map_err(TransactionFailure::Down)?;
        let unfinished = Unfinished::new(&session);
        let work = transaction(&session, context, asked, crowded);
        let done = session.in_time(BATCH_TIMEOUT, work).await.flatten();
        if !matches!(done, Err(TransactionFailure::Down(_))) {
            context.unanswered = None;
        }
        let is_clean = match &done {
            Ok(_) => true,
            Err(TransactionFailure::Down(_)) => false,
            Err(_) => session.say(sql::ROLLBACK).await.is_ok(),
        };
        if is_clean {
            unfinished.finished();
        }
        done
    }
}

async fn transaction(
    session: &SessionOptions,
    context: &mut ClaimContext,
    asked: ClaimHistory,
    crowded: bool,
) -> Result<Claims, TransactionFailure> {
    session.say(sql::BEGIN).await?;
    let chosen = if crowded {
        fairly(session, &mut context.turns, asked).await?
    } else {
        oldest(session, asked, asked.limit, &[]).await?
    };
    if chosen.is_empty() {
        // Others hold everything that is due: what they hold is not what to wait for.
        let next = session.query(sql::NEXT_FREE, &[]).await?;
        session.say(sql::COMMIT).await?;
        return Ok(Claims { operations: Vec::new(), next_due: first_time(&next) });
    }
    context.unanswered = Some((asked.node, chosen.clone()));
    let taken = take(session, &chosen, asked).await?;
    let mut operations = Vec::with_capacity(taken.len());
    let mut broken = Vec::new();
    for row in taken {
        match row.read() {
            Ok(claimed) => operations.push(claimed),
            Err(unreadable) => broken.push(unreadable),
        }
    }
    if !broken.is_empty() {
        put_down(session, &broken).await?;
    }
    let next = session.query(sql::NEXT_DUE, &[]).await?;
    session.say(sql::COMMIT).await?;
    Ok(Claims { operations, next_due: first_time(&next) })
}

fn first_time(rows: &[Row]) -> Option<Timestamp> {
    rows.first().map(|row| Timestamp(row.get(0)))
}

/// Locks the oldest that no other transaction is just claiming.
async fn oldest(
    session: &SessionOptions,
    asked: ClaimHistory,
    most: usize,
    but: &[Uuid],
) -> Result<Vec<Uuid>, TransactionFailure> {
    let found = session.query(sql::LOCK_OLDEST, &[&asked.now.0, &rows::rows(most), &but]).await?;
    Ok(found.iter().map(|row| row.get(0)).collect())
}

/// Locks as many as the limit allows: a share for each tenant, and what is left over by age.
async fn fairly(
    session: &SessionOptions,
    turns: &mut Turns,
    asked: ClaimHistory,
) -> Result<Vec<Uuid>, TransactionFailure> {
    let onward = probe(session, turns.start(), asked.now, PROBES_MAX).await?;
    let anew = match PROBES_MAX - onward.len() {
        0 => Vec::new(),
        most => probe(session, "", asked.now, most).await?,
    };
    let tenants = turns.in_turn(onward, anew);
    let share = rows::rows(fair::share(asked.limit, tenants.len()));
    let limit = rows::rows(asked.limit);
    let found = session.query(sql::LOCK_OF_TENANTS, &[&tenants, &asked.now.0, &share, &limit]).await?;
    if let Some(last) = found.last() {
        turns.served(last.get(1));
    }
    let mut chosen: Vec<Uuid> = found.iter().map(|row| row.get(0)).collect();
    if chosen.len() < asked.limit {
        chosen.extend(oldest(session, asked, asked.limit - chosen.len(), &chosen).await?);
    }
    Ok(chosen)
}

async fn probe(
    session: &SessionOptions,
    start: &str,
    now: Timestamp,
    most: usize,
) -> Result<Vec<Probe>, TransactionFailure> {
    let found = session.query(sql::PROBE, &[&start, &rows::rows(most)]).await?;
    let read = |row: &Row| Probe { tenant: row.get(0), due: row.get::<_, i64>(1) <= now.0 };
    Ok(found.iter().map(read).collect())
}

/// Makes locked operations ours, in the order in which they were chosen.
async fn take(
    session: &SessionOptions,
    chosen: &[Uuid],
    asked: ClaimHistory,
) -> Result<Vec<ClaimedRow>, TransactionFailure> {
    let taken = session.query(sql::TAKE, &[&chosen, &asked.node.0]).await?;
    let mut by_id: HashMap<Uuid, ClaimedRow> =
        taken.iter().map(claimed_row).map(|row| (row.id, row)).collect();
    let orphans: Vec<Uuid> = by_id.values().filter(|row| row.orphaned).map(|row| row.id).collect();
    if !orphans.is_empty() {
        let adopted = Body::Adopted { node: asked.node }.to_text();
        session.execute(sql::ADOPT, &[&orphans, &asked.now.0, &adopted]).await?;
    }
    let after = chosen.iter().map(|id| by_id.get(id).map_or(Ok(0), |row| signed(row.memory_seq)));
    let after = after.collect::<Result<Vec<i32>, StoreError>>()?;
    for event in session.query(sql::EVENTS, &[&chosen, &after]).await? {
        if let Some(row) = by_id.get_mut(&event.get(0)) {
            let seq = rows::unsigned(event.get::<_, i32>(1).into());
            row.events.push(EventRow { seq, at: event.get(2), body: event.get(3) });
        }
    }
    Ok(chosen.iter().filter_map(|id| by_id.remove(id)).collect())
}

fn claimed_row(row: &Row) -> ClaimedRow {
    ClaimedRow {
        id: row.get(0),
        workflow: row.get(1),
        tenant: row.get(2),
        resource: row.get(3),
        params: row.get(4),
        phase: row.get(5),
        created_at: row.get(6),
        deadline_at: row.get(7),
        epoch: row.get(8),
        memory: row.get(9),
        memory_seq: rows::unsigned(row.get::<_, i32>(10).into()),
        orphaned: row.get(11),
        control: row.get(12),
        control_number: row.get(13),
        signal: row.get::<_, Option<String>>(14).zip(row.get(15)).and_then(signal_text),
        events: Vec::new(),
    }
}

/// A key, and a payload with the number of its signal.
fn signal_text((key, found): (String, Vec<String>)) -> Option<SignalText> {
    let [payload, number] = found.try_into().ok()?;
    Some(SignalText { key, payload, number: number.parse().ok()? })
}

/// What cannot be read stops no other transaction: it waits for a person.
async fn put_down(session: &SessionOptions, broken: &[RowError]) -> Result<(), TransactionFailure> {
    for RowError { id, reason } in broken {
        error!(operation.id = %id, "operation {id} is stuck: {reason}");
    }
    let ids: Vec<Uuid> = broken.iter().map(|broken| broken.id).collect();
    let reasons: Vec<&str> = broken.iter().map(|broken| broken.reason.as_str()).collect();
    session.execute(sql::SUSPEND_UNREADABLE, &[&ids, &reasons]).await?;
    Ok(())
}
