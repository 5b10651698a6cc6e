//! What is saved, as text: for looks that change nothing, and for sealing again.

use async_trait::async_trait;

use super::StoreError;
use crate::ids::OperationId;

/// Reads what is saved without a change to the database, also one with the tables of an earlier release.
#[async_trait]
pub trait SavedReader: Send + Sync + 'static {
    /// Unfinished operations with an id above `after`, in the order of their ids.
    async fn unfinished(
        &self,
        after: Option<OperationId>,
        limit: usize,
    ) -> Result<Vec<SavedOperation>, StoreError>;

    /// Looks at a bounded number of rows after this one, and answers those whose text contains `part`.
    async fn sealed_page(
        &self,
        column: SealedColumn,
        part: &str,
        after: Option<RowKey>,
    ) -> Result<SealedPage, StoreError>;
}

/// Changes the cipher text of saved secrets, and nothing else.
#[async_trait]
pub trait SealedWriter: Send + Sync + 'static {
    /// Replaces the text of a row, if it still is what it was and no node works on its operation; `false` if not.
    async fn replace_sealed(&self, row: &SealedRow, text: &str) -> Result<bool, StoreError>;
}

/// Both: what sealing again needs.
pub trait SealedStore: SavedReader + SealedWriter {}

impl<S: SavedReader + SealedWriter> SealedStore for S {}

/// An unfinished operation as it is saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedOperation {
    pub id: OperationId,
    pub workflow: String,
    pub params: String,
    pub memory: Option<String>,
    /// The bodies of the events after that memory.
    pub events: Vec<SavedEvent>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedEvent {
    pub seq: u32,
    pub at: i64,
    pub body: String,
}

/// A column that may hold sealed values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedColumn {
    /// Of unfinished operations.
    Params,
    /// Of unfinished operations.
    Memory,
    Journal,
    ArchivedParams,
    /// Of resources.
    Record,
}

impl SealedColumn {
    pub const ALL: [SealedColumn; 5] = [
        SealedColumn::Params,
        SealedColumn::Memory,
        SealedColumn::Journal,
        SealedColumn::ArchivedParams,
        SealedColumn::Record,
    ];
}

/// Which row: an operation, an operation and the number of an event, or the name of a resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKey {
    Operation(OperationId),
    Event(OperationId, u32),
    Resource(String),
}

/// A row, and for whom its secrets are sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedRow {
    pub column: SealedColumn,
    pub key: RowKey,
    pub tenant: String,
    pub resource: Option<String>,
    pub workflow: String,
    pub text: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SealedPage {
    pub rows: Vec<SealedRow>,
    /// Where the next page begins; `None` when this was the last one.
    pub next: Option<RowKey>,
}
