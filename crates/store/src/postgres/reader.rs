//! Reading. All readers share a connection: questions are sent without waiting for earlier answers.

use std::time::Duration;

use engine::store::{
    EndedOperations, IDS_SEARCHED, OperationDetail, OperationQuery, STATS_COUNT_MAX, Stats, StoreError,
    Summary, Total,
};
use engine::{Event, OperationId, Phase, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use super::connection::{BY_FILTER, Connection, ConnectionRole};
use super::people_statements as people;
use super::questions as sql;
use crate::rows::{self, EventRow, SummaryRow, signed};

pub(super) const READER: ConnectionRole = ConnectionRole {
    settings: BY_FILTER,
    statements: &[
        sql::SHOW,
        sql::LIST,
        sql::TOTALS,
        sql::JOURNAL,
        sql::PING,
        sql::NOW,
        sql::FIND_TOKEN,
        sql::TOKENS,
        sql::AUDIT_PAGE,
        sql::SHARED,
        people::FIND_USER,
        people::USERS,
        people::FIND_SESSION,
        people::SESSIONS,
        people::FIND_DRAFT,
    ],
};

/// For what takes longer or changes something, so that lists do not wait for it.
pub(super) const QUEUED_WRITES: ConnectionRole = ConnectionRole {
    settings: BY_FILTER,
    statements: &[
        sql::STATS,
        sql::HISTORY,
        sql::TRY_WRITING,
        sql::PRUNE,
        sql::ADD_TOKEN,
        sql::REMOVE_TOKEN,
        sql::SHARE_NEW,
        sql::SHARE_CHANGED,
        people::ADD_USER,
        people::CHANGE_USER,
        people::REMOVE_USER,
        people::BEGIN_ATTEMPT,
        people::CLEAR_ATTEMPTS,
        people::ADD_SESSION,
        people::TOUCH_SESSION,
        people::REMOVE_SESSION,
        people::REMOVE_SESSIONS,
        people::PRUNE_SESSIONS,
        people::SAVE_DRAFT,
    ],
};

pub(super) async fn show(line: &Connection, id: OperationId) -> Result<Option<OperationDetail>, StoreError> {
    let found = line.read(sql::SHOW, &[&id.0]).await?;
    let Some(row) = found.first() else { return Ok(None) };
    Ok(Some(OperationDetail {
        summary: summary(row)?,
        params: row.get(14),
        memory: row.get(15),
        memory_seq: rows::unsigned(row.get::<_, i32>(16).into()),
    }))
}

pub(super) async fn list(line: &Connection, query: &OperationQuery) -> Result<Vec<Summary>, StoreError> {
    fitting(line, sql::LIST, query).await?.iter().map(summary).collect()
}

pub(super) async fn totals(line: &Connection, query: &OperationQuery) -> Result<Vec<Total>, StoreError> {
    let found = fitting(line, sql::TOTALS, query).await?;
    found.iter().map(|row| rows::total((row.get(0), row.get(1), row.get(2)))).collect()
}

/// Runs a statement that has the filters of the list.
async fn fitting(
    line: &Connection,
    sql: &'static str,
    query: &OperationQuery,
) -> Result<Vec<Row>, StoreError> {
    let phases: Option<Vec<&str>> =
        Some(query.phases.iter().map(|phase| phase.as_str()).collect()).filter(|_| !query.phases.is_empty());
    // Most of the archive succeeded, so there is an index of the rest.
    let with_succeeded = query.phases.is_empty() || query.phases.contains(&Phase::Succeeded);
    let (before, from): (Option<Uuid>, Option<Uuid>) =
        (query.before.map(|id| id.0), query.from.map(|id| id.0));
    let limit = rows::rows(query.limit);
    let resources = Some(&query.resources).filter(|names| !names.is_empty());
    line.read(
        sql,
        &[
            &query.workflow,
            &phases,
            &query.tenant,
            &query.resource,
            &before,
            &from,
            &limit,
            &with_succeeded,
            &query.id_end,
            &i64::from(IDS_SEARCHED),
            &resources,
        ],
    )
    .await
}

pub(super) async fn history(
    line: &Connection,
    from: Timestamp,
    span: Duration,
    limit: usize,
) -> Result<Vec<EndedOperations>, StoreError> {
    let span = rows::lease_micros(span).max(1);
    let found = line.read(sql::HISTORY, &[&from.0, &span, &rows::rows(limit)]).await?;
    Ok(found.iter().map(|row| rows::ended((row.get(0), row.get(1), row.get(2), row.get(3)))).collect())
}

fn summary(row: &Row) -> Result<Summary, StoreError> {
    let found = SummaryRow {
        id: row.get(0),
        workflow: row.get(1),
        tenant: row.get(2),
        resource: row.get(3),
        phase: row.get(4),
        step: row.get(5),
        reason: row.get(6),
        due_at: row.get(7),
        created_at: row.get(8),
        deadline_at: row.get(9),
        finished_at: row.get(10),
        owner: row.get(11),
        control: row.get(12),
        name: row.get(13),
    };
    found.read()
}

pub(super) async fn journal(
    line: &Connection,
    id: OperationId,
    after: u32,
    limit: usize,
) -> Result<Vec<Event>, StoreError> {
    // No journal goes beyond what a signed number counts.
    let after = signed(after).unwrap_or(i32::MAX);
    let found = line.read(sql::JOURNAL, &[&id.0, &after, &rows::rows(limit)]).await?;
    let read = |row: &Row| {
        let seq = rows::unsigned(row.get::<_, i32>(0).into());
        EventRow { seq, at: row.get(1), body: row.get(2) }.read()
    };
    found.iter().map(read).collect()
}

pub(super) async fn stats(line: &Connection, now: Timestamp) -> Result<Stats, StoreError> {
    let found = line.read(sql::STATS, &[&now.0, &STATS_COUNT_MAX.cast_signed()]).await?;
    let Some(row) = found.first() else { return Ok(Stats::default()) };
    let count = |column: usize| u64::from(rows::unsigned(row.get(column)));
    Ok(Stats {
        owned: count(0),
        due: count(1),
        waiting: (count(2) + count(3)).min(STATS_COUNT_MAX),
        stuck: count(4),
        oldest_due: row.get::<_, Option<i64>>(5).map(Timestamp),
        oldest_unfinished: row.get::<_, Option<i64>>(6).map(Timestamp),
        ..Stats::default()
    })
}
