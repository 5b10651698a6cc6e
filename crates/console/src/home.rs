//! `GET /console`: what is going on.

mod chart;

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use doors::wire::{JournalEntry, JournalPage, Operation, OperationPage};

use crate::api::Api;
use crate::desk::{Desk, Hub};
use crate::flash::see_other;
use crate::frame::{Frame, Section, page};
use crate::live::{About, Picture, stream};
use crate::parts::{Chip, When};
use crate::trouble::Trouble;
use crate::visitor::Visitor;
use chart::Chart;

const SHOWN: usize = 8;

pub(crate) fn routes() -> Router<Desk> {
    Router::new().route("/console", get(show)).route("/console/live", get(live))
}

#[derive(Template)]
#[template(path = "home.html")]
struct Home {
    frame: Frame,
    now: Now,
    may_launch: bool,
    is_admin: bool,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "home_now.html")]
struct Now {
    counts: [Count; 4],
    charts: [Chart; 2],
    latest: Vec<Operation>,
    events: Vec<Happened>,
}

struct Count {
    title: &'static str,
    number: u64,
    path: &'static str,
    tone: &'static str,
}

struct Happened {
    operation: String,
    entry: JournalEntry,
}

async fn show(State(desk): State<Desk>, visitor: Visitor) -> Response {
    if !visitor.may_look() {
        return see_other("/console/launches");
    }
    match now(&desk, &visitor.api).await {
        Ok(now) => {
            let frame = Frame::new(&desk, &visitor, Section::Home, "Home");
            let (may_launch, is_admin) = (visitor.may_launch(), visitor.is(engine::Role::Admin));
            page(&visitor, &Home { frame, now, may_launch, is_admin })
        }
        Err(trouble) => trouble.page(&desk, &visitor),
    }
}

async fn live(State(desk): State<Desk>, visitor: Visitor) -> Response {
    let (drawn_by, api) = (Desk::clone(&desk), visitor.api.clone());
    let draw = move || {
        let (desk, api) = (Desk::clone(&drawn_by), api.clone());
        async move {
            let html = now(&desk, &api).await?.render().unwrap_or_default();
            Ok(Picture { html, is_last: false })
        }
    };
    stream(&desk, &visitor, About::Everything, draw)
}

async fn now(desk: &Hub, api: &Api) -> Result<Now, Trouble> {
    let latest: OperationPage = api.get(&format!("/operations?limit={SHOWN}")).await?;
    let mut events = Vec::new();
    for (id, seq) in desk.pulse.events() {
        let before = seq.saturating_sub(1);
        let path = format!("/operations/{id}/journal?after={before}&limit=1");
        // It may be forgotten already.
        let Ok(found) = api.get::<JournalPage>(&path).await else { continue };
        events.extend(found.items.into_iter().map(|entry| Happened { operation: id.to_string(), entry }));
    }
    let stats = desk.inside.engine().stats().await.map_err(|error| {
        Trouble::new(axum::http::StatusCode::SERVICE_UNAVAILABLE, "Please wait", error.to_string())
    })?;
    let samples = desk.pulse.samples();
    Ok(Now {
        counts: [
            Count {
                title: "Running",
                number: stats.owned,
                path: "/console/operations?phase=running",
                tone: "busy",
            },
            Count {
                title: "Waiting",
                number: stats.waiting + stats.due,
                path: "/console/operations?phase=waiting",
                tone: "waits",
            },
            Count {
                title: "Stuck",
                number: stats.stuck,
                path: "/console/operations?phase=stuck",
                tone: "bad",
            },
            Count {
                title: "Failed lately",
                number: latest.items.iter().filter(|one| one.phase == doors::wire::Phase::Failed).count()
                    as u64,
                path: "/console/operations?phase=failed",
                tone: "bad",
            },
        ],
        charts: [Chart::of_finished(&samples), Chart::of_oldest(&samples)],
        latest: latest.items,
        events,
    })
}
