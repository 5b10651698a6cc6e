//! Takes pending targets out of the queue when an orchestration is canceled, and puts failed ones back into it.

use engine::SubmitError;
use engine::store::ResourceQuery;

use super::{OrchestrationRound, PAGE, StoredTarget, of_targets, read_targets};
use crate::model::orchestration::{OrchestrationState, TargetRecord, TargetState};

impl OrchestrationRound<'_> {
    /// What has not begun does not begin.
    pub(super) async fn cancel_pending(&mut self) -> Result<(), SubmitError> {
        let now = self.engine.now();
        let mut after = None;
        loop {
            let found = self.in_state(TargetState::Pending, after).await?;
            after = found.last().map(|stored| stored.row.number);
            let is_last = found.len() < PAGE;
            let pending = found.into_iter().filter(|stored| !self.is_running(&stored.target.instance_id));
            let canceled = pending.map(|mut stored| {
                stored.target.state = TargetState::Canceled;
                "canceled before it began".clone_into(&mut stored.target.description);
                stored.target.finished_at = Some(now);
                stored
            });
            self.write_targets(canceled.collect()).await?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// What failed is tried again, under a new key.
    pub(super) async fn requeue_failed(&mut self) -> Result<(), SubmitError> {
        let Some(retry) = self.record.retry.clone() else { return Ok(()) };
        let now = self.engine.now();
        let mut after = None;
        loop {
            let found = self.in_state(TargetState::Failed, after).await?;
            after = found.last().map(|stored| stored.row.number);
            let is_last = found.len() < PAGE;
            let wanted = found.into_iter().filter(|stored| {
                retry.operations.is_empty() || retry.operations.contains(&stored.target.id.to_string())
            });
            let again = wanted.map(|mut stored| {
                stored.target.state = TargetState::Pending;
                stored.target.description = String::new();
                stored.target.attempt += 1;
                stored.target.operation = None;
                stored.target.is_immediate |= retry.immediate;
                stored.target.begins_at = now;
                stored.target.finished_at = None;
                stored
            });
            self.write_targets(again.collect()).await?;
            if is_last {
                break;
            }
        }
        self.record.retry = None;
        self.record.failures = 0;
        self.record.is_canary_over = true;
        if self.record.state == OrchestrationState::Retrying {
            self.record.state = OrchestrationState::InProgress;
            "upgrading again what failed".clone_into(&mut self.record.description);
        }
        Ok(())
    }

    async fn in_state(
        &self,
        state: TargetState,
        after: Option<i64>,
    ) -> Result<Vec<StoredTarget>, SubmitError> {
        let query = ResourceQuery {
            labels: vec![("progress".to_owned(), vec![TargetRecord::progress(&self.record.id, state)])],
            also_gone: true,
            after,
            limit: PAGE,
            ..of_targets()
        };
        read_targets(self.engine, &query).await
    }
}
