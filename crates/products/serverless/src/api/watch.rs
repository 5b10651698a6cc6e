//! Waits for an operation on behalf of a caller who wants the result at once: it watches the rows.

use engine::{Inspection, OperationId, Phase, Timestamp};
use tokio::time::timeout;

use super::error::broken;
use super::{ServerlessShared, error, outcome};
use server::http::{Failure, OperationEvents};

impl ServerlessShared {
    /// Returns when the operation is over, or cannot go on without a person. `None` when that takes longer than
    /// a caller may be kept waiting who asked at this moment.
    pub(crate) async fn wait_for(
        &self,
        operation: OperationId,
        began: Timestamp,
    ) -> Result<Option<Inspection>, Failure> {
        let left = self.api_parts.patience().saturating_sub(self.app.engine.now().since(began));
        timeout(left, self.watch(operation)).await.map_or(Ok(None), |over| over.map(Some))
    }

    /// What a caller is told who has waited long enough for an operation that is not over, and whether the operation
    /// goes back. An error that a step met on its way is passing unless the operation goes back because of it.
    pub(crate) async fn late(&self, operation: OperationId, error: &str) -> Result<(Failure, bool), Failure> {
        let found = self.app.engine.inspect(operation).await?;
        let undoing = found.filter(|found| found.shown.summary.phase == Phase::Undoing);
        let Some(found) = undoing else { return Ok((error::takes_long(error, operation), false)) };
        let late = match outcome::runtime_error(&found)? {
            Some(cause) => error::being_undone(error, &cause, operation),
            None => error::taken_back(error, operation),
        };
        Ok((late, true))
    }

    async fn watch(&self, operation: OperationId) -> Result<Inspection, Failure> {
        let mut updates = OperationEvents::of(&self.app, Some(operation));
        loop {
            let found = self.app.engine.inspect(operation).await?;
            let found = found.ok_or_else(|| broken("an operation is gone before it is over"))?;
            if is_settled(&found) {
                return Ok(found);
            }
            updates.next_while_open().await.ok_or_else(|| error::stopping(operation))?;
        }
    }
}

fn is_settled(found: &Inspection) -> bool {
    let summary = &found.shown.summary;
    // One that is stuck and was just asked for something has not heard it yet.
    summary.phase.is_final() || (summary.phase == Phase::Stuck && summary.control.is_none())
}
