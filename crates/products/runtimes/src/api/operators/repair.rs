//! `POST /runtimes/{id}/repair`

use crate::model::Status;
use crate::workflows::deprovision::{self, Deprovision};
use crate::workflows::provision::{self, Provision};
use api::Code;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use engine::store::Expect;
use engine::{OperationId, RecordWrites, Submission};

use super::Shared;
use super::{ExistingInstance, TRIES, accepted, check_reason, find_alive};
use crate::api::types;
use server::AppState;
use server::audit::about;
use server::error;
use server::http::Failure;
use server::http::body::JsonBody;
use server::principal::Principal;
use server::query::Name;

/// Starts again what has failed: to provision, resume, suspend or deprovision.
#[utoipa::path(
    post, path = "/runtimes/{id}/repair", tag = "runtimes", operation_id = "repair_runtime",
    params(("id" = String, Path, description = "The id of the service instance or of its runtime.")),
    request_body = types::Reason,
    responses(
        (status = ACCEPTED, body = types::Started, description = "The new operation."),
        (status = NOT_FOUND, description = "There is none: `runtime-not-found`."),
        (status = CONFLICT, description = "`nothing-to-repair`, `resource-busy` or `resource-changed`."),
        (status = UNPROCESSABLE_ENTITY,
         description = "This release has no such workflow: `unknown-workflow`."),
    )
)]
pub(crate) async fn repair_runtime(
    State(app): State<Shared>,
    Extension(caller): Extension<Principal>,
    Name(id): Name,
    JsonBody(reason): JsonBody<types::Reason>,
) -> Result<impl IntoResponse, Failure> {
    check_reason(&reason)?;
    for _ in 0..TRIES {
        let found = find_alive(&app, &id).await?;
        if let Some(operation) = repair(&app, &found, &caller.name).await? {
            let target = format!("{}: {}", found.instance.instance_id, reason.reason);
            let started = types::Started { operation: operation.0 };
            return Ok((StatusCode::ACCEPTED, about(&target), Json(started)));
        }
    }
    Err(error::submit(engine::SubmitError::Changed))
}

async fn repair(app: &AppState, found: &ExistingInstance, by: &str) -> Result<Option<OperationId>, Failure> {
    let ExistingInstance { row, instance } = found;
    if let Some(operation) = found.running() {
        return Err(error::busy(operation));
    }
    let missing = missing(found.status(), instance.expired_at.is_some());
    let temporary = missing.map_err(|why| Failure::new(Code::NothingToRepair, why))?;
    let (instance_id, name) = (instance.instance_id.clone(), instance.shown_name());
    let along =
        || RecordWrites { subject: Some((Expect::Version(row.version), None)), ..RecordWrites::default() };
    accepted(match temporary {
        None => {
            let params = provision::Params { instance_id };
            let submission = Submission::<Provision>::new(&row.tenant, by, &params);
            app.engine
                .submit(Submission { resource: Some(&row.name), name, along: along(), ..submission })
                .await
        }
        Some(temporary) => {
            let params = deprovision::Params { instance_id, temporary, force: false };
            let submission = Submission::<Deprovision>::new(&row.tenant, by, &params);
            app.engine
                .submit(Submission { resource: Some(&row.name), name, along: along(), ..submission })
                .await
        }
    })
}

/// What to start again: that which makes it, or that which takes it down, which is told whether the instance stays.
fn missing(status: Status, has_expired: bool) -> Result<Option<bool>, &'static str> {
    match status {
        Status::ProvisionFailed | Status::ResumeFailed if has_expired => {
            Err("the time of its plan is over, and it does not come back; delete it")
        }
        Status::ProvisionFailed | Status::ResumeFailed => Ok(None),
        Status::DeprovisionFailed => Ok(Some(false)),
        Status::SuspendFailed => Ok(Some(true)),
        Status::UpdateFailed => {
            Err("its last update failed and it works as before; the platform can send the update again")
        }
        _ => Err("nothing about it has failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_started_again_and_nothing_else() {
        for (status, expect, expired) in [
            (Status::ProvisionFailed, "None", "time of its plan"),
            (Status::ResumeFailed, "None", "time of its plan"),
            (Status::DeprovisionFailed, "Some(false)", "Some(false)"),
            (Status::SuspendFailed, "Some(true)", "Some(true)"),
            (Status::UpdateFailed, "send the update again", "send the update again"),
            (Status::Ready, "nothing", "nothing"),
            (Status::Suspended, "nothing", "nothing"),
        ] {
            for (has_expired, expect) in [(false, expect), (true, expired)] {
                let said = match missing(status, has_expired) {
                    Ok(temporary) => format!("{temporary:?}"),
                    Err(why) => why.to_owned(),
                };
                assert!(said.contains(expect), "{status:?} {has_expired}: {said}");
            }
        }
    }
}
