//! `POST /tokens`

use std::time::Duration;

use api::Code;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use engine::secret::ExposeSecret;

use super::{IssueError, is_name, issue_as};
use crate::app_state::Shared;
use crate::audit::about;
use crate::grants;
use crate::http::Failure;
use crate::http::body::JsonBody;
use crate::principal::Principal;
use crate::sandbox_access::name_of_new;
use crate::wire::{self, ToWire};

/// A hundred years: a longer time is no expiry.
const EXPIRES_SECONDS_MAX: u64 = 100 * 366 * 24 * 60 * 60;

/// Makes a token.
///
/// The token is in this answer and can never be shown again.
#[utoipa::path(
    post, path = "/tokens", tag = "access", operation_id = "create_token",
    request_body = wire::NewToken,
    responses(
        (status = CREATED, body = wire::IssuedToken, description = "The token, this once."),
        (status = CONFLICT, description = "The name is taken: `token-exists`."),
    )
)]
pub(crate) async fn create_token(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    JsonBody(new): JsonBody<wire::NewToken>,
) -> Result<impl IntoResponse, Failure> {
    let now = app.engine.now();
    let expires_at = match new.expires_in_seconds {
        None => None,
        Some(seconds @ 1..=EXPIRES_SECONDS_MAX) => Some(now.plus(Duration::from_secs(seconds))),
        Some(_) => {
            let detail = format!("expires_in_seconds: it must be from 1 to {EXPIRES_SECONDS_MAX}");
            return Err(Failure::new(Code::InvalidBody, detail).with("field", "expires_in_seconds"));
        }
    };
    if !is_name(&new.name) {
        return Err(IssueError::InvalidName.into());
    }
    let name = name_of_new(&principal, &new.name);
    let (role, platform) = (wire::role(new.role), new.platform.as_deref());
    let grants = grants::read(&new.grants)?;
    grants::check_within(&principal, role, &grants)?;
    let shown = grants::texts(&grants);
    let token = issue_as(&*app.access, &name, (role, grants), platform, now, expires_at).await?;
    let issued = wire::IssuedToken {
        token: token.expose_secret().to_owned(),
        name: name.clone(),
        role: new.role,
        platform: new.platform.clone(),
        grants: shown,
        created_at: now.to_wire(),
        expires_at: expires_at.to_wire(),
    };
    Ok((StatusCode::CREATED, about(&name), Json(issued)))
}

impl From<IssueError> for Failure {
    fn from(error: IssueError) -> Failure {
        match error {
            IssueError::NameTaken(_) => Failure::new(Code::TokenExists, error),
            IssueError::InvalidName => {
                Failure::new(Code::InvalidBody, format!("name: {error}")).with("field", "name")
            }
            IssueError::InvalidPlatform => {
                Failure::new(Code::InvalidBody, format!("platform: {error}")).with("field", "platform")
            }
            IssueError::Store(error) => error.into(),
        }
    }
}
