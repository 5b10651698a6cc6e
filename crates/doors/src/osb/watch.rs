//! Waits for an operation on behalf of a caller who wants the result at once: it watches the rows.

use engine::OperationId;
use engine::store::ResourceRow;
use tokio::time::{sleep, timeout};

use super::Broker;
use super::error;
use crate::http::Failure;

impl Broker {
    /// Returns when the operation is over, or another one has taken its place. It is not in the nature of a
    /// platform to wait long: then it is told that the far side is in trouble, and cleans up after itself.
    pub(super) async fn wait_for(&self, resource: &str, operation: OperationId) -> Result<(), Failure> {
        let over = timeout(self.settings().bind_wait, self.watch(resource, operation)).await;
        over.unwrap_or_else(|_| Err(error::unavailable("it takes longer than expected; ask again later")))
    }

    async fn watch(&self, resource: &str, operation: OperationId) -> Result<(), Failure> {
        let poll = self.hall.settings.stream_poll;
        let mut bell = self.hall.watchers.watch(operation);
        let is_open = |row: ResourceRow| {
            row.operation == Some(operation) && row.phase.is_some_and(|phase| !phase.is_final())
        };
        while self.hall.engine.resource(resource).await?.is_some_and(is_open) {
            // Another node may have the operation, and nobody here is told.
            match &mut bell {
                Some(bell) => drop(timeout(poll, bell.rings()).await),
                None => sleep(poll).await,
            }
        }
        Ok(())
    }
}
