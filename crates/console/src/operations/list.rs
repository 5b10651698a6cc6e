//! `GET /console/operations`, and the stream that keeps its rows true.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use doors::wire::{Operation, OperationPage};

use super::filters::{AT, Filters, PHASES, Quick};
use crate::api::Api;
use crate::desk::Desk;
use crate::frame::{Frame, Section, html, page};
use crate::live::{About, Picture, stream};
use crate::parts::{Chip, Icon, Pager, Prose, Resource, When};
use crate::path;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

#[derive(Template)]
#[template(path = "operations/list.html")]
struct List {
    frame: Frame,
    quick: Vec<Quick>,
    workflows: Vec<String>,
    rows: Rows,
    pager: Pager,
    live: String,
    filters: Filters,
    error: Option<String>,
    /// The field that cannot be read.
    wrong: &'static str,
}

#[derive(Template, Default)]
#[template(path = "operations/rows.html")]
struct Rows {
    operations: Vec<Operation>,
}

pub(super) async fn list(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Response {
    let filters = Filters::read(pairs);
    let (found, wrong, error) = match found(&visitor.api, &filters).await {
        Ok(found) => (found, "", None),
        Err(Refused { wrong, trouble }) if trouble.status == StatusCode::BAD_REQUEST => {
            (OperationPage { items: Vec::new(), next: None }, wrong, Some(trouble.line()))
        }
        Err(Refused { trouble, .. }) => return trouble.page(&desk, &visitor),
    };
    let pairs = filters.pairs();
    let kept: Vec<(&str, &str)> = pairs.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let cursor = Some(filters.cursor.as_str()).filter(|cursor| !cursor.is_empty());
    let pager = Pager::new(AT, &kept, cursor, found.next.as_deref());
    let followed = path::query(kept.iter().copied().chain([("cursor", filters.cursor.as_str())]));
    let list = List {
        frame: Frame::new(&desk, &visitor, Section::Operations, "Operations"),
        quick: filters.quick(),
        workflows: desk.inside.engine().workflows().into_iter().map(|one| one.workflow.to_owned()).collect(),
        rows: Rows { operations: found.items },
        pager,
        live: format!("{AT}/live{followed}"),
        error,
        wrong,
        filters,
    };
    if list.error.is_some() { html(StatusCode::BAD_REQUEST, &list) } else { page(&visitor, &list) }
}

pub(super) async fn live(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Response {
    let (api, filters) = (visitor.api.clone(), Filters::read(pairs));
    let draw = move || {
        let (api, filters) = (api.clone(), filters.clone());
        async move {
            let found = found(&api, &filters).await.map_err(|refused| refused.trouble)?;
            let html = Rows { operations: found.items }.render().unwrap_or_default();
            Ok(Picture { html, is_last: false })
        }
    };
    stream(&desk, &visitor, About::Everything, draw)
}

/// Why there is no list, and the field that is to blame where one is.
struct Refused {
    wrong: &'static str,
    trouble: Trouble,
}

async fn found(api: &Api, filters: &Filters) -> Result<OperationPage, Refused> {
    let query = filters.asked().map_err(|wrong| {
        let detail = "This is not a day and a time.";
        let trouble = Trouble::new(StatusCode::BAD_REQUEST, "Unreadable", detail)
            .hint("Write it like 2026-01-31T12:00, in UTC.");
        Refused { wrong, trouble }
    })?;
    let asked = api.get(&format!("/operations{query}")).await;
    asked.map_err(|trouble| Refused { wrong: "", trouble })
}
