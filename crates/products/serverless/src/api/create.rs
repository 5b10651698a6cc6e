//! `POST /serverless-runtimes`

use crate::model::caller_credentials::Request;
use crate::model::{CallerCredentials, NebulaCredentials, Spec};
use crate::workflows::create as workflow;
use axum::extract::State;
use engine::{AcceptedOperation, AskError, OperationId, PhaseVerb, Timestamp};
use tracing::warn;

use super::accept::AcceptResult;
use super::answer::RuntimeResponse;
use super::auth::BasicClaim;
use super::body::RequestBody;
use super::error::broken;
use super::key::{RequestKey, RequestOptions};
use super::wire::Action;
use super::{ServerlessShared, ServerlessState, error, journal, operation, outcome, wire};
use server::http::Failure;

/// Makes a runtime.
///
/// The answer comes when its VMs exist, and they are not running then. A runtime that cannot be made leaves
/// nothing behind.
#[utoipa::path(
    post, path = "/serverless-runtimes", tag = "runtimes", operation_id = "create",
    params(
        ("Idempotency-Key" = Option<String>, Header,
         description = "1 to 256 visible characters; the same key with the same body is the same runtime."),
        ("Prefer" = Option<String>, Header, description = "`respond-async` for an answer at once."),
    ),
    request_body = wire::Envelope,
    responses(
        (status = CREATED, body = wire::Envelope, description = "The new runtime.",
         headers(("location" = String, description = "The path of the runtime."),
                 ("idempotency-replayed" = Option<String>, description = "`true` for a key that was used before."))),
        (status = ACCEPTED, body = wire::RuntimeProgress, description = "It is being made.",
         headers(("location" = String, description = "The path of the operation."),
                 ("preference-applied" = String, description = "`respond-async`"))),
        (status = UNPROCESSABLE_ENTITY,
         description = "No service template fits the flavours, or the key was used for something else."),
    )
)]
pub(crate) async fn create(
    State(shared): State<ServerlessState>,
    BasicClaim(credentials): BasicClaim,
    manner: RequestOptions,
    RequestBody(body): RequestBody,
) -> Result<RuntimeResponse, Failure> {
    journal::received("Create a Serverless Runtime");
    let began = shared.app.engine.now();
    let spec = Spec::parse(&body)?;
    let made = begin(&shared, &credentials, manner.key.as_ref(), spec).await?;
    if manner.is_async {
        return operation::under_way(made.id, Action::Create).map(|answer| answer.replayed(made.repeated));
    }
    let answer = wait(&shared, made.id, began, manner.key.is_some()).await?;
    Ok(answer.replayed(made.repeated))
}

/// A caller gets a row in the database only after OpenNebula has accepted the credentials.
async fn begin(
    shared: &ServerlessShared,
    credentials: &NebulaCredentials,
    key: Option<&RequestKey>,
    spec: Spec,
) -> Result<AcceptedOperation, Failure> {
    let name = match key {
        None => uuid::Uuid::from_u128(rand::random()),
        Some(key) => {
            let asked = serde_json::to_string(&spec).map_err(|error| broken(&error.to_string()))?;
            key.name(&shared.tenant(credentials).await?, &asked)
        }
    };
    let resource = CallerCredentials::resource_of_new(&name.to_string());
    if let Some(before) = made_before(shared, key, &resource).await? {
        return Ok(before);
    }
    let params = workflow::prepare(&shared.api_parts.serverless, credentials, spec).await?;
    let idempotency_key = key.map(|key| key.0.as_str());
    let request = Request::<workflow::Create> {
        resource: &resource,
        name: params.spec.name.as_deref(),
        params: &params,
        credentials,
        idempotency_key,
    };
    match shared.accept(&request).await? {
        AcceptResult::Accepted(accepted) => Ok(accepted),
        AcceptResult::Busy(id) => Ok(AcceptedOperation { id, repeated: true }),
        // The same request at the same moment may have found other templates.
        AcceptResult::KeyReused => made_before(shared, key, &resource).await?.ok_or_else(error::key_reused),
    }
}

/// The operation that the same request began before.
async fn made_before(
    shared: &ServerlessShared,
    key: Option<&RequestKey>,
    resource: &str,
) -> Result<Option<AcceptedOperation>, Failure> {
    if key.is_none() {
        return Ok(None);
    }
    let row = shared.app.engine.resource(resource).await?;
    Ok(row.and_then(|row| row.operation).map(|id| AcceptedOperation { id, repeated: true }))
}

/// A client that gives up without an idempotency key never learns the id of the runtime, so it is taken back. With a key the same
/// request leads back to it.
async fn wait(
    shared: &ServerlessShared,
    id: OperationId,
    began: Timestamp,
    has_key: bool,
) -> Result<RuntimeResponse, Failure> {
    if let Some(found) = shared.wait_for(id, began).await? {
        return outcome::answer(&found, Action::Create);
    }
    let (late, goes_back) = shared.late(id, LATE).await?;
    if !has_key && !goes_back {
        give_up(shared, id).await;
    }
    let found = shared.app.engine.inspect(id).await?;
    if let Some(found) = found.as_ref().filter(|found| found.shown.summary.phase.is_final()) {
        return outcome::answer(found, Action::Create);
    }
    Err(if has_key || goes_back { late } else { error::taken_back(LATE, id) })
}

const LATE: &str = "OpenNebula did not create VMs for the Serverless Runtime in time";

async fn give_up(shared: &ServerlessShared, id: OperationId) {
    match shared.app.engine.ask(id, PhaseVerb::Cancel, "serverless", GIVEN_UP).await {
        // It is over at last, or on its way back already.
        Ok(()) | Err(AskError::NotNow { .. }) => {}
        Err(error) => warn!(operation.id = %id, %error, "deleting a runtime whose client went away failed"),
    }
}

const GIVEN_UP: &str = "the request timed out";
