//! `GET /console`: what is going on, and the first steps where nothing has been yet.

mod chart;
mod now;
mod try_it;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};

use crate::desk::Desk;
use crate::flash::see_other;
use crate::frame::{Frame, Section, page};
use crate::live::{About, Picture, stream};
use crate::parts::Icon;
use crate::visitor::Visitor;
use now::Now;
use try_it::Offers;

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
    frame: Frame,
    now: Now,
    offers: Offers,
    may_launch: bool,
}

async fn show(State(desk): State<Desk>, visitor: Visitor) -> Response {
    if !visitor.may_look() {
        return see_other("/console/launches");
    }
    match Now::look(&desk, &visitor.api).await {
        Ok(now) => {
            let frame = Frame::new(&desk, &visitor, Section::Home, "Home");
            let offers = Offers::new(&desk, &visitor);
            page(&visitor, &Home { frame, now, offers, may_launch: visitor.may_launch() })
        }
        Err(trouble) => trouble.page(&desk, &visitor),
    }
}

async fn live(State(desk): State<Desk>, visitor: Visitor) -> Response {
    let (drawn_by, api) = (Desk::clone(&desk), visitor.api.clone());
    let draw = move || {
        let (desk, api) = (Desk::clone(&drawn_by), api.clone());
        async move {
            let html = Now::look(&desk, &api).await?.render().unwrap_or_default();
            Ok(Picture { html, is_last: false })
        }
    };
    stream(&desk, &visitor, About::Everything, draw)
}
