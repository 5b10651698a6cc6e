//! `POST /launches/{id}/parameters`

use crate::model::submit_parameters;
use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;

use super::super::LaunchState;
use super::super::principal::TenantPrincipal;
use super::super::query::Name;
use super::super::rights::Verb;
use super::find::find;
use super::request;
use crate::api::types;
use server::audit::about;
use server::http::Failure;
use server::http::body::JsonBody;

/// Says how and where to launch what is being built.
///
/// The first valid parameters count. The same again are welcome, others are refused. What is wrong is told at once,
/// and the launch goes on waiting.
#[utoipa::path(
    post, path = "/launches/{id}/parameters", tag = "launches", operation_id = "give_parameters",
    params(("id" = String, Path, description = "The id or the number of the launch.")),
    request_body = types::NewParameters,
    responses(
        (status = OK, body = types::Launch, description = "They are taken."),
        (status = CONFLICT, description = "It has others, or is over."),
        (status = UNPROCESSABLE_ENTITY, description = "What is wrong."),
    )
)]
pub(in crate::api) async fn submit_parameters(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    Name(name): Name,
    JsonBody(new): JsonBody<types::NewParameters>,
) -> Result<impl IntoResponse, Failure> {
    let launch = find(&shared, &principal, &name, Verb::Write).await?.view.record.launch;
    let form = request::keep_key(&shared, &principal, new).await?;
    let (launches, engine) = (&shared.api_parts.launches, &shared.app.engine);
    submit_parameters::parameters(launches, engine, &principal.owner, launch, &form).await?;
    let found = find(&shared, &principal, &name, Verb::Write).await?;
    Ok((about(&launch), Json(types::Launch::from(&found.view))))
}
