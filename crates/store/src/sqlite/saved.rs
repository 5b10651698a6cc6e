//! What is saved, as text: read on connections that cannot write, changed by the one thread that writes.

use std::path::Path;

use async_trait::async_trait;
use engine::OperationId;
use engine::store::{
    RowKey, SavedEvent, SavedOperation, SavedReader, SealedColumn, SealedPage, SealedRow, SealedWriter,
    StoreError,
};
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use super::apply::{all, execute, one, uuid};
use super::reader::Readers;
use super::saved_statements as sql;
use super::writer::Transaction;
use super::{SqliteStore, statements};
use crate::SEALED_PAGE;
use crate::rows;

/// A database that is only looked at, also while a server has it open. Nothing is made or brought up to date.
pub struct SqliteReader(Readers);

impl SqliteReader {
    pub fn open(path: &Path) -> Result<SqliteReader, StoreError> {
        Readers::open(path).map(SqliteReader)
    }

    /// A value that all nodes share.
    pub async fn shared(&self, name: &str) -> Result<Option<String>, StoreError> {
        let name = name.to_owned();
        self.0.run(move |db: &_| one(db, statements::SHARED, [name], |row| row.get(0))).await
    }
}

macro_rules! reads_saved {
    ($store:ty, $readers:tt) => {
        #[async_trait]
        impl SavedReader for $store {
            async fn unfinished(
                &self,
                after: Option<OperationId>,
                limit: usize,
            ) -> Result<Vec<SavedOperation>, StoreError> {
                self.$readers.run(move |db| unfinished(db, after, limit)).await
            }

            async fn sealed_page(
                &self,
                column: SealedColumn,
                part: &str,
                after: Option<RowKey>,
            ) -> Result<SealedPage, StoreError> {
                let part = part.to_owned();
                self.$readers.run(move |db| page(db, column, &part, after.as_ref())).await
            }
        }
    };
}

reads_saved!(SqliteStore, readers);
reads_saved!(SqliteReader, 0);

#[async_trait]
impl SealedWriter for SqliteStore {
    async fn replace_sealed(&self, row: &SealedRow, text: &str) -> Result<bool, StoreError> {
        let (row, text) = (row.clone(), text.to_owned());
        self.writer.run(move |transaction: &Transaction<'_>| replace(transaction.db, &row, &text)).await
    }
}

fn unfinished(
    db: &Connection,
    after: Option<OperationId>,
    limit: usize,
) -> Result<Vec<SavedOperation>, StoreError> {
    let after = after.map_or_else(Uuid::nil, |after| after.0);
    let read = |row: &Row<'_>| {
        let saved = SavedOperation {
            id: OperationId(uuid(row, 0)?),
            workflow: row.get(1)?,
            params: row.get(2)?,
            memory: row.get(3)?,
            events: Vec::new(),
        };
        Ok((saved, row.get::<_, u32>(4)?))
    };
    let found = all(db, sql::UNFINISHED, params![after.as_bytes(), rows::rows(limit)], read)?;
    let mut operations = Vec::with_capacity(found.len());
    for (mut saved, seq) in found {
        let event = |row: &Row<'_>| Ok(SavedEvent { seq: row.get(0)?, at: row.get(1)?, body: row.get(2)? });
        saved.events = all(db, statements::JOURNAL, params![saved.id.0.as_bytes(), seq, i64::MAX], event)?;
        operations.push(saved);
    }
    Ok(operations)
}

fn page(
    db: &Connection,
    column: SealedColumn,
    part: &str,
    after: Option<&RowKey>,
) -> Result<SealedPage, StoreError> {
    let read = |row: &Row<'_>| {
        let key = match column {
            SealedColumn::Record => RowKey::Resource(row.get(0)?),
            SealedColumn::Journal => RowKey::Event(OperationId(uuid(row, 0)?), row.get(1)?),
            _ => RowKey::Operation(OperationId(uuid(row, 0)?)),
        };
        let (tenant, resource, workflow) =
            (row.get::<_, Option<String>>(2)?, row.get(3)?, row.get::<_, Option<_>>(4)?);
        let text: Option<String> = row.get(5)?;
        Ok((
            key,
            tenant
                .zip(workflow)
                .zip(text)
                .map(|((tenant, workflow), text)| (tenant, resource, workflow, text)),
        ))
    };
    let most = rows::rows(SEALED_PAGE);
    let nil = Uuid::nil();
    let found = match (column, after) {
        (SealedColumn::Record, Some(RowKey::Resource(name))) => {
            all(db, sql::RECORDS_AFTER, params![name, most, part], read)
        }
        (SealedColumn::Record, _) => all(db, sql::RECORDS_AFTER, params!["", most, part], read),
        (SealedColumn::Journal, Some(RowKey::Event(id, seq))) => {
            all(db, sql::EVENTS_AFTER, params![id.0.as_bytes(), most, part, seq], read)
        }
        (SealedColumn::Journal, _) => {
            all(db, sql::EVENTS_AFTER, params![nil.as_bytes(), most, part, 0], read)
        }
        (column, after) => {
            let after = if let Some(RowKey::Operation(id)) = after { id.0 } else { nil };
            let sql = match column {
                SealedColumn::Memory => sql::MEMORIES_AFTER,
                SealedColumn::ArchivedParams => sql::ARCHIVED_AFTER,
                _ => sql::PARAMS_AFTER,
            };
            all(db, sql, params![after.as_bytes(), most, part], read)
        }
    }?;
    Ok(rows::sealed_page(column, found))
}

fn replace(db: &Connection, row: &SealedRow, text: &str) -> Result<bool, StoreError> {
    let changed = match (&row.key, row.column) {
        (RowKey::Resource(name), _) => execute(db, sql::RESEAL_RECORD, params![name, row.text, text]),
        (RowKey::Event(id, seq), _) => {
            execute(db, sql::RESEAL_EVENT, params![id.0.as_bytes(), row.text, text, seq])
        }
        (RowKey::Operation(id), column) => {
            let sql = match column {
                SealedColumn::Memory => sql::RESEAL_MEMORY,
                SealedColumn::ArchivedParams => sql::RESEAL_ARCHIVED,
                _ => sql::RESEAL_PARAMS,
            };
            execute(db, sql, params![id.0.as_bytes(), row.text, text])
        }
    }?;
    Ok(changed > 0)
}
