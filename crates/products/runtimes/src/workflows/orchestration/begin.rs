//! Begins the upgrades of as many runtimes as may be upgraded now.

use std::time::Duration;

use engine::store::{Expect, ResourceRow};
use engine::{OperationId, RecordWrites, Resource, Submission, SubmitError};
use futures_util::future::join_all;

use super::{BY, OrchestrationRound, StoredTarget};
use crate::model::instance::InstanceRecord;
use crate::model::orchestration::decide::{begins, slots};
use crate::model::orchestration::select::{Readiness, readiness};
use crate::model::orchestration::{RunningTarget, TargetRecord, TargetState};
use crate::workflows::upgrade::Upgrade;

/// A runtime that another operation works on is looked at again after this.
const BUSY_PAUSE: Duration = Duration::from_secs(10);
/// One round ends after so many looks, so that other orchestrations get their turn.
const LOOKS_MAX: usize = 1000;

impl OrchestrationRound<'_> {
    pub(super) async fn begin(&mut self) -> Result<(), SubmitError> {
        let mut begun = Vec::new();
        self.begin_all(&mut begun).await?;
        // What is not marked because the process dies here is still named as running by the orchestration.
        for marked in join_all(begun.iter().map(|(id, operation)| self.mark_running(id, *operation))).await {
            marked?;
        }
        Ok(())
    }

    async fn begin_all(&mut self, begun: &mut Vec<(String, OperationId)>) -> Result<(), SubmitError> {
        let mut looks = 0;
        while slots(&self.record) > 0 && looks < LOOKS_MAX {
            // One that runs may still be marked as pending.
            let wanted = slots(&self.record) + self.record.running.len();
            let found = self.pending(self.engine.now(), wanted).await?;
            let found: Vec<StoredTarget> =
                found.into_iter().filter(|stored| !self.is_running(&stored.target.instance_id)).collect();
            if found.is_empty() {
                return Ok(());
            }
            looks += found.len();
            let ids = found.iter().map(|stored| stored.target.instance_id.as_str());
            let mut instances = self.instances(ids).await?;
            for stored in found {
                if slots(&self.record) == 0 {
                    return Ok(());
                }
                let instance = instances.remove(&stored.target.instance_id);
                begun.extend(self.begin_one(stored, instance).await?);
            }
        }
        Ok(())
    }

    async fn begin_one(
        &mut self,
        mut stored: StoredTarget,
        instance_row: Option<ResourceRow>,
    ) -> Result<Option<(String, OperationId)>, SubmitError> {
        let now = self.engine.now();
        let read = instance_row
            .as_ref()
            .and_then(|row| Some((row, serde_json::from_str::<InstanceRecord>(&row.record).ok()?)));
        let ready =
            read.as_ref().map_or(Readiness::Never("it does not exist any longer"), |(row, instance)| {
                readiness(instance, row.workflow.as_deref(), row.phase)
            });
        let Some((row, instance)) = read.filter(|_| ready == Readiness::Ready) else {
            match ready {
                Readiness::Busy(why) => self.later(stored, why).await?,
                Readiness::Never(why) => self.skip(stored, why).await?,
                Readiness::Ready => {}
            }
            return Ok(None);
        };
        let opening = self.record.strategy.in_window.then(|| self.windows.opening(&instance, now));
        stored.target.window = opening.or(stored.target.window);
        if let Some((at, why)) = begins(&stored.target, opening, now) {
            (stored.target.begins_at, stored.target.description) = (at, why);
            return self.write_targets(vec![stored]).await.map(|()| None);
        }
        self.submit(stored, row, &instance).await
    }

    /// Accepts the upgrade in the commit in which the orchestration names it as running.
    async fn submit(
        &mut self,
        stored: StoredTarget,
        row: &ResourceRow,
        instance: &InstanceRecord,
    ) -> Result<Option<(String, OperationId)>, SubmitError> {
        let StoredTarget { target, .. } = &stored;
        let mut next = self.record.clone();
        let running = RunningTarget {
            instance_id: target.instance_id.clone(),
            attempt: target.attempt,
            operation: None,
        };
        next.running.push(running);
        next.begun += 1;
        next.due_at = Some(self.engine.now().plus(self.check));
        let update = next.record_update().map_err(SubmitError::Invalid)?;
        let along = RecordWrites {
            subject: Some((Expect::Version(row.version), None)),
            beside: Some((self.name.clone(), Expect::Version(self.version), Some(update))),
            supersedes: None,
        };
        let params = self.params(&target.instance_id, target.attempt);
        let key = TargetRecord::key(&self.record.id, &target.instance_id, target.attempt);
        let submission = Submission::<Upgrade>::new(&row.tenant, BY, &params);
        let (resource, name) = (Some(row.name.as_str()), instance.shown_name());
        let submission = Submission { resource, name, idempotency_key: Some(&key), along, ..submission };
        let accepted = match self.engine.submit(submission).await {
            Err(SubmitError::Busy { operation }) => {
                return self
                    .later(stored, &format!("operation {operation} works on it"))
                    .await
                    .map(|()| None);
            }
            accepted => accepted?,
        };
        // Nothing is written for an operation that is there already.
        self.version += i64::from(!accepted.repeated);
        self.record = next;
        if let Some(last) = self.record.running.last_mut() {
            last.operation = Some(accepted.id);
        }
        Ok(Some((stored.target.instance_id, accepted.id)))
    }

    async fn later(&self, mut stored: StoredTarget, why: &str) -> Result<(), SubmitError> {
        stored.target.begins_at = self.engine.now().plus(BUSY_PAUSE);
        stored.target.description = format!("waits: {why}");
        self.write_targets(vec![stored]).await
    }

    async fn skip(&self, mut stored: StoredTarget, why: &str) -> Result<(), SubmitError> {
        stored.target.state = TargetState::Skipped;
        stored.target.description = why.to_owned();
        stored.target.finished_at = Some(self.engine.now());
        self.write_targets(vec![stored]).await
    }
}
