//! `GET /console/admin`: whether the systems outside answer.

use api::types::{System, SystemList, SystemState};
use askama::Template;
use axum::response::Response;
use engine::Capability;

use super::Tab;
use crate::api::Api;
use crate::live::part;
use crate::parts::{Chip, Icon, Tone, When};
use crate::shell::Shell;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

#[derive(Template)]
#[template(path = "admin/overview.html")]
struct Overview {
    here: Tab,
    now: Now,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "admin/systems.html")]
struct Now {
    systems: Vec<System>,
}

impl From<&SystemState> for Chip {
    fn from(state: &SystemState) -> Chip {
        match state {
            SystemState::Ok => Chip::new(Tone::Good, Icon::Check, "answers"),
            SystemState::Failing => Chip::new(Tone::Bad, Icon::Cross, "fails"),
            SystemState::NotConfigured => Chip::new(Tone::Quiet, Icon::Slash, "not configured"),
        }
    }
}

pub(super) async fn show(visitor: Visitor) -> Response {
    if !visitor.can(Capability::Administer) {
        return Trouble::needs(Capability::Administer).page(&visitor);
    }
    match look(&visitor.api).await {
        Ok(now) => Shell::new(&visitor, &crate::admin::SECTION, "Systems")
            .page(&Overview { here: Tab::Overview, now }),
        Err(trouble) => trouble.page(&visitor),
    }
}

pub(super) async fn now(visitor: Visitor) -> Response {
    part(look(&visitor.api).await)
}

async fn look(api: &Api) -> Result<Now, Trouble> {
    let found: SystemList = api.get("/systems").await?;
    Ok(Now { systems: found.items })
}
