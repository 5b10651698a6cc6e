//! `PUT /expire/service_instance/{id}`: the time of a plan is over, by the clock or because an operator says so.

use crate::model::Status;
use crate::workflows::deprovision::{Deprovision, Params};
use api::Code;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use engine::store::Expect;
use engine::{Engine, OperationId, RecordWrites, Resource, Submission, SubmitError};

use super::Shared;
use super::{ExistingInstance, TRIES, find_alive};
use crate::api::types;
use server::audit::about;
use server::error;
use server::http::Failure;
use server::principal::Principal;
use server::query::{Name, Query};

/// Suspends a service instance for good.
///
/// Its runtime is taken down and it never comes back; the platform can only delete it. Only for plans whose
/// time is limited. To ask again changes nothing, except that a suspension that failed is tried again.
#[utoipa::path(
    put, path = "/expire/service_instance/{id}", tag = "runtimes", operation_id = "expire_service_instance",
    params(("id" = String, Path, description = "The id of the service instance.")),
    responses(
        (status = ACCEPTED, body = types::Started, description = "The suspension, or the newest operation \
         where there is nothing left to take down."),
        (status = BAD_REQUEST, description = "The plan has no end: `never-expires`."),
        (status = NOT_FOUND, description = "There is none: `runtime-not-found`."),
        (status = CONFLICT,
         description = "Another operation has it: `resource-busy`; or `resource-changed`."),
        (status = UNPROCESSABLE_ENTITY, description = "This release cannot deprovision: `unknown-workflow`."),
    )
)]
pub(crate) async fn expire_service_instance(
    State(app): State<Shared>,
    Extension(caller): Extension<Principal>,
    Name(id): Name,
    query: Query,
) -> Result<impl IntoResponse, Failure> {
    query.finish()?;
    for _ in 0..TRIES {
        let found = find_alive(&app, &id).await?;
        check_plan(&app, &found)?;
        match expire(&app.engine, &found, &caller.name).await {
            Ok(operation) => {
                let operation = operation.or(found.row.operation).ok_or_else(Failure::internal)?;
                let started = types::Started { operation: operation.0 };
                return Ok((StatusCode::ACCEPTED, about(&found.instance.instance_id), Json(started)));
            }
            Err(SubmitError::Changed) => {}
            Err(error) => return Err(error::submit(error)),
        }
    }
    Err(error::submit(SubmitError::Changed))
}

fn check_plan(app: &super::Operators, found: &ExistingInstance) -> Result<(), Failure> {
    let plan = app.catalog.plan(&found.instance.plan_id);
    let ends = plan.map_or(found.instance.expires_at.is_some(), |plan| plan.expires_after_days.is_some());
    if ends {
        return Ok(());
    }
    let detail = format!("the time of the plan {} is not limited", found.instance.plan);
    Err(Failure::new(Code::NeverExpires, detail))
}

/// Writes down that the time is over, and takes down what there is. Answers the operation that does so; `None`
/// when there is nothing to take down. Safe to be called by many at once: one of them gets through.
pub(crate) async fn expire(
    engine: &Engine,
    found: &ExistingInstance,
    by: &str,
) -> Result<Option<OperationId>, SubmitError> {
    let ExistingInstance { row, instance } = found;
    let expiry_path = expiry_path(found.status(), instance.expired_at.is_some());
    let mut expired = instance.clone();
    expired.expired_at = expired.expired_at.or(Some(engine.now()));
    expired.suspended |= expiry_path == ExpiryPath::Suspend;
    let record_update = expired.record_update().map_err(SubmitError::Invalid)?;
    let seen = Expect::Version(row.version);
    match expiry_path {
        ExpiryPath::Nothing => Ok(None),
        ExpiryPath::Wait => match found.running() {
            Some(operation) => Err(SubmitError::Busy { operation }),
            None => Err(SubmitError::Changed),
        },
        ExpiryPath::Note => {
            let is_written = engine.write_resource(&row.name, &row.tenant, seen, Some(record_update)).await?;
            if is_written { Ok(None) } else { Err(SubmitError::Changed) }
        }
        ExpiryPath::Suspend => {
            let params = Params { instance_id: instance.instance_id.clone(), temporary: true, force: false };
            let along =
                RecordWrites { subject: Some((seen, Some(record_update))), ..RecordWrites::default() };
            let submission = Submission::<Deprovision>::new(&row.tenant, by, &params);
            let submission =
                Submission { resource: Some(&row.name), name: instance.shown_name(), along, ..submission };
            engine.submit(submission).await.map(|accepted| Some(accepted.id))
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpiryPath {
    /// It is as it should be.
    Nothing,
    /// There is nothing to take down, or another client has to.
    Note,
    Suspend,
    /// While an operation writes the record, no other client does.
    Wait,
}

fn expiry_path(status: Status, has_expired: bool) -> ExpiryPath {
    match status {
        Status::SuspendFailed => ExpiryPath::Suspend,
        _ if has_expired => ExpiryPath::Nothing,
        Status::Gone => ExpiryPath::Nothing,
        Status::Ready | Status::UpdateFailed | Status::ResumeFailed => ExpiryPath::Suspend,
        // What failed to come or to go is for the platform to delete: it does not believe that it is usable.
        Status::Suspended | Status::ProvisionFailed | Status::DeprovisionFailed => ExpiryPath::Note,
        Status::Provisioning
        | Status::Updating
        | Status::Resuming
        | Status::Suspending
        | Status::Deprovisioning => ExpiryPath::Wait,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_is_suspended_once_and_nothing_is_disturbed() {
        use ExpiryPath::{Note, Nothing, Suspend, Wait};
        for (status, first, again) in [
            (Status::Provisioning, Wait, Nothing),
            (Status::ProvisionFailed, Note, Nothing),
            (Status::Ready, Suspend, Nothing),
            (Status::Updating, Wait, Nothing),
            (Status::UpdateFailed, Suspend, Nothing),
            (Status::Suspending, Wait, Nothing),
            (Status::SuspendFailed, Suspend, Suspend),
            (Status::Suspended, Note, Nothing),
            (Status::Resuming, Wait, Nothing),
            (Status::ResumeFailed, Suspend, Nothing),
            (Status::Deprovisioning, Wait, Nothing),
            (Status::DeprovisionFailed, Note, Nothing),
            (Status::Gone, Nothing, Nothing),
        ] {
            assert_eq!((expiry_path(status, false), expiry_path(status, true)), (first, again), "{status:?}");
        }
    }
}
