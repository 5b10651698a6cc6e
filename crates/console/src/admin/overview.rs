//! `GET /console/admin`: whether the systems outside answer.

use api::types::{System, SystemList, SystemState};
use askama::Template;
use axum::response::Response;
use engine::Capability;

use super::Tab;
use crate::api::ApiClient;
use crate::live::part;
use crate::page_error::PageError;
use crate::parts::{Chip, Icon, Tone, When};
use crate::shell::Shell;
use crate::signed_in::SignedIn;

#[derive(Template)]
#[template(path = "admin/overview.html")]
struct Overview {
    here: Tab,
    now: OverviewPart,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "admin/systems.html")]
struct OverviewPart {
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

pub(super) async fn show(signed_in: SignedIn) -> Response {
    if !signed_in.can(Capability::Administer) {
        return PageError::needs(Capability::Administer).page(&signed_in);
    }
    match look(&signed_in.api).await {
        Ok(now) => Shell::new(&signed_in, &crate::admin::SECTION, "Systems")
            .page(&Overview { here: Tab::Overview, now }),
        Err(page_error) => page_error.page(&signed_in),
    }
}

pub(super) async fn now(signed_in: SignedIn) -> Response {
    part(look(&signed_in.api).await)
}

async fn look(api: &ApiClient) -> Result<OverviewPart, PageError> {
    let found: SystemList = api.get("/systems").await?;
    Ok(OverviewPart { systems: found.items })
}
