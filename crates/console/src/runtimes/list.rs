//! `GET /console/runtimes`

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use doors::wire::{Runtime, RuntimePage};
use engine::Role;
use serde::Deserialize;

use super::state::STATES;
use crate::api::Api;
use crate::desk::Desk;
use crate::frame::{Frame, Section, page};
use crate::live::{About, Picture, stream};
use crate::parts::{Chip, When};
use crate::path;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

const AT: &str = "/console/runtimes";
const PAGE_SIZE: &str = "50";

/// The filters, as they are in the address.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Filters {
    state: String,
    plan: String,
    account: String,
    region: String,
    cursor: String,
}

impl Filters {
    fn kept(&self) -> [(&str, &str); 4] {
        [("state", &self.state), ("plan", &self.plan), ("account", &self.account), ("region", &self.region)]
    }

    fn is_none(&self) -> bool {
        self.kept().iter().all(|(_, value)| value.is_empty())
    }

    /// The same page, for its stream.
    fn query(&self) -> String {
        path::query(self.kept().into_iter().chain([("cursor", self.cursor.as_str())]))
    }
}

#[derive(Template)]
#[template(path = "runtimes/list.html")]
struct List {
    frame: Frame,
    filters: Filters,
    rows: Rows,
    may_create: bool,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "runtimes/rows.html")]
struct Rows {
    runtimes: Vec<Runtime>,
    total: Option<u64>,
    is_filtered: bool,
    may_create: bool,
    first: Option<String>,
    next: Option<String>,
}

pub(super) async fn list(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(filters): Query<Filters>,
) -> Response {
    let may_create = visitor.is(Role::Admin);
    match rows(&visitor.api, &filters, may_create).await {
        Ok(rows) => {
            let frame = Frame::new(&desk, &visitor, Section::Runtimes, "Runtimes");
            page(&visitor, &List { frame, filters, rows, may_create })
        }
        Err(trouble) => trouble.page(&desk, &visitor),
    }
}

pub(super) async fn live(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(filters): Query<Filters>,
) -> Response {
    let (api, may_create) = (visitor.api.clone(), visitor.is(Role::Admin));
    let draw = move || {
        let (api, filters) = (api.clone(), filters.clone());
        async move {
            let html = rows(&api, &filters, may_create).await?.render().unwrap_or_default();
            Ok(Picture { html, is_last: false })
        }
    };
    stream(&desk, &visitor, About::Everything, draw)
}

async fn rows(api: &Api, filters: &Filters, may_create: bool) -> Result<Rows, Trouble> {
    let more = [("page_size", PAGE_SIZE), ("cursor", filters.cursor.as_str())];
    let query = path::query(filters.kept().into_iter().chain(more));
    let found: RuntimePage = api.get(&format!("/runtimes{query}")).await?;
    let next = found.next.map(|next| {
        let all = filters.kept().into_iter().chain([("cursor", next.as_str())]);
        format!("{AT}{}", path::query(all))
    });
    let first = (!filters.cursor.is_empty()).then(|| format!("{AT}{}", path::query(filters.kept())));
    Ok(Rows {
        runtimes: found.data,
        total: found.total_count,
        is_filtered: !filters.is_none(),
        may_create,
        first,
        next,
    })
}
