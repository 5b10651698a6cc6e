//! `GET /console/runtimes/{id}/rescue`: what operators do when a runtime does not come or go by itself.

use crate::api::types::{Reason, Runtime, RuntimeState};
use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use engine::Capability;

use super::look::runtime;
use super::state::can;
use console::{CsrfToken, Fields, Flash, PageError, Shell, SignedIn, confirm, path};

#[derive(Template)]
#[template(path = "rescue.html")]
struct Rescue {
    csrf: CsrfToken,
    id: String,
    at: RuntimeState,
    may_repair: bool,
    may_expire: bool,
    may_force: bool,
    /// What was wrong, and with which of the three.
    wrong: Option<(RescueAction, String)>,
    reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RescueAction {
    Repair,
    Expire,
    Force,
}

impl RescueAction {
    fn named(text: &str) -> Option<RescueAction> {
        match text {
            "repair" => Some(RescueAction::Repair),
            "expire" => Some(RescueAction::Expire),
            "force" => Some(RescueAction::Force),
            _ => None,
        }
    }
}

impl Rescue {
    fn new(signed_in: &SignedIn, runtime: &Runtime) -> Rescue {
        let (status, can) = (&runtime.status, can(runtime.status.state));
        let has_end = status.expires_at.is_some() && status.expired_at.is_none();
        Rescue {
            csrf: signed_in.csrf.clone(),
            id: path::part(&runtime.instance_id),
            at: status.state,
            may_repair: signed_in.can(Capability::Operate) && can.be_repaired,
            may_expire: signed_in.can(Capability::Operate) && has_end && can.be_used,
            may_force: signed_in.can(Capability::Administer) && status.deleted_at.is_none(),
            wrong: None,
            reason: String::new(),
        }
    }

    fn error(&self, action: RescueAction) -> Option<&str> {
        self.wrong.as_ref().filter(|(about, _)| *about == action).map(|(_, text)| text.as_str())
    }

    fn typed(&self, action: RescueAction) -> &str {
        if self.error(action).is_some() { &self.reason } else { "" }
    }
}

fn shell(signed_in: &SignedIn) -> Shell {
    Shell::new(signed_in, &super::SECTION, "Step in")
}

pub(super) async fn form(signed_in: SignedIn, Path(id): Path<String>) -> Response {
    match runtime(&signed_in.api, &id).await {
        Ok(found) => shell(&signed_in).page(&Rescue::new(&signed_in, &found)),
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) async fn rescue(signed_in: SignedIn, Path(id): Path<String>, fields: Fields) -> Response {
    let place = format!("/console/runtimes/{}", path::part(&id));
    let Some(action) = RescueAction::named(fields.text("action")) else {
        return PageError::missing("such way to step in").page(&signed_in);
    };
    if action != RescueAction::Repair && !confirm::is_confirmed(&fields) {
        let (question, yes) = match action {
            RescueAction::Force => (
                "Delete the record of this runtime? What is left of it must be removed by hand.",
                "Force delete",
            ),
            _ => ("Suspend this runtime for good? Its cluster is taken down.", "Suspend it"),
        };
        return confirm::page(&signed_in, &super::SECTION, question, yes, &place, &fields);
    }
    let reason = Reason { reason: fields.text("reason").to_owned() };
    let id = path::part(&id);
    let asked = match action {
        RescueAction::Repair => signed_in.api.post(&format!("/runtimes/{id}/repair"), &reason).await,
        RescueAction::Force => signed_in.api.post(&format!("/runtimes/{id}/force-delete"), &reason).await,
        RescueAction::Expire => {
            let at = format!("/expire/service_instance/{id}");
            signed_in.api.send(axum::http::Method::PUT, &at, &[], None::<&()>).await
        }
    };
    match asked {
        Ok(_) => Flash::good("Started.").while_running().at(&place),
        Err(page_error) if page_error.status == StatusCode::BAD_REQUEST => {
            match runtime(&signed_in.api, &id).await {
                Ok(found) => {
                    let wrong = Some((action, "Say why, in 1 to 500 characters.".to_owned()));
                    let again = Rescue { wrong, reason: reason.reason, ..Rescue::new(&signed_in, &found) };
                    shell(&signed_in).page_with(StatusCode::UNPROCESSABLE_ENTITY, &again)
                }
                Err(page_error) => page_error.page(&signed_in),
            }
        }
        Err(page_error) => page_error.back(&signed_in, &place),
    }
}
