//! `GET /console`: what is going on, and the first steps where nothing has been yet.

mod chart;
mod now;
mod try_it;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};

use crate::api::Api;
use crate::desk::Desk;
use crate::flash::see_other;
use crate::live::{About, OpenPage, Picture, stream};
use crate::parts::Icon;
use crate::shell::Section;
use crate::shell::Shell;
use crate::trouble::Trouble;
use crate::visitor::Visitor;
use now::Now;
use try_it::Offers;

pub(crate) static SECTION: Section =
    Section { title: "Home", path: "/console", icon: Icon::Home, position: 0, is_for: Visitor::may_look };

pub(crate) fn routes() -> Router<Desk> {
    Router::new()
        .route("/console", get(show))
        .route("/console/live", get(live))
        .route("/console/try", get(try_it::show))
        .route("/console/try/{what}", post(try_it::start))
}

#[derive(Template)]
#[template(path = "home.html")]
struct Home {
    now: Now,
    offers: Offers,
    actions: Vec<&'static Section>,
}

async fn show(State(desk): State<Desk>, visitor: Visitor) -> Response {
    if !visitor.may_look() {
        return see_other(desk.start_page());
    }
    match Now::look(&visitor.desk, &visitor.api).await {
        Ok(now) => {
            let offers = Offers::new(&visitor);
            let actions = desk.pages.actions.iter().copied();
            let actions = actions.filter(|section| (section.is_for)(&visitor)).collect();
            let content = Home { now, offers, actions };
            Shell::new(&visitor, &crate::home::SECTION, "Home").page(&content)
        }
        Err(trouble) => trouble.page(&visitor),
    }
}

async fn live(State(desk): State<Desk>, visitor: Visitor) -> Response {
    let page = Open { desk: Desk::clone(&desk), api: visitor.api.clone() };
    stream(&visitor, About::Everything, page)
}

struct Open {
    desk: Desk,
    api: Api,
}

impl OpenPage for Open {
    async fn draw(&mut self) -> Result<Picture, Trouble> {
        Ok(Picture::of(&Now::look(&self.desk, &self.api).await?))
    }
}
