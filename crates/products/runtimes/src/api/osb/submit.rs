//! Hands operations to the engine.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use engine::{Alongside, Command, OperationId, SubmitError};
use serde_json::Value;
use tracing::warn;

use super::error;
use super::standing::broken;
use super::{Broker, wire};
use server::http::Failure;

/// How often a request looks again because somebody else was faster. Every time somebody got on, so this many
/// others may ask for the same thing at once.
pub(crate) const ATTEMPTS_MAX: usize = 100;

/// An operation to be accepted.
pub(crate) struct Order<'a> {
    pub(crate) workflow: &'static str,
    pub(crate) tenant: &'a str,
    pub(crate) resource: String,
    pub(crate) params: Value,
    pub(crate) by: &'a str,
    pub(crate) along: Alongside,
}

impl Broker {
    /// `None` when somebody else has changed the record: look again.
    pub(crate) async fn accept(&self, order: Order<'_>) -> Result<Option<OperationId>, Failure> {
        let queue = order.along.supersedes.is_some();
        let command = Command {
            workflow: order.workflow.to_owned(),
            tenant: order.tenant.to_owned(),
            resource: Some(order.resource),
            params: order.params,
            by: order.by.to_owned(),
            idempotency_key: None,
            queue,
        };
        match self.app.engine.accept(command, order.along).await {
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
            warn!("the engine does not accept what the broker has checked");
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
