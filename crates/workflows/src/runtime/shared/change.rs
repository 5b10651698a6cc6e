//! A change to a runtime that the Provisioner makes in its own time.

use drivers::provisioner::{Caller, OperationState, OperationType, Provisioner};
use engine::prelude::*;

use super::{fail_with, progress, why};

pub(in crate::runtime) struct Change<'a> {
    pub(in crate::runtime) provisioner: &'a dyn Provisioner,
    pub(in crate::runtime) caller: Caller<'a>,
    pub(in crate::runtime) runtime_id: &'a str,
}

impl Change<'_> {
    /// The operation of this kind that the Provisioner works on already: one whose answer we lost. Waits while it
    /// is at something else.
    pub(in crate::runtime) async fn under_way(
        &self,
        is_kind: impl Fn(&OperationType) -> bool + Send,
    ) -> Result<Option<String>, Halt> {
        let status = self.provisioner.runtime_status(self.caller, self.runtime_id).await?;
        let works = |state| matches!(state, OperationState::Pending | OperationState::InProgress);
        match status.last_operation.filter(|last| works(last.state)) {
            Some(last) if is_kind(&last.operation) => Ok(Some(last.id)),
            Some(last) => {
                let cause = format!("the Provisioner is still at work on the runtime: {}", last.message);
                Err(Halt::Retry { after: None, cause: cause.into() })
            }
            None => Ok(None),
        }
    }

    /// `Ok` when the operation has succeeded.
    pub(in crate::runtime) async fn wait(&self, operation: &str, pause: Duration) -> Result<(), Halt> {
        let status = self.provisioner.operation_status(self.caller, operation).await?;
        match status.state {
            OperationState::Succeeded => Ok(()),
            OperationState::Failed => Err(fail_with(why(&status))),
            _ => Err(Halt::Wait { after: pause, reason: progress(&status), key: None }),
        }
    }
}
