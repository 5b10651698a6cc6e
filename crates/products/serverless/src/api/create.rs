//! `POST /serverless-runtimes`

use crate::model::errand::Request;
use crate::model::{Credentials, Errand, Spec};
use crate::workflows::create as workflow;
use axum::extract::State;
use engine::{Accepted, AskError, OperationId, Timestamp, Verb};
use tracing::warn;

use super::accept::Taken;
use super::answer::Answer;
use super::auth::Claim;
use super::body::Sent;
use super::error::broken;
use super::key::{Key, Manner};
use super::wire::Action;
use super::{Counter, Desk, error, journal, operation, outcome, wire};
use server::http::Failure;

/// Makes a runtime.
///
/// The answer comes when its machines exist, and they are not running then. A runtime that cannot be made leaves
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
        (status = ACCEPTED, body = wire::Progress, description = "It is being made.",
         headers(("location" = String, description = "The path of the operation."),
                 ("preference-applied" = String, description = "`respond-async`"))),
        (status = UNPROCESSABLE_ENTITY, body = wire::Error,
         description = "No service template fits the flavours, or the key was used for something else."),
    )
)]
pub(crate) async fn create(
    State(desk): State<Desk>,
    Claim(credentials): Claim,
    manner: Manner,
    Sent(body): Sent,
) -> Result<Answer, Failure> {
    journal::received("Create a Serverless Runtime");
    let began = desk.app.engine.now();
    let spec = Spec::parse(&body)?;
    let made = begin(&desk, &credentials, manner.key.as_ref(), spec).await?;
    if manner.is_async {
        return operation::under_way(made.id, Action::Create).map(|answer| answer.replayed(made.repeated));
    }
    let answer = wait(&desk, made.id, began, manner.key.is_some()).await?;
    Ok(answer.replayed(made.repeated))
}

/// Nobody gets a row in the database before OpenNebula knows them.
async fn begin(
    desk: &Counter,
    credentials: &Credentials,
    key: Option<&Key>,
    spec: Spec,
) -> Result<Accepted, Failure> {
    let name = match key {
        None => uuid::Uuid::from_u128(rand::random()),
        Some(key) => {
            let asked = serde_json::to_string(&spec).map_err(|error| broken(&error.to_string()))?;
            key.name(&desk.tenant(credentials).await?, &asked)
        }
    };
    let resource = Errand::resource_of_new(&name.to_string());
    if let Some(before) = made_before(desk, key, &resource).await? {
        return Ok(before);
    }
    let params = workflow::prepare(&desk.door.serverless, credentials, spec).await?;
    let idempotency_key = key.map(|key| key.0.as_str());
    let request =
        Request::<workflow::Create> { resource: &resource, params: &params, credentials, idempotency_key };
    match desk.accept(&request).await? {
        Taken::Accepted(accepted) => Ok(accepted),
        Taken::Busy(id) => Ok(Accepted { id, repeated: true }),
        // The same request at the same moment may have found other templates.
        Taken::KeyReused => made_before(desk, key, &resource).await?.ok_or_else(error::key_reused),
    }
}

/// The operation that the same request began before.
async fn made_before(desk: &Counter, key: Option<&Key>, resource: &str) -> Result<Option<Accepted>, Failure> {
    if key.is_none() {
        return Ok(None);
    }
    let row = desk.app.engine.resource(resource).await?;
    Ok(row.and_then(|row| row.operation).map(|id| Accepted { id, repeated: true }))
}

/// Whoever gives up without a key never learns the id of the runtime, so it is taken back. With a key the same
/// request leads back to it.
async fn wait(desk: &Counter, id: OperationId, began: Timestamp, has_key: bool) -> Result<Answer, Failure> {
    if let Some(found) = desk.wait_for(id, began).await? {
        return outcome::answer(&found, Action::Create);
    }
    let (late, goes_back) = desk.late(id, LATE).await?;
    if !has_key && !goes_back {
        give_up(desk, id).await;
    }
    let found = desk.app.engine.inspect(id).await?;
    if let Some(found) = found.as_ref().filter(|found| found.shown.summary.phase.is_final()) {
        return outcome::answer(found, Action::Create);
    }
    Err(if has_key || goes_back { late } else { error::taken_back(LATE, id) })
}

const LATE: &str = "OpenNebula did not create VMs for the Serverless Runtime in time";

async fn give_up(desk: &Counter, id: OperationId) {
    match desk.app.engine.ask(id, Verb::Cancel, "serverless", GIVEN_UP).await {
        // It is over at last, or on its way back already.
        Ok(()) | Err(AskError::NotNow { .. }) => {}
        Err(error) => warn!(operation.id = %id, %error, "a runtime that nobody waits for is not taken back"),
    }
}

const GIVEN_UP: &str = "the caller was told that it takes too long";
