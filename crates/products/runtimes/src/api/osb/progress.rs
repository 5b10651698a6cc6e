//! The progress of an operation, as text for the user of a platform.

use crate::model::{BIND, DEPROVISION, PROVISION, UNBIND, UPDATE};
use engine::store::{OperationQuery, ResourceRow, Summary};
use engine::{OperationId, Phase};
use uuid::Uuid;

use super::{BrokerShared, wire};
use server::http::Failure;

/// What is to be told about one operation.
pub(crate) struct OperationProgress {
    pub(crate) workflow: String,
    phase: Phase,
    step: Option<String>,
    reason: Option<String>,
}

impl From<Summary> for OperationProgress {
    fn from(summary: Summary) -> OperationProgress {
        let Summary { workflow, phase, step, reason, .. } = summary;
        OperationProgress { workflow, phase, step, reason }
    }
}

impl OperationProgress {
    pub(crate) fn state(&self) -> wire::State {
        match self.phase {
            Phase::Succeeded => wire::State::Succeeded,
            phase if phase.is_final() => wire::State::Failed,
            _ => wire::State::InProgress,
        }
    }

    /// Whether it has removed the instance or the binding.
    pub(crate) fn has_deleted(&self) -> bool {
        self.phase == Phase::Succeeded && [DEPROVISION, UNBIND].contains(&self.workflow.as_str())
    }

    /// Why it failed.
    pub(crate) fn cause(&self) -> String {
        let cause = self.reason.clone().filter(|reason| !reason.is_empty());
        let cause = cause.unwrap_or_else(|| "no cause was recorded".into());
        if self.phase == Phase::Cancelled { format!("it was cancelled: {cause}") } else { cause }
    }
}

impl BrokerShared {
    /// The operation that a platform names, if that is an older one of this resource.
    pub(crate) async fn older(
        &self,
        row: &ResourceRow,
        named: Option<&str>,
    ) -> Result<Option<OperationProgress>, Failure> {
        let named = named.and_then(|text| text.parse().ok()).filter(|id| Some(*id) != row.operation);
        match named {
            Some(id) => self.operation(row, id).await,
            None => Ok(None),
        }
    }

    /// The newest operation. `None` when there has never been any. The record has its phase, written in the same commit
    /// as everything else about the end of the operation. So the record decides, and the operation only adds the step and
    /// the reason: it may have gone on since the record was read.
    pub(crate) async fn newest(&self, row: &ResourceRow) -> Result<Option<OperationProgress>, Failure> {
        let (Some(id), Some(workflow), Some(phase)) = (row.operation, &row.workflow, row.phase) else {
            return Ok(None);
        };
        let known = OperationProgress { workflow: workflow.clone(), phase, step: None, reason: None };
        // A success needs no words of its own.
        if phase == Phase::Succeeded {
            return Ok(Some(known));
        }
        let read = self.operation(row, id).await?;
        let is_same =
            |read: &OperationProgress| read.phase == phase || !(read.phase.is_final() || phase.is_final());
        Ok(Some(read.filter(is_same).unwrap_or(known)))
    }

    async fn operation(
        &self,
        row: &ResourceRow,
        id: OperationId,
    ) -> Result<Option<OperationProgress>, Failure> {
        let next = OperationId(Uuid::from_u128(id.0.as_u128().saturating_add(1)));
        let query = OperationQuery {
            resource: Some(row.name.clone()),
            from: Some(id),
            before: Some(next),
            limit: 1,
            ..OperationQuery::default()
        };
        Ok(self.app.engine.list(&query).await?.pop().map(OperationProgress::from))
    }

    pub(crate) fn describe(&self, progress: &OperationProgress) -> String {
        match progress.state() {
            wire::State::Succeeded => self.succeeded(&progress.workflow).to_owned(),
            wire::State::Failed => progress.cause(),
            wire::State::InProgress if self.settings().compat_keb => "Operation created".into(),
            wire::State::InProgress => self.under_way(progress),
        }
    }

    fn succeeded(&self, workflow: &str) -> &'static str {
        match (workflow, self.settings().compat_keb) {
            (DEPROVISION, true) => "Operation succeeded. The instance was deprovisioned.",
            (_, true) => "Processing finished",
            (PROVISION, _) => "the runtime is ready",
            (UPDATE, _) => "the change is made",
            (DEPROVISION, _) => "the runtime is removed",
            (BIND, _) => "the credentials are made",
            (UNBIND, _) => "the credentials are revoked",
            _ => "it is done",
        }
    }

    /// The step that is at work, and what it waits for.
    fn under_way(&self, progress: &OperationProgress) -> String {
        let plan = self.app.engine.workflow(&progress.workflow);
        let step = progress.step.as_deref();
        let found =
            plan.as_ref().and_then(|plan| plan.steps.iter().find(|info| Some(info.name.as_str()) == step));
        let title = found.map(|info| info.title.as_str());
        let before = match progress.phase {
            Phase::Stuck => Some("an operator has to look at it"),
            Phase::Paused => Some("an operator holds it"),
            Phase::Undoing => Some("taking back what was made"),
            _ => title,
        };
        let reason = progress.reason.as_deref().filter(|reason| !reason.is_empty());
        match (before, reason) {
            (Some(before), Some(reason)) => format!("{before}: {reason}"),
            (Some(only), None) | (None, Some(only)) => only.to_owned(),
            (None, None) => "it is under way".into(),
        }
    }
}
