//! `POST /launches`

use crate::model::accept;
use crate::model::form::LaunchForm;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;

use super::super::principal::TenantPrincipal;
use super::super::rights::{RESERVATION, Verb};
use super::super::{BASE, LaunchState};
use super::find::{find, provider};
use super::{image, request};
use crate::api::error;
use crate::api::types;
use server::audit::about;
use server::http::Failure;
use server::http::body::JsonBody;

/// Builds an image if need be, and launches it.
///
/// Everything that can be known to be wrong is refused at once, with all that is wrong. The same `Idempotency-Key`
/// of the same organisation means the same launch.
#[utoipa::path(
    post, path = "/launches", tag = "launches", operation_id = "create_launch",
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key means the same launch.")),
    request_body = types::NewLaunch,
    responses(
        (status = ACCEPTED, body = types::Launch, description = "It is accepted; `Location` says where to look."),
        (status = BAD_REQUEST, description = "What is wrong, field by field."),
        (status = NOT_FOUND, description = "There is no such key, source or image."),
        (status = CONFLICT, description = "The key was used for something else."),
        (status = TOO_MANY_REQUESTS, description = "Too many at once."),
    )
)]
pub(in crate::api) async fn create_launch(
    State(shared): State<LaunchState>,
    principal: TenantPrincipal,
    headers: HeaderMap,
    JsonBody(new): JsonBody<types::NewLaunch>,
) -> Result<impl IntoResponse, Failure> {
    let provider = provider("provider", &new.provider)?;
    principal.must(&format!("{RESERVATION}.{provider}"), Verb::Write)?;
    let launches = &shared.api_parts.launches;
    let (engine, who) = (&shared.app.engine, &principal.owner);
    let form = LaunchForm {
        provider,
        image: image::asked(&new.image)?,
        profile: request::profile(new.profile.as_deref(), new.options, &launches.settings.profile)?,
        parameters: match new.parameters {
            Some(parameters) => Some(request::keep_key(&shared, &principal, parameters).await?),
            None => None,
        },
    };
    let key = idempotency_key(&headers)?;
    let accepted = accept::launch(launches, engine, who, principal.identity.as_ref(), &form, key).await?;
    let path = format!("{BASE}/launches/{}", accepted.launch);
    let found = find(&shared, &principal, &accepted.launch.to_string(), Verb::Write).await?;
    Ok((
        StatusCode::ACCEPTED,
        [(header::LOCATION, path.clone()), (header::ETAG, found.etag())],
        about(&path),
        Json(types::Launch::from(&found.view)),
    ))
}

pub(in crate::api) fn idempotency_key(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let text = value.to_str().map_err(|_| error::invalid("Idempotency-Key", "it is not plain text"))?;
    Ok(Some(text))
}
