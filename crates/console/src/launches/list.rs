//! `GET /console/launches`

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use doors::launch::launches::wire::{Launch, LaunchList};
use serde::Deserialize;

use super::view::{image, parameter, stage, when};
use crate::api::{Api, LAUNCH};
use crate::desk::Desk;
use crate::frame::{Frame, Section, page};
use crate::live::{About, Picture, stream};
use crate::parts::Pager;
use crate::path;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

const AT: &str = "/console/launches";
const SHOWN: u64 = 50;
/// What the API filters by, and how people say it.
const STATES: [(&str, &str); 4] = [
    ("active", "under way"),
    ("succeeded", "succeeded"),
    ("failed", "failed or cancelled"),
    ("dirty", "failed, not clean"),
];
const PROVIDERS: [&str; 4] = ["aws", "azure", "gcp", "noop"];

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Filters {
    state: String,
    provider: String,
    cursor: Option<String>,
}

impl Filters {
    fn offset(&self) -> u64 {
        self.cursor.as_deref().and_then(|cursor| cursor.parse().ok()).unwrap_or(0)
    }

    fn kept(&self) -> [(&str, &str); 2] {
        [("state", &self.state), ("provider", &self.provider)]
    }

    /// The same as they are in the address.
    fn query(&self) -> String {
        path::query(self.kept().into_iter().chain([("cursor", self.cursor.as_deref().unwrap_or_default())]))
    }
}

#[derive(Template)]
#[template(path = "launches/list.html")]
struct List {
    frame: Frame,
    filters: Filters,
    may_launch: bool,
    rows: Rows,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "launches/rows.html")]
struct Rows {
    launches: Vec<Launch>,
    total: u64,
    is_filtered: bool,
    may_launch: bool,
    pager: Pager,
}

pub(super) async fn list(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(filters): Query<Filters>,
) -> Response {
    let may_launch = visitor.may_launch();
    match rows(&visitor.api, &filters, may_launch).await {
        Ok(rows) => {
            let frame = Frame::new(&desk, &visitor, Section::Launches, "Launches");
            page(&visitor, &List { frame, filters, may_launch, rows })
        }
        Err(trouble) => trouble.page(&desk, &visitor),
    }
}

pub(super) async fn live(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(filters): Query<Filters>,
) -> Response {
    let (api, may_launch) = (visitor.api.clone(), visitor.may_launch());
    let draw = move || {
        let (api, filters) = (api.clone(), filters.clone());
        async move {
            let html = rows(&api, &filters, may_launch).await?.render().unwrap_or_default();
            Ok(Picture { html, is_last: false })
        }
    };
    stream(&desk, &visitor, About::Everything, draw)
}

async fn rows(api: &Api, filters: &Filters, may_launch: bool) -> Result<Rows, Trouble> {
    let (limit, offset) = (SHOWN.to_string(), filters.offset().to_string());
    let query = path::query(filters.kept().into_iter().chain([("limit", &*limit), ("offset", &*offset)]));
    let found: LaunchList = api.get(&format!("{LAUNCH}/launches{query}")).await?;
    let total = found.metadata.total;
    let next = Some(filters.offset() + SHOWN).filter(|next| *next < total).map(|next| next.to_string());
    let pager = Pager::new(AT, &filters.kept(), filters.cursor.as_deref(), next.as_deref());
    let is_filtered = filters.kept().iter().any(|(_, value)| !value.is_empty());
    Ok(Rows { launches: found.data, total, is_filtered, may_launch, pager })
}
