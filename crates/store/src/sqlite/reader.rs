//! Reading, on connections of its own: `SQLite` lets readers and the writer work at the same time.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::OperationId;
use engine::store::{
    EndedOperations, IDS_SEARCHED, OperationDetail, OperationQuery, STATS_COUNT_MAX, Stats, StoreError,
    Summary, Total,
};
use engine::{Event, Phase, Timestamp};
use rusqlite::{Connection, Row, ToSql, named_params, params};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::apply::{all, one, uuid};
use super::connection::open_reader;
use super::statements as sql;
use crate::rows::{self, EventRow, SummaryRow};

const READERS: usize = 4;

/// A few connections that are handed around.
pub(super) struct Readers {
    turns: Arc<Semaphore>,
    free: Arc<Mutex<Vec<Connection>>>,
    path: PathBuf,
}

impl Readers {
    pub(super) fn open(path: &Path) -> Result<Readers, StoreError> {
        let first = open_reader(path)?;
        Ok(Readers {
            turns: Arc::new(Semaphore::new(READERS)),
            free: Arc::new(Mutex::new(vec![first])),
            path: path.to_owned(),
        })
    }

    pub(super) async fn run<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        W: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
        T: Send + 'static,
    {
        let closed = |_| StoreError::Unavailable("the readers are gone".into());
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(closed)?;
        let (free, path) = (Arc::clone(&self.free), self.path.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let taken = free.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let db = taken.map_or_else(|| open_reader(&path), Ok)?;
            let found = work(&db);
            // A connection that failed is not used again.
            if !matches!(found, Err(StoreError::Unavailable(_))) {
                free.lock().unwrap_or_else(PoisonError::into_inner).push(db);
            }
            drop(turn);
            found
        });
        reading.await.map_err(|error| StoreError::Unavailable(format!("a reader stopped: {error}")))?
    }
}

pub(super) fn show(db: &Connection, id: OperationId) -> Result<Option<OperationDetail>, StoreError> {
    let found = one(db, sql::SHOW, [id.0.as_bytes()], |row| {
        Ok((summary_row(row)?, row.get(14)?, row.get(15)?, row.get(16)?))
    })?;
    let Some((summary, params, memory, memory_seq)) = found else { return Ok(None) };
    Ok(Some(OperationDetail { summary: summary.read()?, params, memory, memory_seq }))
}

pub(super) fn journal(
    db: &Connection,
    id: OperationId,
    after: u32,
    limit: usize,
) -> Result<Vec<Event>, StoreError> {
    let events = all(db, sql::JOURNAL, params![id.0.as_bytes(), after, rows::rows(limit)], event_row)?;
    events.iter().map(EventRow::read).collect()
}

pub(super) fn event_row(row: &Row<'_>) -> rusqlite::Result<EventRow> {
    Ok(EventRow { seq: row.get(0)?, at: row.get(1)?, body: row.get(2)? })
}

pub(super) fn stats(db: &Connection, now: Timestamp) -> Result<Stats, StoreError> {
    let found = one(db, sql::STATS, params![now.0, STATS_COUNT_MAX.cast_signed()], |row| {
        let count = |column| row.get::<_, i64>(column).map(|count| u64::from(rows::unsigned(count)));
        Ok(Stats {
            owned: count(0)?,
            due: count(1)?,
            waiting: (count(2)? + count(3)?).min(STATS_COUNT_MAX),
            stuck: count(4)?,
            oldest_due: row.get::<_, Option<i64>>(5)?.map(Timestamp),
            oldest_unfinished: row.get::<_, Option<i64>>(6)?.map(Timestamp),
            ..Stats::default()
        })
    })?;
    Ok(found.unwrap_or_default())
}

pub(super) fn list(db: &Connection, query: &OperationQuery) -> Result<Vec<Summary>, StoreError> {
    let found = fitting(db, query, &list_sql(query), summary_row)?;
    found.into_iter().map(SummaryRow::read).collect()
}

