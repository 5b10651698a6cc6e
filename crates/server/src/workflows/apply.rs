//! `PUT /workflows/{name}`

use api::Code;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use declared::{SecretSource, Source, Wrong};

use super::{declarations, refused};
use crate::app_state::Shared;
use crate::audit::about;
use crate::grants;
use crate::http::body::read;
use crate::http::{Failure, FailureKind};
use crate::principal::Principal;
use crate::query::Name;
use crate::wire;

const TYPES: [&str; 5] =
    ["application/json", "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"];

/// Declares a workflow, or a new version of one.
///
/// Operations that are under way end with the version that they began with. The same content again changes nothing. The
/// secret that is shared with the services is sealed and never shown; without one the secret before it stays.
#[utoipa::path(
    put, path = "/workflows/{name}", tag = "workflows", operation_id = "apply_workflow",
    params(("name" = String, Path, description = "The name of the workflow, with a dot in it.")),
    request_body(description = "The declaration, as JSON or YAML of at most 256 KiB.",
        content((Object = "application/json"), (String = "application/yaml"))),
    responses(
        (status = OK, body = wire::AppliedWorkflow, description = "It is in force."),
        (status = CONFLICT, description = "It comes from a file: `declaration-conflict`."),
        (status = UNPROCESSABLE_ENTITY,
         description = "The declaration is wrong, and `line` and `column` say where: `invalid-declaration`."),
    )
)]
pub(crate) async fn apply_workflow(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Name(name): Name,
    request: Request,
) -> Result<impl IntoResponse, Failure> {
    grants::check_declare(&principal, &name)?;
    let declarations = declarations(&app)?;
    let given = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let given = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if !TYPES.contains(&given.as_str()) {
        return Err(FailureKind::NotJson { given }.into());
    }
    let body = read(request, app.settings.body_limit_bytes).await?;
    let text = std::str::from_utf8(&body)
        .map_err(|_| Failure::new(Code::InvalidDeclaration, "the declaration is not text in UTF-8"))?;
    let declaration = declarations.check(text).map_err(refused)?;
    let wrong = |message: String| refused(Wrong { line: 0, column: 0, message }.into());
    if declaration.workflow != name {
        return Err(wrong(format!(
            "the declaration is for {}, and the path says {name}",
            declaration.workflow
        )));
    }
    let secret = match &declaration.secret {
        None => None,
        Some(SecretSource::Given(secret)) => Some(secret.clone()),
        Some(SecretSource::File(_) | SecretSource::Env(_)) => {
            let message = "secret_file and secret_env are for files on the server; send the secret itself as secret, \
                           or use provision-engine workflows apply, which reads it";
            return Err(wrong(message.to_owned()));
        }
    };
    let saved =
        declarations.declare(&declaration, secret, &principal.name, &Source::Api).await.map_err(refused)?;
    let applied =
        wire::AppliedWorkflow { workflow: saved.workflow, version: saved.version, is_new: saved.is_new };
    Ok((StatusCode::OK, about(&name), Json(applied)))
}
