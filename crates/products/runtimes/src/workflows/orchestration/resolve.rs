//! Chooses the runtimes of an orchestration, page by page, and makes a record for each.

use engine::store::{Expect, ResourceQuery, ResourceRow};
use engine::{Resource, SubmitError};
use futures_util::future::join_all;

use super::{OrchestrationRound, PAGE, TENANT};
use crate::model::instance::InstanceRecord;
use crate::model::orchestration::select::{Readiness, Selection, readiness, without_place};
use crate::model::orchestration::{TargetRecord, TargetState};

impl OrchestrationRound<'_> {
    /// A page that is done again after a crash finds its records there.
    pub(super) async fn resolve(&mut self) -> Result<(), SubmitError> {
        let selection = Selection::new(&self.record.targets)
            .map_err(|(place, rule)| SubmitError::Invalid(format!("{place}: {rule}")))?;
        while !self.record.is_resolved {
            let query = ResourceQuery {
                kind: InstanceRecord::KIND.to_owned(),
                after: self.record.looked_until,
                limit: PAGE,
                ..ResourceQuery::default()
            };
            let rows = self.engine.resources(&query).await?.rows;
            let chosen: Vec<TargetRecord> = rows
                .iter()
                .filter_map(|row| chosen(row, &selection))
                .map(|instance| self.target(instance))
                .collect();
            let writes = chosen.iter().map(|target| self.add_target(target));
            for written in join_all(writes).await {
                written?;
            }
            self.record.is_resolved = rows.len() < PAGE;
            self.record.looked_until = rows.last().map(|row| row.number).or(self.record.looked_until);
            self.save().await?;
        }
        Ok(())
    }

    async fn add_target(&self, target: &TargetRecord) -> Result<bool, SubmitError> {
        let name = TargetRecord::resource(&target.orchestration, &target.instance_id);
        let update = target.record_update().map_err(SubmitError::Invalid)?;
        self.engine.write_resource(&name, TENANT, Expect::Absent, Some(update)).await
    }

    fn target(&self, instance: InstanceRecord) -> TargetRecord {
        let now = self.engine.now();
        let earliest = self.record.strategy.begins_at.unwrap_or(now);
        let skipped = without_place(self.record.kind, &instance);
        let window =
            self.record.strategy.in_window.then(|| self.windows.opening(&instance, earliest.max(now)));
        TargetRecord {
            id: TargetRecord::id_of(&self.record.id, &instance.instance_id),
            orchestration: self.record.id.clone(),
            runtime_id: instance.runtime_id.unwrap_or_default(),
            account: instance.account,
            subaccount: instance.subaccount,
            plan_id: instance.plan_id,
            plan: instance.plan,
            region: instance.region,
            shoot: instance.shoot,
            instance_id: instance.instance_id,
            state: if skipped.is_some() { TargetState::Skipped } else { TargetState::Pending },
            description: skipped.unwrap_or_default().to_owned(),
            attempt: 0,
            operation: None,
            is_immediate: false,
            begins_at: window.map_or(earliest, |window| window.begin.max(earliest)),
            window,
            finished_at: skipped.map(|_| now),
        }
    }
}

/// An instance that fits and has a runtime that can be upgraded, now or soon. One that cannot be read is not ours to
/// change.
pub(crate) fn chosen(row: &ResourceRow, selection: &Selection) -> Option<InstanceRecord> {
    let instance: InstanceRecord = serde_json::from_str(&row.record).ok()?;
    let is_ready = !matches!(readiness(&instance, row.workflow.as_deref(), row.phase), Readiness::Never(_));
    (is_ready && instance.runtime_id.is_some() && selection.fits(&instance)).then_some(instance)
}