pub(super) fn totals(db: &Connection, query: &OperationQuery) -> Result<Vec<Total>, StoreError> {
    let counted =
        format!("select workflow, phase, count(*) from ({}) group by 1, 2 order by 1, 2", list_sql(query));
    let found = fitting(db, query, &counted, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    found.into_iter().map(rows::total).collect()
}

/// Runs a statement that has the filters of the list.
fn fitting<T>(
    db: &Connection,
    query: &OperationQuery,
    sql: &str,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, StoreError> {
    let before = query.before.map(|id| *id.0.as_bytes());
    let from = query.from.map(|id| *id.0.as_bytes());
    let limit = rows::rows(query.limit);
    let searched = query.id_end.as_ref().map(|_| IDS_SEARCHED);
    let resources = (!query.resources.is_empty()).then(|| serde_json::json!(query.resources).to_string());
    let candidates: [(&str, Option<&dyn ToSql>); 8] = [
        (":workflow", query.workflow.as_ref().map(|text| text as &dyn ToSql)),
        (":tenant", query.tenant.as_ref().map(|text| text as &dyn ToSql)),
        (":resource", query.resource.as_ref().map(|text| text as &dyn ToSql)),
        (":resources", resources.as_ref().map(|text| text as &dyn ToSql)),
        (":before", before.as_ref().map(|id| id as &dyn ToSql)),
        (":from", from.as_ref().map(|id| id as &dyn ToSql)),
        (":id_end", query.id_end.as_ref().map(|text| text as &dyn ToSql)),
        (":searched", searched.as_ref().map(|count| count as &dyn ToSql)),
    ];
    let mut given: Vec<(&str, &dyn ToSql)> = named_params! { ":limit": limit }.to_vec();
    given.extend(candidates.into_iter().filter_map(|(name, value)| Some((name, value?))));
    all(db, sql, given.as_slice(), read)
}

pub(super) fn history(
    db: &Connection,
    from: Timestamp,
    span: Duration,
    limit: usize,
) -> Result<Vec<EndedOperations>, StoreError> {
    let span = rows::lease_micros(span).max(1);
    all(db, sql::HISTORY, params![from.0, span, rows::rows(limit)], |row| {
        Ok(rows::ended((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
    })
}

/// `SQLite` plans without looking at the parameters, so a filter that is not used must not be in the text.
/// Active, queued and finished operations are looked for apart, because each has its own index by resource.
pub(super) fn list_sql(query: &OperationQuery) -> String {
    let filters = [
        query.workflow.as_ref().map(|_| "workflow = :workflow"),
        query.tenant.as_ref().map(|_| "tenant = :tenant"),
        query.resource.as_ref().map(|_| "resource = :resource"),
        (!query.resources.is_empty()).then_some("resource in (select value from json_each(:resources))"),
        query.before.map(|_| "id < :before"),
        query.from.map(|_| "id >= :from"),
    ];
    let mut wanted = String::new();
    for filter in filters.into_iter().flatten() {
        wanted.push_str(" and ");
        wanted.push_str(filter);
    }
    if !query.phases.is_empty() {
        let names: Vec<String> = query.phases.iter().map(|phase| format!("'{phase}'")).collect();
        wanted.push_str(" and phase in (");
        wanted.push_str(&names.join(", "));
        wanted.push(')');
    }
    let newest = |table: &str| match query.id_end {
        Some(_) => format!(
            " and substr(lower(hex(id)), -length(:id_end)) = :id_end
                and id > coalesce((select id from {table} order by id desc limit 1 offset :searched), x'')"
        ),
        None => String::new(),
    };
    let (active, finished) = (newest("operations"), newest("archive"));
    let unlucky = !query.phases.is_empty() && !query.phases.contains(&Phase::Succeeded);
    let archived = if unlucky { "phase <> 'succeeded'" } else { "1" };
    let page = "order by id desc limit :limit";
    format!(
        "select * from (select id, workflow, tenant, resource, phase, step, reason, due_at, created_at,
                deadline_at, null as finished_at, owner, wish, name
            from operations where queued = 0{wanted}{active} {page})
        union all
        select * from (select id, workflow, tenant, resource, phase, step, reason, due_at, created_at,
                deadline_at, null, owner, wish, name
            from operations where queued = 1{wanted}{active} {page})
        union all
        select * from (select id, workflow, tenant, resource, phase, null, reason, null, created_at,
                deadline_at, finished_at, null, null, name
            from archive where {archived}{wanted}{finished} {page})
        {page}"
    )
}

fn summary_row(row: &Row<'_>) -> rusqlite::Result<SummaryRow> {
    Ok(SummaryRow {
        id: uuid(row, 0)?,
        workflow: row.get(1)?,
        tenant: row.get(2)?,
        resource: row.get(3)?,
        phase: row.get(4)?,
        step: row.get(5)?,
        reason: row.get(6)?,
        due_at: row.get(7)?,
        created_at: row.get(8)?,
        deadline_at: row.get(9)?,
        finished_at: row.get(10)?,
        owner: row.get::<_, Option<_>>(11)?.map(Uuid::from_bytes),
        control: row.get(12)?,
        name: row.get(13)?,
    })
}
