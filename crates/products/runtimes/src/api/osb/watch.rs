//! Waits for an operation on behalf of a caller who wants the result at once: it watches the rows.

use engine::OperationId;
use engine::store::ResourceRow;
use tokio::time::timeout;

use super::{BrokerShared, error};
use server::http::{Failure, OperationEvents};

impl BrokerShared {
    /// Returns when the operation is over, or another one has taken its place. A platform does not wait long: then it is
    /// told that it takes too long, and cleans up after itself.
    pub(crate) async fn wait_for(&self, resource: &str, operation: OperationId) -> Result<(), Failure> {
        let over = timeout(self.settings().bind_wait, self.watch(resource, operation)).await;
        over.unwrap_or_else(|_| Err(error::unavailable("it takes longer than expected; ask again later")))
    }

    async fn watch(&self, resource: &str, operation: OperationId) -> Result<(), Failure> {
        let mut updates = OperationEvents::of(&self.app, Some(operation));
        let is_open = |row: ResourceRow| {
            row.operation == Some(operation) && row.phase.is_some_and(|phase| !phase.is_final())
        };
        while self.app.engine.resource(resource).await?.is_some_and(is_open) {
            updates.next().await;
        }
        Ok(())
    }
}
