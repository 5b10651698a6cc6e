//! What is saved, as text, from memory.

use async_trait::async_trait;

use super::{MemoryRow, MemoryStore, Tables};
use crate::ids::OperationId;
use crate::store::{
    RowKey, SavedEvent, SavedOperation, SavedReader, SealedColumn, SealedPage, SealedRow, SealedWriter,
    StoreError,
};

/// Rows that one page looks at: few, so that tests have several pages.
const PAGE: usize = 4;

#[async_trait]
impl SavedReader for MemoryStore {
    async fn unfinished(
        &self,
        after: Option<OperationId>,
        limit: usize,
    ) -> Result<Vec<SavedOperation>, StoreError> {
        let tables = self.tables();
        let rows = tables.operations.values().filter(|row| after.is_none_or(|after| row.summary.id > after));
        Ok(rows.take(limit).map(|row| tables.saved(row)).collect())
    }

    async fn sealed_page(
        &self,
        column: SealedColumn,
        part: &str,
        after: Option<RowKey>,
    ) -> Result<SealedPage, StoreError> {
        let rows = self.tables().texts(column);
        let mut rows =
            rows.into_iter().skip_while(|row| after.as_ref().is_some_and(|after| row.key <= *after));
        let page: Vec<SealedRow> = rows.by_ref().take(PAGE).collect();
        let next = rows.next().and_then(|_| page.last().map(|row| row.key.clone()));
        Ok(SealedPage { rows: page.into_iter().filter(|row| row.text.contains(part)).collect(), next })
    }
}

#[async_trait]
impl SealedWriter for MemoryStore {
    async fn replace_sealed(&self, row: &SealedRow, text: &str) -> Result<bool, StoreError> {
        let mut tables = self.tables();
        if tables.is_worked_on(row) || !tables.texts(row.column).contains(row) {
            return Ok(false);
        }
        match &row.key {
            RowKey::Operation(id) => {
                let table = &mut *tables;
                let found = match row.column {
                    SealedColumn::ArchivedParams => table.archive.get_mut(id),
                    _ => table.operations.get_mut(id),
                };
                match (row.column, found) {
                    (SealedColumn::Memory, Some(found)) => found.memory = Some(text.to_owned()),
                    (_, Some(found)) => text.clone_into(&mut found.params),
                    (_, None) => return Ok(false),
                }
            }
            RowKey::Event(id, seq) => {
                let body =
                    serde_json::from_str(text).map_err(|error| StoreError::Refused(error.to_string()))?;
                if let Some(event) = tables.journal.get_mut(&(*id, *seq)) {
                    event.body = body;
                }
            }
            RowKey::Resource(name) => tables.resources.reseal(name, text),
        }
        Ok(true)
    }
}

impl Tables {
    fn saved(&self, row: &MemoryRow) -> SavedOperation {
        let id = row.summary.id;
        let events = self.journal.range((id, row.memory_seq + 1)..=(id, u32::MAX));
        let event = |event: &crate::event::Event| SavedEvent {
            seq: event.seq,
            at: event.at.0,
            body: event.body.to_text(),
        };
        SavedOperation {
            id,
            workflow: row.summary.workflow.clone(),
            params: row.params.clone(),
            memory: row.memory.clone(),
            events: events.map(|(_, found)| event(found)).collect(),
        }
    }

    /// Every text of a place, in the order of the keys.
    fn texts(&self, column: SealedColumn) -> Vec<SealedRow> {
        let of = |row: &MemoryRow, key: RowKey, text: String| SealedRow {
            column,
            key,
            tenant: row.summary.tenant.clone(),
            resource: row.summary.resource.clone(),
            workflow: row.summary.workflow.clone(),
            text,
        };
        let operation = |row: &MemoryRow| RowKey::Operation(row.summary.id);
        let params = |row: &MemoryRow| of(row, operation(row), row.params.clone());
        match column {
            SealedColumn::Params => self.operations.values().map(params).collect(),
            SealedColumn::ArchivedParams => self.archive.values().map(params).collect(),
            SealedColumn::Memory => {
                let memory =
                    |row: &MemoryRow| of(row, operation(row), row.memory.clone().unwrap_or_default());
                self.operations.values().map(memory).collect()
            }
            SealedColumn::Journal => {
                let events = self.journal.iter().filter_map(|((id, seq), event)| {
                    let row = self.operations.get(id).or_else(|| self.archive.get(id))?;
                    Some(of(row, RowKey::Event(*id, *seq), event.body.to_text()))
                });
                events.collect()
            }
            SealedColumn::Record => self.resources.texts(),
        }
    }

    fn is_worked_on(&self, row: &SealedRow) -> bool {
        self.operations.values().any(|operation| {
            let is_its = match &row.key {
                RowKey::Operation(id) | RowKey::Event(id, _) => operation.summary.id == *id,
                RowKey::Resource(name) => operation.summary.resource.as_ref() == Some(name),
            };
            is_its && operation.summary.owner.is_some()
        })
    }
}
