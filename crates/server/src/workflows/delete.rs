//! `DELETE /workflows/{name}`

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use declared::Source;

use super::{declarations, refused};
use crate::app_state::Shared;
use crate::audit::about;
use crate::grants;
use crate::http::Failure;
use crate::principal::Principal;
use crate::query::Name;

/// Ends a declared workflow for new operations.
///
/// Operations that are under way end with the versions that they began with.
#[utoipa::path(
    delete, path = "/workflows/{name}", tag = "workflows", operation_id = "delete_workflow",
    params(("name" = String, Path, description = "The name of the workflow.")),
    responses(
        (status = NO_CONTENT, description = "No new operation begins with it."),
        (status = NOT_FOUND, description = "There is none that was declared: `workflow-not-found`."),
        (status = CONFLICT, description = "It comes from a file: `declaration-conflict`."),
    )
)]
pub(crate) async fn delete_workflow(
    State(app): State<Shared>,
    Extension(principal): Extension<Principal>,
    Name(name): Name,
) -> Result<impl IntoResponse, Failure> {
    grants::check_declare(&principal, &name)?;
    declarations(&app)?.withdraw(&name, &principal.name, &Source::Api).await.map_err(refused)?;
    Ok((StatusCode::NO_CONTENT, about(&name)))
}
