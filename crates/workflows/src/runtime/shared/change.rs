//! A change to a runtime that the Provisioner makes in its own time. Asking for the same change twice is harmless.

use drivers::provisioner::{Caller, OperationState, OperationType, Provisioner};
use engine::Timestamp;
use engine::prelude::*;

use super::{fail_with, progress, why};
use crate::runtime::settings::Runtimes;

pub(in crate::runtime) struct Change<'a> {
    pub(in crate::runtime) provisioner: &'a dyn Provisioner,
    pub(in crate::runtime) runtimes: &'a Runtimes,
    pub(in crate::runtime) caller: Caller<'a>,
    pub(in crate::runtime) runtime_id: &'a str,
    /// Under which the step remembers it.
    pub(in crate::runtime) key: &'static str,
    pub(in crate::runtime) kind: OperationType,
}

/// How far the change is.
pub(in crate::runtime) enum Progress {
    NotBegun,
    /// The operation at the Provisioner.
    UnderWay(String),
    Over,
}

/// The operation at the Provisioner, and since when it goes on.
#[derive(Serialize, Deserialize)]
struct Asked {
    operation: String,
    at: Timestamp,
    #[serde(default)]
    is_over: bool,
}

impl Change<'_> {
    /// From what the step remembers, or else from what the Provisioner is at: that may be ours, with an answer that
    /// we lost. Tries again later while it is at something else.
    pub(in crate::runtime) async fn progress<W: Workflow>(
        &self,
        op: &Operation<W>,
    ) -> Result<Progress, Halt> {
        if let Some(asked) = op.recall_as::<Asked>(self.key)? {
            return Ok(if asked.is_over { Progress::Over } else { Progress::UnderWay(asked.operation) });
        }
        let status = self.provisioner.runtime_status(self.caller, self.runtime_id).await?;
        let works = |state| matches!(state, OperationState::Pending | OperationState::InProgress);
        match status.last_operation.filter(|last| works(last.state)) {
            Some(last) if last.operation == self.kind => Ok(Progress::UnderWay(last.id)),
            Some(last) => {
                let cause = format!("the Provisioner is still at work on the runtime: {}", last.message);
                Err(Halt::Retry { after: None, cause: cause.into() })
            }
            None => Ok(Progress::NotBegun),
        }
    }

    /// Waits until the operation has succeeded.
    pub(in crate::runtime) async fn follow<W: Workflow>(
        &self,
        op: &mut Operation<W>,
        operation: String,
    ) -> Outcome {
        let now = op.now();
        let at = op.recall_as::<Asked>(self.key)?.map_or(now, |asked| asked.at);
        let mut asked = Asked { operation, at, is_over: false };
        op.remember_as(self.key, &asked)?;
        let status = self.provisioner.operation_status(self.caller, &asked.operation).await?;
        match status.state {
            OperationState::Succeeded => {
                asked.is_over = true;
                op.remember_as(self.key, &asked)?;
                done()
            }
            OperationState::Failed => Err(fail_with(why(&status))),
            _ => wait(self.runtimes.pause(now.since(at)), progress(&status)),
        }
    }
}
