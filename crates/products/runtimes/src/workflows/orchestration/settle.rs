//! Notes which upgrades are over, and how each ended.

use std::collections::BTreeMap;

use engine::store::{ResourceQuery, ResourceRow, Summary};
use engine::{Inspection, OperationId, Phase, Resource, Submission, SubmitError, Timestamp};

use super::{BY, OrchestrationRound, StoredTarget, of_targets, read_targets};
use crate::model::instance::InstanceRecord;
use crate::model::orchestration::{RunningTarget, TargetRecord, TargetState};
use crate::workflows::upgrade::{Params, Upgrade};

/// How an upgrade ended.
struct UpgradeEnd {
    running: RunningTarget,
    state: TargetState,
    description: String,
    lasted_ms: u64,
}

const DESCRIPTION_CHARS_MAX: usize = 500;

impl OrchestrationRound<'_> {
    /// The records of the targets are written first. After a crash the orchestration still names them as running, and they
    /// are written again with the same content.
    pub(super) async fn settle(&mut self) -> Result<(), SubmitError> {
        if self.record.running.is_empty() {
            return Ok(());
        }
        self.find_operations().await?;
        let instances =
            self.instances(self.record.running.iter().map(|one| one.instance_id.as_str())).await?;
        let mut ended = Vec::new();
        for running in &self.record.running {
            let row = instances.get(&running.instance_id);
            let is_at_work = row.is_some_and(|row| {
                row.operation == running.operation && row.phase.is_some_and(|phase| !phase.is_final())
            });
            if !is_at_work && let Some(end) = self.ended(running).await? {
                ended.push(end);
            }
        }
        let now = self.engine.now();
        let names = ended
            .iter()
            .map(|end| TargetRecord::resource(&self.record.id, &end.running.instance_id))
            .collect::<Vec<_>>();
        self.write_ends(&ended, names, now).await?;
        for end in ended {
            self.record.running.retain(|running| running.instance_id != end.running.instance_id);
            self.record.failures += u32::from(end.state == TargetState::Failed);
            self.record.durations.count += 1;
            self.record.durations.total_ms = self.record.durations.total_ms.saturating_add(end.lasted_ms);
        }
        Ok(())
    }

    async fn write_ends(
        &self,
        ended: &[UpgradeEnd],
        names: Vec<String>,
        now: Timestamp,
    ) -> Result<(), SubmitError> {
        if names.is_empty() {
            return Ok(());
        }
        let query = ResourceQuery { limit: names.len(), names, also_gone: true, ..of_targets() };
        let mut writes = Vec::new();
        for StoredTarget { row, mut target } in read_targets(self.engine, &query).await? {
            let Some(end) = ended.iter().find(|end| end.running.instance_id == target.instance_id) else {
                continue;
            };
            if target.state.is_final() || target.attempt != end.running.attempt {
                continue;
            }
            target.state = end.state;
            target.description.clone_from(&end.description);
            target.operation = end.running.operation;
            target.finished_at = Some(now);
            writes.push(StoredTarget { row, target });
        }
        self.write_targets(writes).await
    }

    /// Where the process died right after an upgrade was accepted, its key finds it again.
    async fn find_operations(&mut self) -> Result<(), SubmitError> {
        for index in 0..self.record.running.len() {
            let RunningTarget { instance_id, attempt, operation } = self.record.running[index].clone();
            if operation.is_some() {
                continue;
            }
            let resource = InstanceRecord::resource(&instance_id);
            let Some(row) = self.engine.resource(&resource).await? else { continue };
            let instance = serde_json::from_str::<InstanceRecord>(&row.record).ok();
            let name = instance.as_ref().and_then(InstanceRecord::shown_name);
            let params = self.params(&instance_id, attempt);
            let key = TargetRecord::key(&self.record.id, &instance_id, attempt);
            let submission = Submission::<Upgrade>::new(&row.tenant, BY, &params);
            let submission =
                Submission { resource: Some(&resource), name, idempotency_key: Some(&key), ..submission };
            let found = self.engine.submit(submission).await?.id;
            self.record.running[index].operation = Some(found);
            self.mark_running(&instance_id, found).await?;
        }
        Ok(())
    }

    /// Says in the record of a target that it is being upgraded. Another node may have written more by now.
    pub(super) async fn mark_running(
        &self,
        instance_id: &str,
        operation: OperationId,
    ) -> Result<(), SubmitError> {
        let name = TargetRecord::resource(&self.record.id, instance_id);
        let query = ResourceQuery { limit: 1, names: vec![name], also_gone: true, ..of_targets() };
        let found = read_targets(self.engine, &query).await?.pop();
        let Some(StoredTarget { row, mut target }) =
            found.filter(|found| found.target.state == TargetState::Pending)
        else {
            return Ok(());
        };
        target.state = TargetState::InProgress;
        target.operation = Some(operation);
        target.description = String::new();
        self.write_target(&StoredTarget { row, target }).await.map(|_| ())
    }

    pub(super) fn params(&self, instance_id: &str, attempt: u32) -> Params {
        Params {
            instance_id: instance_id.to_owned(),
            change: self.record.change.clone(),
            orchestration: Some(self.record.id.clone()),
            attempt,
        }
    }

    /// The rows of instances by their ids.
    pub(super) async fn instances(
        &self,
        ids: impl Iterator<Item = &str>,
    ) -> Result<BTreeMap<String, ResourceRow>, SubmitError> {
        let names: Vec<String> = ids.map(InstanceRecord::resource).collect();
        let query = ResourceQuery {
            kind: InstanceRecord::KIND.to_owned(),
            limit: names.len(),
            names,
            also_gone: true,
            ..ResourceQuery::default()
        };
        let rows = self.engine.resources(&query).await?.rows;
        let prefix = InstanceRecord::resource("");
        let id = |row: &ResourceRow| row.name.strip_prefix(&prefix).unwrap_or(&row.name).to_owned();
        Ok(rows.into_iter().map(|row| (id(&row), row)).collect())
    }

    async fn ended(&self, running: &RunningTarget) -> Result<Option<UpgradeEnd>, SubmitError> {
        let Some(id) = running.operation else { return Ok(None) };
        let end = |state, description, lasted_ms| {
            Some(UpgradeEnd { running: running.clone(), state, description, lasted_ms })
        };
        let Some(inspection) = self.engine.inspect(id).await? else {
            return Ok(end(TargetState::Failed, "its operation is not known any longer".to_owned(), 0));
        };
        let summary = &inspection.shown.summary;
        let lasted_ms = lasted_ms(summary);
        Ok(match summary.phase {
            Phase::Succeeded => end(TargetState::Succeeded, "upgraded".to_owned(), lasted_ms),
            phase if phase.is_final() => end(TargetState::Failed, why(&inspection), lasted_ms),
            _ => None,
        })
    }
}

fn lasted_ms(summary: &Summary) -> u64 {
    let lasted = summary.finished_at.map(|at| at.since(summary.created_at)).unwrap_or_default();
    u64::try_from(lasted.as_millis()).unwrap_or(u64::MAX)
}

fn why(inspection: &Inspection) -> String {
    let text = match &inspection.memory.last_error {
        Some(error) => format!("{}: {}", error.step, error.cause),
        None => format!("the operation is {}", inspection.shown.summary.phase),
    };
    text.chars().take(DESCRIPTION_CHARS_MAX).collect()
}
