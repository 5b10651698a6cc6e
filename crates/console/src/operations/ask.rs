//! Asks an operation for something: `GET` and `POST /console/operations/{id}/ask/{verb}`

use api::types::Control;
use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use engine::Capability;
use uuid::Uuid;

use super::look::{StatusLook, id_of};
use super::why::{SuggestedAction, possible};
use crate::csrf::CsrfToken;
use crate::fields::Fields;
use crate::flash::Flash;
use crate::page_error::PageError;
use crate::shell::Shell;
use crate::signed_in::SignedIn;

/// The page that asks whether it is meant.
#[derive(Template)]
#[template(path = "operations/ask.html")]
struct ConfirmPage {
    csrf: CsrfToken,
    id: Uuid,
    workflow: String,
    action: SuggestedAction,
    reason: String,
    error: Option<String>,
}

impl ConfirmPage {
    fn title(&self) -> String {
        format!("{} this operation?", self.action.label)
    }

    fn page(&self, status: StatusCode, signed_in: &SignedIn) -> Response {
        Shell::new(signed_in, &crate::operations::SECTION, &self.title()).page_with(status, self)
    }
}

pub(super) async fn form(signed_in: SignedIn, Path((id, verb)): Path<(String, String)>) -> Response {
    match draw(&signed_in, &id, &verb, "", None).await {
        Ok(ask) => ask.page(StatusCode::OK, &signed_in),
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) async fn ask(
    signed_in: SignedIn,
    Path((id, verb)): Path<(String, String)>,
    fields: Fields,
) -> Response {
    let reason = fields.text("reason");
    let drawn = if fields.text("confirmed") == "yes" {
        match send(&signed_in, &id, &verb, reason).await {
            Ok(response) => return response,
            Err(page_error)
                if page_error.field_errors.iter().any(|field_error| field_error.field == "reason") =>
            {
                draw(&signed_in, &id, &verb, reason, Some(page_error.line())).await
            }
            Err(page_error) => return Flash::bad(page_error.line()).at(&format!("/console/operations/{id}")),
        }
    } else {
        draw(&signed_in, &id, &verb, reason, None).await
    };
    match drawn {
        Ok(ask) => {
            let status = if ask.error.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
            ask.page(status, &signed_in)
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

async fn send(signed_in: &SignedIn, id: &str, verb: &str, reason: &str) -> Result<Response, PageError> {
    let id = id_of(id)?;
    let said = match verb {
        "cancel" => "Cancel requested. It takes effect when the running step ends.",
        "pause" => "Pause requested. It takes effect when the running step ends.",
        "resume" => "Resumed.",
        "retry" => "Retry started.",
        _ => return Err(PageError::missing("such action")),
    };
    let reason = Some(reason.to_owned()).filter(|reason| !reason.is_empty());
    signed_in.api.post(&format!("/operations/{id}/{verb}"), &Control { reason }).await?;
    Ok(Flash::good(said).while_running().at(&format!("/console/operations/{id}")))
}

async fn draw(
    signed_in: &SignedIn,
    id: &str,
    verb: &str,
    reason: &str,
    error: Option<String>,
) -> Result<ConfirmPage, PageError> {
    let id = id_of(id)?;
    let look = StatusLook::at(&signed_in.api, id).await?;
    if !signed_in.can_with(Capability::Operate, &look.detail.operation.workflow) {
        let detail = format!("This needs the role operator, and yours is {}.", signed_in.role());
        return Err(PageError::new(StatusCode::FORBIDDEN, "Not allowed", detail));
    }
    let phase = look.detail.operation.phase;
    let action = possible(&look).into_iter().find(|action| action.verb == verb).ok_or_else(|| {
        let detail = format!("The operation is {phase} and does not allow this.");
        PageError::new(StatusCode::CONFLICT, "Not now", detail).hint("Its page shows what can be done.")
    })?;
    let workflow = look.detail.operation.workflow.clone();
    Ok(ConfirmPage { csrf: signed_in.csrf.clone(), id, workflow, action, reason: reason.to_owned(), error })
}
