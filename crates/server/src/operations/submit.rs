//! `POST /operations`

use std::time::Duration;

use api::Code;
use axum::extract::{FromRequestParts, State};
use axum::http::header::LOCATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use engine::{Capability, Command, OperationId, Workflow};
use tracing::warn;

use super::plan::known;
use crate::app_state::{AppState, Shared};
use crate::audit::about;
use crate::error;
use crate::grants::check_submit;
use crate::http::body::JsonBody;
use crate::http::{Failure, IDEMPOTENCY_REPLAYED, idempotency_key};
use crate::principal::Principal;
use crate::wire::{self, ToWire};

/// Starts an operation.
///
/// It is durable when this answers. With the header `Idempotency-Key` the same request can be sent again
/// without starting a second operation.
#[utoipa::path(
    post, path = "/operations", tag = "operations", operation_id = "submit",
    params(("Idempotency-Key" = Option<String>, Header,
            description = "1 to 256 visible characters; the same key means the same operation.")),
    request_body = wire::Submit,
    responses(
        (status = ACCEPTED, body = wire::Operation, description = "The new operation.",
         headers(("location" = String, description = "The path of the operation."))),
        (status = OK, body = wire::Operation, description = "The operation that the same key started before.",
         headers(("location" = String, description = "The path of the operation."),
                 ("idempotency-replayed" = String, description = "`true`"))),
        (status = CONFLICT, description = "Another operation has the resource: `resource-busy`."),
        (status = UNPROCESSABLE_ENTITY,
         description = "`unknown-workflow`, `invalid-command` or `idempotency-key-reused`."),
    )
)]
pub(crate) async fn submit(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
    JsonBody(asked): JsonBody<wire::Submit>,
) -> Result<impl IntoResponse, Failure> {
    check_submit(&principal, &asked.workflow)?;
    check_limits(&app, &principal, &asked)?;
    let command = Command {
        name: asked.name,
        workflow: asked.workflow,
        tenant: asked.tenant,
        resource: asked.resource,
        params: asked.params,
        by: principal.name,
        idempotency_key: idempotency_key(&headers)?,
        queue: asked.queue,
    };
    begin(&app, command).await
}

/// What a caller may not do whose grants are for some workflows: hold a resource that others work on, and learn what
/// other workflows there are.
fn check_limits(app: &AppState, principal: &Principal, asked: &wire::Submit) -> Result<(), Failure> {
    if !principal.can(Capability::Submit) && asked.resource.is_some() {
        let detail = "resource: with a grant for some workflows, leave resource out; the declaration of the workflow \
                      names it";
        return Err(Failure::new(Code::Forbidden, detail).with("field", "resource"));
    }
    if !principal.can(Capability::Read) && app.engine.workflow(&asked.workflow).is_none() {
        let detail =
            format!("there is no workflow {:?}; known are {}", asked.workflow, known(app, principal));
        return Err(Failure::new(Code::UnknownWorkflow, detail));
    }
    Ok(())
}

/// What an endpoint that begins an operation needs besides its body: who asks, and under which idempotency key.
pub struct Submitter {
    app: Shared,
    principal: Principal,
    idempotency_key: Option<String>,
}

impl FromRequestParts<Shared> for Submitter {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Submitter, Failure> {
        let principal = parts.extensions.get::<Principal>().cloned().ok_or_else(Failure::internal)?;
        Ok(Submitter {
            app: Shared::clone(app),
            principal,
            idempotency_key: idempotency_key(&parts.headers)?,
        })
    }
}

impl Submitter {
    /// Begins an operation on a resource and answers like `POST /operations`.
    pub async fn submit<W: Workflow>(self, resource: &str, params: &W::Params) -> Result<Response, Failure> {
        let Submitter { app, principal, idempotency_key } = self;
        let command = Command {
            name: None,
            workflow: W::KIND.to_owned(),
            tenant: wire::Submit::default_tenant(),
            resource: Some(resource.to_owned()),
            params: serde_json::to_value(params).map_err(|_| Failure::internal())?,
            by: principal.name,
            idempotency_key,
            queue: false,
        };
        begin(&app, command).await.map(IntoResponse::into_response)
    }
}

async fn begin(app: &AppState, command: Command) -> Result<impl IntoResponse + use<>, Failure> {
    let mut accepted = newly_accepted(app, &command);
    let engine::AcceptedOperation { id, repeated } =
        app.engine.submit_json(command).await.map_err(error::submit)?;
    match app.engine.inspect(id).await {
        Ok(Some(inspection)) => accepted = inspection.shown.summary.to_wire(),
        // It is accepted and durable: who hears anything else sends it again. So we answer what we know.
        other => {
            warn!(operation.id = %id, found = other.is_ok(), "reading back the accepted operation failed");
            accepted.id = id.0;
        }
    }
    let location = HeaderValue::from_str(&path_of(id)).map_err(|_| Failure::internal())?;
    let mut headers = HeaderMap::from_iter([(LOCATION, location)]);
    let status = if repeated {
        headers.insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
        StatusCode::OK
    } else {
        StatusCode::ACCEPTED
    };
    Ok((status, headers, about(&id), Json(accepted)))
}

fn path_of(id: OperationId) -> String {
    format!("/operations/{id}")
}

/// What is known of an operation without asking the database.
fn newly_accepted(app: &AppState, command: &Command) -> wire::Operation {
    let now = app.engine.now();
    let deadline = app.engine.workflow(&command.workflow).map_or(0, |info| info.deadline_seconds);
    wire::Operation {
        id: uuid::Uuid::nil(),
        workflow: command.workflow.clone(),
        name: command.name.clone(),
        tenant: command.tenant.clone(),
        resource: command.resource.clone(),
        phase: wire::Phase::Pending,
        step: None,
        reason: None,
        due_at: None,
        created_at: now.to_wire(),
        deadline_at: now.plus(Duration::from_secs(deadline)).to_wire(),
        finished_at: None,
        node: None,
        asked: None,
        progress: None,
    }
}
