//! `POST /runtimes/{id}/force-delete`

use crate::model::DEPROVISION;
use crate::workflows::deprovision::{Deprovision, Params};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use engine::store::{self, Expect};
use engine::{OperationId, PhaseVerb, RecordWrites, Resource, Submission};
use serde_json::Value;
use tracing::warn;

use super::Shared;
use super::{ExistingInstance, TRIES, accepted, check_reason, find_alive, unfinished};
use crate::api::types;
use server::AppState;
use server::audit::about;
use server::error;
use server::http::Failure;
use server::http::body::JsonBody;
use server::principal::Principal;
use server::query::Name;

/// The most operations that queue on one resource.
const UNFINISHED_MAX: usize = 20;

/// Forgets a runtime, whatever is left of it in the world.
///
/// Work that is under way is cancelled first. For what can be removed in no other way: whatever still exists
/// must be found and removed by hand.
#[utoipa::path(
    post, path = "/runtimes/{id}/force-delete", tag = "runtimes", operation_id = "force_delete_runtime",
    params(("id" = String, Path, description = "The id of the service instance or of its runtime.")),
    request_body = types::Reason,
    responses(
        (status = ACCEPTED, body = types::Started, description = "The operation that forgets it."),
        (status = NOT_FOUND, description = "There is none: `runtime-not-found`."),
        (status = CONFLICT, description = "Too many change it at once: `resource-changed`."),
        (status = UNPROCESSABLE_ENTITY, description = "This release cannot deprovision: `unknown-workflow`."),
    )
)]
pub(crate) async fn force_delete_runtime(
    State(app): State<Shared>,
    Extension(caller): Extension<Principal>,
    Name(id): Name,
    JsonBody(reason): JsonBody<types::Reason>,
) -> Result<impl IntoResponse, Failure> {
    check_reason(&reason)?;
    for _ in 0..TRIES {
        let found = find_alive(&app, &id).await?;
        if let Some(operation) = force(&app, &found, &caller.name, &reason.reason).await? {
            let target = format!("{}: {}", found.instance.instance_id, reason.reason);
            let started = types::Started { operation: operation.0 };
            return Ok((StatusCode::ACCEPTED, about(&target), Json(started)));
        }
    }
    Err(error::submit(engine::SubmitError::Changed))
}

async fn force(
    app: &AppState,
    found: &ExistingInstance,
    by: &str,
    reason: &str,
) -> Result<Option<OperationId>, Failure> {
    let running = found.running();
    if let Some(operation) = running.filter(|_| found.row.workflow.as_deref() == Some(DEPROVISION))
        && is_forced(app, operation).await?
    {
        return Ok(Some(operation));
    }
    let before = store::OperationQuery {
        resource: Some(found.row.name.clone()),
        phases: unfinished(),
        limit: UNFINISHED_MAX,
        ..store::OperationQuery::default()
    };
    let before = app.engine.list(&before).await?;
    let mut instance = found.instance.clone();
    instance.suspended = false;
    let record_update = instance.record_update().map_err(|_| Failure::internal())?;
    let params = Params { instance_id: instance.instance_id, temporary: false, force: true };
    let along = RecordWrites {
        subject: Some((Expect::Version(found.row.version), Some(record_update))),
        supersedes: running.map(|operation| (operation, reason.to_owned())),
        ..RecordWrites::default()
    };
    let submission = Submission::<Deprovision>::new(&found.row.tenant, by, &params);
    let submission = Submission {
        resource: Some(&found.row.name),
        name: found.instance.shown_name(),
        queue: true,
        along,
        ..submission
    };
    let operation = accepted(app.engine.submit(submission).await)?;
    if operation.is_some() {
        // The newest one is cancelled in the same commit; what others wait for goes too.
        for other in before.iter().map(|summary| summary.id).filter(|id| Some(*id) != running) {
            if let Err(error) = app.engine.ask(other, PhaseVerb::Cancel, by, reason).await {
                warn!(operation.id = %other, %error, "cancelling the operation before a forced deletion failed");
            }
        }
    }
    Ok(operation)
}

async fn is_forced(app: &AppState, operation: OperationId) -> Result<bool, Failure> {
    let Some(inspection) = app.engine.inspect(operation).await? else { return Ok(false) };
    let params: Value = serde_json::from_str(&inspection.shown.params).unwrap_or_default();
    Ok(params["force"] == true)
}
