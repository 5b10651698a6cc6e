//! `GET /console/runtimes/{id}/rescue`: what operators do when a runtime does not come or go by itself.

use crate::api::types::{Reason, Runtime, RuntimeState};
use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use engine::Capability;

use super::look::runtime;
use super::state::can;
use console::{CsrfToken, Fields, Flash, Shell, Trouble, Visitor, confirm, path};

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
    wrong: Option<(Deed, String)>,
    reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Repair,
    Expire,
    Force,
}

impl Deed {
    fn named(text: &str) -> Option<Deed> {
        match text {
            "repair" => Some(Deed::Repair),
            "expire" => Some(Deed::Expire),
            "force" => Some(Deed::Force),
            _ => None,
        }
    }
}

impl Rescue {
    fn new(visitor: &Visitor, runtime: &Runtime) -> Rescue {
        let (status, can) = (&runtime.status, can(runtime.status.state));
        let has_end = status.expires_at.is_some() && status.expired_at.is_none();
        Rescue {
            csrf: visitor.csrf.clone(),
            id: path::part(&runtime.instance_id),
            at: status.state,
            may_repair: visitor.can(Capability::Operate) && can.be_repaired,
            may_expire: visitor.can(Capability::Operate) && has_end && can.be_used,
            may_force: visitor.can(Capability::Administer) && status.deleted_at.is_none(),
            wrong: None,
            reason: String::new(),
        }
    }

    fn error(&self, deed: Deed) -> Option<&str> {
        self.wrong.as_ref().filter(|(about, _)| *about == deed).map(|(_, text)| text.as_str())
    }

    fn typed(&self, deed: Deed) -> &str {
        if self.error(deed).is_some() { &self.reason } else { "" }
    }
}

fn shell(visitor: &Visitor) -> Shell {
    Shell::new(visitor, &super::SECTION, "Step in")
}

pub(super) async fn form(visitor: Visitor, Path(id): Path<String>) -> Response {
    match runtime(&visitor.api, &id).await {
        Ok(found) => shell(&visitor).page(&Rescue::new(&visitor, &found)),
        Err(trouble) => trouble.page(&visitor),
    }
}

pub(super) async fn rescue(visitor: Visitor, Path(id): Path<String>, fields: Fields) -> Response {
    let place = format!("/console/runtimes/{}", path::part(&id));
    let Some(deed) = Deed::named(fields.text("deed")) else {
        return Trouble::missing("such way to step in").page(&visitor);
    };
    if deed != Deed::Repair && !confirm::is_confirmed(&fields) {
        let (question, yes) = match deed {
            Deed::Force => {
                ("Forget this runtime? Whatever is left of it must be removed by hand.", "Forget it")
            }
            _ => ("Suspend this runtime for good? Its cluster is taken down.", "Suspend it"),
        };
        return confirm::page(&visitor, &super::SECTION, question, yes, &place, &fields);
    }
    let reason = Reason { reason: fields.text("reason").to_owned() };
    let id = path::part(&id);
    let asked = match deed {
        Deed::Repair => visitor.api.post(&format!("/runtimes/{id}/repair"), &reason).await,
        Deed::Force => visitor.api.post(&format!("/runtimes/{id}/force-delete"), &reason).await,
        Deed::Expire => {
            let at = format!("/expire/service_instance/{id}");
            visitor.api.send(axum::http::Method::PUT, &at, &[], None::<&()>).await
        }
    };
    match asked {
        Ok(_) => Flash::good("It is being done.").at(&place),
        Err(trouble) if trouble.status == StatusCode::BAD_REQUEST => match runtime(&visitor.api, &id).await {
            Ok(found) => {
                let wrong = Some((deed, "Say why, in 1 to 500 characters.".to_owned()));
                let again = Rescue { wrong, reason: reason.reason, ..Rescue::new(&visitor, &found) };
                shell(&visitor).page_with(StatusCode::UNPROCESSABLE_ENTITY, &again)
            }
            Err(trouble) => trouble.page(&visitor),
        },
        Err(trouble) => trouble.back(&visitor, &place),
    }
}
