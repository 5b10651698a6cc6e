//! Asks an operation for something: `GET` and `POST /console/operations/{id}/ask/{verb}`

use api::types::Control;
use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use engine::Capability;
use uuid::Uuid;

use super::look::{Look, id_of};
use super::why::{Action, possible};
use crate::csrf::CsrfToken;
use crate::fields::Fields;
use crate::flash::Flash;
use crate::shell::Shell;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

/// The page that asks whether it is meant.
#[derive(Template)]
#[template(path = "operations/ask.html")]
struct Ask {
    csrf: CsrfToken,
    id: Uuid,
    workflow: String,
    action: Action,
    reason: String,
    error: Option<String>,
}

impl Ask {
    fn title(&self) -> String {
        format!("{} this operation?", self.action.label)
    }

    fn page(&self, status: StatusCode, visitor: &Visitor) -> Response {
        Shell::new(visitor, &crate::operations::SECTION, &self.title()).page_with(status, self)
    }
}

pub(super) async fn form(visitor: Visitor, Path((id, verb)): Path<(String, String)>) -> Response {
    match draw(&visitor, &id, &verb, "", None).await {
        Ok(ask) => ask.page(StatusCode::OK, &visitor),
        Err(trouble) => trouble.page(&visitor),
    }
}

pub(super) async fn ask(
    visitor: Visitor,
    Path((id, verb)): Path<(String, String)>,
    fields: Fields,
) -> Response {
    let reason = fields.text("reason");
    let drawn = if fields.text("confirmed") == "yes" {
        match send(&visitor, &id, &verb, reason).await {
            Ok(response) => return response,
            Err(trouble) if trouble.flaws.iter().any(|flaw| flaw.field == "reason") => {
                draw(&visitor, &id, &verb, reason, Some(trouble.line())).await
            }
            Err(trouble) => return Flash::bad(trouble.line()).at(&format!("/console/operations/{id}")),
        }
    } else {
        draw(&visitor, &id, &verb, reason, None).await
    };
    match drawn {
        Ok(ask) => {
            let status = if ask.error.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
            ask.page(status, &visitor)
        }
        Err(trouble) => trouble.page(&visitor),
    }
}

async fn send(visitor: &Visitor, id: &str, verb: &str, reason: &str) -> Result<Response, Trouble> {
    let id = id_of(id)?;
    let said = match verb {
        "cancel" => "It is asked to cancel, and gives up when the step that runs has ended.",
        "pause" => "It is asked to pause, and holds still when the step that runs has ended.",
        "resume" => "It goes on.",
        "retry" => "It tries again.",
        _ => return Err(Trouble::missing("such thing to ask for")),
    };
    let reason = Some(reason.to_owned()).filter(|reason| !reason.is_empty());
    visitor.api.post(&format!("/operations/{id}/{verb}"), &Control { reason }).await?;
    Ok(Flash::good(said).at(&format!("/console/operations/{id}")))
}

async fn draw(
    visitor: &Visitor,
    id: &str,
    verb: &str,
    reason: &str,
    error: Option<String>,
) -> Result<Ask, Trouble> {
    let id = id_of(id)?;
    if !visitor.can(Capability::Operate) {
        let detail = format!("This needs the role operator, and yours is {}.", visitor.role());
        return Err(Trouble::new(StatusCode::FORBIDDEN, "Not allowed", detail));
    }
    let look = Look::at(&visitor.api, id).await?;
    let phase = look.detail.operation.phase;
    let action = possible(&look).into_iter().find(|action| action.verb == verb).ok_or_else(|| {
        let detail = format!("The operation is {phase} and cannot be asked for this.");
        Trouble::new(StatusCode::CONFLICT, "Not now", detail).hint("Its page shows what can be done.")
    })?;
    let workflow = look.detail.operation.workflow.clone();
    Ok(Ask { csrf: visitor.csrf.clone(), id, workflow, action, reason: reason.to_owned(), error })
}
