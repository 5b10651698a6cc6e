//! A change to a runtime that the Provisioner makes in its own time. Asking for the same change twice is harmless, so it
//! needs no saved intent: a look at what the Provisioner does comes before every call.

use engine::Timestamp;
use engine::prelude::*;
use provisioner::{OnBehalfOf, OperationState, OperationType, Provisioner};

use super::{progress, why};
use crate::model::settings::RuntimesSettings;

pub(crate) struct PendingChange<'a> {
    pub(crate) provisioner: &'a dyn Provisioner,
    pub(crate) runtimes: &'a RuntimesSettings,
    pub(crate) caller: OnBehalfOf<'a>,
    pub(crate) runtime_id: &'a str,
    /// Under which the step remembers it.
    pub(crate) key: &'static str,
    pub(crate) kind: OperationType,
}

/// How far the change is.
pub(crate) enum ChangeProgress {
    NotBegun,
    /// The operation at the Provisioner.
    UnderWay(String),
    Over,
}

/// The operation at the Provisioner, and since when it goes on.
#[derive(Serialize, Deserialize)]
struct RemoteOperation {
    operation: String,
    at: Timestamp,
    #[serde(default)]
    is_over: bool,
}

impl PendingChange<'_> {
    /// From what the step remembers, or else from what the Provisioner is at: that may be ours, with an answer that
    /// we lost. Tries again later while it is at something else.
    pub(crate) async fn progress<W: Workflow>(&self, op: &Operation<W>) -> Result<ChangeProgress, Halt> {
        if let Some(remote) = op.recall_as::<RemoteOperation>(self.key)? {
            return Ok(if remote.is_over {
                ChangeProgress::Over
            } else {
                ChangeProgress::UnderWay(remote.operation)
            });
        }
        let status = self.provisioner.runtime_status(self.caller, self.runtime_id).await?;
        let works = |state| matches!(state, OperationState::Pending | OperationState::InProgress);
        match status.last_operation.filter(|last| works(last.state)) {
            Some(last) if last.operation == self.kind => Ok(ChangeProgress::UnderWay(last.id)),
            Some(last) => {
                let cause = format!("the Provisioner is still at work on the runtime: {}", last.message);
                Err(Halt::Retry { after: None, cause: cause.into() })
            }
            None => Ok(ChangeProgress::NotBegun),
        }
    }

    /// Waits until the operation has succeeded.
    pub(crate) async fn follow<W: Workflow>(&self, op: &mut Operation<W>, operation: String) -> Outcome {
        let now = op.now();
        let at = op.recall_as::<RemoteOperation>(self.key)?.map_or(now, |remote| remote.at);
        let mut remote = RemoteOperation { operation, at, is_over: false };
        op.remember_as(self.key, &remote)?;
        let status = self.provisioner.operation_status(self.caller, &remote.operation).await?;
        match status.state {
            OperationState::Succeeded => {
                remote.is_over = true;
                op.remember_as(self.key, &remote)?;
                done()
            }
            OperationState::Failed => Err(Halt::fail(why(&status))),
            _ => wait(self.runtimes.pause(now.since(at)), progress(&status)),
        }
    }
}
