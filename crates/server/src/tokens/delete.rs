//! `DELETE /tokens/{name}`

use api::Code;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use engine::{AdminChange, ProofKind};

use crate::app_state::Shared;
use crate::audit::about;
use crate::grants;
use crate::http::Failure;
use crate::principal::Principal;
use crate::query::Name;
use crate::sandbox_access::check_change;

/// Takes a token away.
///
/// This node refuses it at once, other nodes within five seconds. Sessions that began with it end too. Event streams that it opened end within a
/// quarter of an hour.
#[utoipa::path(
    delete, path = "/tokens/{name}", tag = "access", operation_id = "delete_token",
    params(("name" = String, Path, description = "The name of the token.")),
    responses(
        (status = NO_CONTENT, description = "It is gone."),
        (status = NOT_FOUND, description = "There is none: `token-not-found`."),
        (status = CONFLICT, description = "No admin token would be left: `last-admin`."),
    )
)]
pub(crate) async fn delete_token(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Name(name): Name,
) -> Result<impl IntoResponse, Failure> {
    check_change(&principal, &name)?;
    // Who manages the tokens of one team removes none that may do more.
    if let Some(token) = app.access.tokens().await?.into_iter().find(|token| token.name == name) {
        grants::check_within(&principal, token.role, &token.grants)?;
    }
    match app.access.remove_token(&name, app.engine.now()).await? {
        AdminChange::Done => {}
        AdminChange::Missing => {
            return Err(Failure::new(Code::TokenNotFound, format!("there is no token {name:?}")));
        }
        AdminChange::LastAdmin => {
            let detail = format!("{name:?} is the last admin token; create another one first");
            return Err(Failure::new(Code::LastAdmin, detail));
        }
    }
    app.tokens.forget(|row| row.name == name);
    app.people.remove_sessions(&name, ProofKind::Token).await?;
    Ok((StatusCode::NO_CONTENT, about(&name)))
}
