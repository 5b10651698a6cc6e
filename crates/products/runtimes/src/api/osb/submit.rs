//! Hands operations to the engine.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use engine::{OperationId, Submission, SubmitError, Workflow};
use tracing::warn;

use super::error;
use super::standing::broken;
use super::{BrokerShared, wire};
use server::http::Failure;

/// How often a request looks again because another request was faster. Every time a client got on, so this many
/// others may ask for the same thing at once.
pub(crate) const ATTEMPTS_MAX: usize = 100;

impl BrokerShared {
    /// `None` when another request has changed the record: look again.
    pub(crate) async fn submit<W: Workflow>(
        &self,
        submission: Submission<'_, W>,
    ) -> Result<Option<OperationId>, Failure> {
        match self.app.engine.submit(submission).await {
            Ok(accepted) => Ok(Some(accepted.id)),
            Err(error) => refused(error).map_or(Ok(None), Err),
        }
    }
}

/// `None` when it is worth another look.
pub(crate) fn refused(error: SubmitError) -> Option<Failure> {
    match error {
        SubmitError::Changed => None,
        SubmitError::Busy { .. } => Some(error::busy()),
        // The text may repeat what was sent.
        SubmitError::Invalid(_) => {
            warn!("the engine rejected a request that the service broker accepted");
            Some(error::bad("the request cannot be accepted; look at the schema of the plan in the catalog"))
        }
        SubmitError::UnknownWorkflow { .. } | SubmitError::KeyReused => Some(broken(&error.to_string())),
        SubmitError::Store(error) => Some(error.into()),
    }
}

/// 202: it is under way.
pub(crate) fn under_way(answer: wire::Accepted) -> Response {
    (StatusCode::ACCEPTED, Json(answer)).into_response()
}

/// 200 and nothing more.
pub(crate) fn done() -> Response {
    Json(wire::Empty {}).into_response()
}
