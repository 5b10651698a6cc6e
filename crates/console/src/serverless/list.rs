//! `GET /console/serverless`

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use doors::serverless::wire::{Listing, ServerlessRuntime};
use engine::Role;
use serde::Deserialize;

use super::AT;
use crate::api::Api;
use crate::desk::Desk;
use crate::frame::{Frame, Section, html, page};
use crate::path;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

const LIMIT: &str = "50";
const STATES: [(&str, &str); 4] =
    [("RUNNING", "running"), ("PENDING", "pending"), ("UPDATING", "updating"), ("ERROR", "error")];

/// The filters, as they are in the address.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Filters {
    state: String,
    flavour: String,
    name: String,
    offset: String,
}

impl Filters {
    fn kept(&self) -> [(&str, &str); 3] {
        [("state", &self.state), ("flavour", &self.flavour), ("name", &self.name)]
    }

    fn is_none(&self) -> bool {
        self.kept().iter().all(|(_, value)| value.is_empty())
    }

    fn query(&self) -> String {
        path::query(self.kept().into_iter().chain([("offset", self.offset.as_str())]))
    }
}

#[derive(Template)]
#[template(path = "serverless/list.html")]
struct List {
    frame: Frame,
    filters: Filters,
    rows: Rows,
    may_create: bool,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "serverless/rows.html")]
struct Rows {
    runtimes: Vec<ServerlessRuntime>,
    is_filtered: bool,
    may_create: bool,
    first: Option<String>,
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "serverless/closed.html")]
struct Closed {
    frame: Frame,
    trouble: Trouble,
}

pub(super) async fn list(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(filters): Query<Filters>,
) -> Response {
    let frame = Frame::new(&desk, &visitor, Section::Serverless, "Serverless runtimes");
    let may_create = visitor.is(Role::Admin);
    match find(&visitor.api, &filters, may_create).await {
        Ok(rows) => page(&visitor, &List { frame, filters, rows, may_create }),
        Err(trouble) if is_closed(&trouble) => html(trouble.status, &Closed { frame, trouble }),
        Err(trouble) => trouble.page(&desk, &visitor),
    }
}

/// Nobody has set up what this page needs, or OpenNebula does not answer.
fn is_closed(trouble: &Trouble) -> bool {
    [StatusCode::SERVICE_UNAVAILABLE, StatusCode::NOT_FOUND].contains(&trouble.status)
}

/// The rows alone: OpenNebula tells nobody when something changes, so the page asks once in a while.
pub(super) async fn rows(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(filters): Query<Filters>,
) -> Response {
    match find(&visitor.api, &filters, visitor.is(Role::Admin)).await {
        Ok(rows) => html(StatusCode::OK, &rows),
        Err(trouble) => trouble.page(&desk, &visitor),
    }
}

async fn find(api: &Api, filters: &Filters, may_create: bool) -> Result<Rows, Trouble> {
    let more = [("all", "true"), ("limit", LIMIT), ("offset", filters.offset.as_str())];
    let query = path::query(filters.kept().into_iter().chain(more));
    let found: Listing = api.get(&format!("/serverless-runtimes{query}")).await?;
    let next = found.next_offset.map(|next| {
        let next = next.to_string();
        format!("{AT}{}", path::query(filters.kept().into_iter().chain([("offset", next.as_str())])))
    });
    let first = (!filters.offset.is_empty()).then(|| format!("{AT}{}", path::query(filters.kept())));
    Ok(Rows { runtimes: found.serverless_runtimes, is_filtered: !filters.is_none(), may_create, first, next })
}
