//! What is saved, as text, on a connection of its own: a look through everything delays no transaction.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use engine::OperationId;
use engine::store::{
    RowKey, SavedEvent, SavedOperation, SavedReader, SealedColumn, SealedPage, SealedRow, SealedWriter,
    StoreError,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::connection::{Connection, ConnectionRole, IN_ORDER, Param};
use super::saved_statements as sql;
use super::target::DatabaseTarget;
use super::{PostgresStore, questions};
use crate::SEALED_PAGE;
use crate::rows::{self, ClaimCandidate, signed};

pub(super) const READ_SAVED: ConnectionRole = ConnectionRole {
    settings: IN_ORDER,
    statements: &[
        sql::UNFINISHED,
        sql::UNFINISHED_EVENTS,
        sql::PARAMS_AFTER,
        sql::MEMORIES_AFTER,
        sql::ARCHIVED_AFTER,
        sql::EVENTS_AFTER,
    ],
};

/// Apart from the others, because the first tables had no records.
pub(super) const READ_RECORDS: ConnectionRole =
    ConnectionRole { settings: IN_ORDER, statements: &[sql::RECORDS_AFTER, questions::SHARED] };

pub(super) const RESEAL: ConnectionRole = ConnectionRole {
    settings: IN_ORDER,
    statements: &[
        sql::RESEAL_PARAMS,
        sql::RESEAL_MEMORY,
        sql::RESEAL_ARCHIVED,
        sql::RESEAL_EVENT,
        sql::RESEAL_RECORD,
    ],
};

/// A database that is only looked at. Nothing is made or brought up to date.
pub struct PostgresReader {
    operations: Connection,
    records: Connection,
}

impl PostgresReader {
    /// Connects with the first look.
    pub fn new(url: &str) -> Result<PostgresReader, StoreError> {
        Ok(PostgresReader::at(&Arc::new(DatabaseTarget::parse(url)?)))
    }

    pub(super) fn at(target: &Arc<DatabaseTarget>) -> PostgresReader {
        PostgresReader {
            operations: Connection::new(target, READ_SAVED),
            records: Connection::new(target, READ_RECORDS),
        }
    }

    /// A value that all nodes share.
    pub async fn shared(&self, name: &str) -> Result<Option<String>, StoreError> {
        Ok(self.records.read(questions::SHARED, &[&name]).await?.first().map(|row| row.get(0)))
    }
}

#[async_trait]
impl SavedReader for PostgresReader {
    async fn unfinished(
        &self,
        after: Option<OperationId>,
        limit: usize,
    ) -> Result<Vec<SavedOperation>, StoreError> {
        let after = after.map_or_else(Uuid::nil, |after| after.0);
        let found = self.operations.read(sql::UNFINISHED, &[&after, &rows::rows(limit)]).await?;
        let ids: Vec<Uuid> = found.iter().map(|row| row.get(0)).collect();
        let seqs: Vec<i32> = found.iter().map(|row| row.get(4)).collect();
        let mut events: HashMap<Uuid, Vec<SavedEvent>> = HashMap::new();
        for row in self.operations.read(sql::UNFINISHED_EVENTS, &[&ids, &seqs]).await? {
            let seq = rows::unsigned(row.get::<_, i32>(1).into());
            let event = SavedEvent { seq, at: row.get(2), body: row.get(3) };
            events.entry(row.get(0)).or_default().push(event);
        }
        let saved = |row: &Row| SavedOperation {
            id: OperationId(row.get(0)),
            workflow: row.get(1),
            params: row.get(2),
            memory: row.get(3),
            events: events.remove(&row.get(0)).unwrap_or_default(),
        };
        Ok(found.iter().map(saved).collect())
    }

    async fn sealed_page(
        &self,
        column: SealedColumn,
        part: &str,
        after: Option<RowKey>,
    ) -> Result<SealedPage, StoreError> {
        let most = rows::rows(SEALED_PAGE);
        let (mut id, mut seq, mut name) = (Uuid::nil(), 0, String::new());
        match after {
            Some(RowKey::Operation(after)) => id = after.0,
            Some(RowKey::Event(after, number)) => (id, seq) = (after.0, signed(number)?),
            Some(RowKey::Resource(after)) => name = after,
            None => {}
        }
        let by_id: [Param<'_>; 3] = [&id, &most, &part];
        let found = match column {
            SealedColumn::Params => self.operations.read(sql::PARAMS_AFTER, &by_id).await,
            SealedColumn::Memory => self.operations.read(sql::MEMORIES_AFTER, &by_id).await,
            SealedColumn::ArchivedParams => self.operations.read(sql::ARCHIVED_AFTER, &by_id).await,
            SealedColumn::Journal => {
                self.operations.read(sql::EVENTS_AFTER, &[&id, &most, &part, &seq]).await
            }
            SealedColumn::Record => self.records.read(sql::RECORDS_AFTER, &[&name, &most, &part]).await,
        }?;
        Ok(rows::sealed_page(column, found.iter().map(|row| looked_at(column, row)).collect()))
    }
}

fn looked_at(column: SealedColumn, row: &Row) -> ClaimCandidate {
    let key = match column {
        SealedColumn::Record => RowKey::Resource(row.get(0)),
        SealedColumn::Journal => {
            RowKey::Event(OperationId(row.get(0)), rows::unsigned(row.get::<_, i32>(1).into()))
        }
        _ => RowKey::Operation(OperationId(row.get(0))),
    };
    let whose = row.get::<_, Option<String>>(2).zip(row.get::<_, Option<String>>(4));
    let text = whose.zip(row.get::<_, Option<String>>(5));
    (key, text.map(|((tenant, workflow), text)| (tenant, row.get(3), workflow, text)))
}

#[async_trait]
impl SavedReader for PostgresStore {
    async fn unfinished(
        &self,
        after: Option<OperationId>,
        limit: usize,
    ) -> Result<Vec<SavedOperation>, StoreError> {
        self.saved.unfinished(after, limit).await
    }

    async fn sealed_page(
        &self,
        column: SealedColumn,
        part: &str,
        after: Option<RowKey>,
    ) -> Result<SealedPage, StoreError> {
        self.saved.sealed_page(column, part, after).await
    }
}

#[async_trait]
impl SealedWriter for PostgresStore {
    async fn replace_sealed(&self, row: &SealedRow, text: &str) -> Result<bool, StoreError> {
        let changed = match (&row.key, row.column) {
            (RowKey::Resource(name), _) => {
                self.reseal.write(sql::RESEAL_RECORD, &[name, &row.text, &text]).await
            }
            (RowKey::Event(id, seq), _) => {
                let seq = signed(*seq)?;
                self.reseal.write(sql::RESEAL_EVENT, &[&id.0, &row.text, &text, &seq]).await
            }
            (RowKey::Operation(id), column) => {
                let sql = match column {
                    SealedColumn::Memory => sql::RESEAL_MEMORY,
                    SealedColumn::ArchivedParams => sql::RESEAL_ARCHIVED,
                    _ => sql::RESEAL_PARAMS,
                };
                self.reseal.write(sql, &[&id.0, &row.text, &text]).await
            }
        }?;
        Ok(!changed.is_empty())
    }
}
