//! `GET /console/operations/{id}`

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use doors::wire::{Explanation, JournalEntry, JournalPage, OperationDetail};
use engine::OperationId;
use uuid::Uuid;

use crate::api::Api;
use crate::desk::Desk;
use crate::frame::{Frame, Section, page};
use crate::live::{About, Picture, stream};
use crate::parts::{Chip, When};
use crate::trouble::Trouble;
use crate::visitor::Visitor;

#[derive(Template)]
#[template(path = "operations/show.html")]
struct Show {
    frame: Frame,
    now: Now,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "operations/now.html")]
struct Now {
    detail: OperationDetail,
    why: Explanation,
    journal: Vec<JournalEntry>,
}

pub(super) async fn show(State(desk): State<Desk>, visitor: Visitor, Path(id): Path<Uuid>) -> Response {
    match now(&visitor.api, id).await {
        Ok(now) => {
            let title = format!("{} {id}", now.detail.operation.workflow);
            page(&visitor, &Show { frame: Frame::new(&desk, &visitor, Section::Operations, &title), now })
        }
        Err(trouble) => trouble.page(&desk, &visitor),
    }
}

pub(super) async fn live(State(desk): State<Desk>, visitor: Visitor, Path(id): Path<Uuid>) -> Response {
    let api = visitor.api.clone();
    let draw = move || {
        let api = api.clone();
        async move {
            let now = now(&api, id).await?;
            let is_last = now.detail.operation.phase.is_final();
            Ok(Picture { html: now.render().unwrap_or_default(), is_last })
        }
    };
    stream(&desk, &visitor, About::Operation(OperationId(id)), draw)
}

async fn now(api: &Api, id: Uuid) -> Result<Now, Trouble> {
    let detail = api.get(&format!("/operations/{id}")).await?;
    let why = api.get(&format!("/operations/{id}/explain")).await?;
    let journal: JournalPage = api.get(&format!("/operations/{id}/journal?limit=500")).await?;
    Ok(Now { detail, why, journal: journal.items })
}
