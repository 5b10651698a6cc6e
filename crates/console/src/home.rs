//! `GET /console`: what is going on, and the first steps where nothing has been yet.

mod chart;
mod now;
mod try_it;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use engine::Capability;
use server::Principal;

use crate::api::ApiClient;
use crate::flash::see_other;
use crate::live::{LiveTopic, OpenPage, Picture, stream};
use crate::page_error::PageError;
use crate::parts::Icon;
use crate::path;
use crate::shared::{ConsoleShared, ConsoleState};
use crate::shell::Section;
use crate::shell::Shell;
use crate::signed_in::SignedIn;
use now::HomePart;
use try_it::QuickStarts;

pub(crate) static SECTION: Section =
    Section { title: "Home", path: "/console", icon: Icon::Home, position: 0, is_for: SignedIn::may_look };

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console", get(show))
        .route("/console/live", get(live))
        .route("/console/try", get(try_it::show))
        .route("/console/try/{what}", post(try_it::start))
}

#[derive(Template)]
#[template(path = "home.html")]
struct Home {
    now: HomePart,
    offers: QuickStarts,
    actions: Vec<&'static Section>,
}

async fn show(State(shared): State<ConsoleState>, signed_in: SignedIn) -> Response {
    if !signed_in.may_look() {
        return see_other(start_page(&shared, &signed_in.principal));
    }
    match HomePart::look(&signed_in.shared, &signed_in.api).await {
        Ok(now) => {
            let offers = QuickStarts::new(&signed_in);
            let actions = shared.pages.actions.iter().copied();
            let actions = actions.filter(|section| (section.is_for)(&signed_in)).collect();
            let content = Home { now, offers, actions };
            Shell::new(&signed_in, &crate::home::SECTION, "Home").page(&content)
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

/// Where to go first: to the numbers of everything, or to what a principal may see.
pub(crate) fn start_page(shared: &ConsoleShared, who: &Principal) -> &'static str {
    match () {
        () if who.can(Capability::Read) => path::HOME,
        () if who.can_with_some(Capability::Read) => crate::operations::SECTION.path,
        () if who.sees_some() => crate::workflows::SECTION.path,
        () => shared.start_page(),
    }
}

async fn live(State(shared): State<ConsoleState>, signed_in: SignedIn) -> Response {
    if !signed_in.may_look() {
        return StatusCode::FORBIDDEN.into_response();
    }
    let page = HomeLive { shared: ConsoleState::clone(&shared), api: signed_in.api.clone() };
    stream(&signed_in, LiveTopic::Everything, page)
}

struct HomeLive {
    shared: ConsoleState,
    api: ApiClient,
}

impl OpenPage for HomeLive {
    async fn draw(&mut self) -> Result<Picture, PageError> {
        Ok(Picture::of(&HomePart::look(&self.shared, &self.api).await?))
    }
}
