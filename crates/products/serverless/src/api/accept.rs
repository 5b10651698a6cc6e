//! Hands operations to the engine, with the credentials of who asked for them.

use crate::model::caller_credentials::{self, CallerCredentials, Request};
use crate::model::{DELETE, NebulaCredentials, RuntimeError, UPDATE};
use engine::{AcceptedOperation, OperationId, SubmitError, Workflow};
use tracing::warn;

use super::error::broken;
use super::{ServerlessShared, error};
use server::http::Failure;

/// What became of a request to begin an operation.
pub(crate) enum AcceptResult {
    Accepted(AcceptedOperation),
    /// This operation works on the same runtime.
    Busy(OperationId),
    /// The key stands for something else.
    KeyReused,
}

impl ServerlessShared {
    pub(crate) async fn accept<W: Workflow>(
        &self,
        request: &Request<'_, W>,
    ) -> Result<AcceptResult, Failure> {
        match caller_credentials::accept(&self.app.engine, request).await {
            Ok(accepted) => Ok(AcceptResult::Accepted(accepted)),
            Err(SubmitError::Busy { operation }) => Ok(AcceptResult::Busy(operation)),
            Err(SubmitError::KeyReused) => Ok(AcceptResult::KeyReused),
            Err(SubmitError::Changed) => Err(error::busy("others are changing it at this moment".to_owned())),
            Err(SubmitError::Store(error)) => Err(error.into()),
            // The text may repeat what was sent.
            Err(SubmitError::Invalid(_) | SubmitError::UnknownWorkflow { .. }) => {
                warn!(workflow = W::KIND, "the engine rejected a request that the serverless API accepted");
                Err(broken("the engine accepted no operation"))
            }
        }
    }

    /// Who OpenNebula says it is, which is whose operations these are.
    pub(crate) async fn tenant(&self, credentials: &NebulaCredentials) -> Result<String, Failure> {
        let user = self.api_parts.serverless.nebula.user(credentials).await;
        let user = user.map_err(|error| RuntimeError::of("Failed to read the user", &error))?;
        Ok(CallerCredentials::tenant(&user.name))
    }

    pub(crate) async fn workflow_of(&self, operation: OperationId) -> Result<Option<String>, Failure> {
        Ok(self.app.engine.inspect(operation).await?.map(|found| found.shown.summary.workflow))
    }

    /// What another operation does, for who has to wait for it.
    pub(crate) async fn doing(&self, operation: OperationId) -> Result<String, Failure> {
        let what = match self.workflow_of(operation).await?.as_deref() {
            Some(UPDATE) => "UPDATING: it is being updated",
            Some(DELETE) => "it is being deleted",
            _ => "it is being changed",
        };
        Ok(format!("{what}, by the operation {operation}"))
    }
}
