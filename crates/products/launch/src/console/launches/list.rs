//! `GET /console/launches`

use crate::api::types::{Launch, LaunchList};
use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use cloud::ProviderKind;
use cloud::spec::title as cloud;
use serde::Deserialize;

use super::super::{LAUNCH, may_launch};
use super::view::{duration, image, stage, title, when};
use console::list::{Filtered, ListPosition};
use console::parts::Pager;
use console::{PageError, Shell, SignedIn};

const SHOWN: u64 = 50;
/// What the API filters by, and how people say it.
const STATES: [(&str, &str); 4] = [
    ("active", "under way"),
    ("succeeded", "succeeded"),
    ("failed", "failed or cancelled"),
    ("dirty", "failed, not clean"),
];
/// As the API names them, and as people do.
fn providers() -> impl Iterator<Item = (&'static str, &'static str)> {
    ProviderKind::NAMES.into_iter().map(|name| (name, cloud(name)))
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Filters {
    state: String,
    provider: String,
    cursor: String,
}

#[derive(Template)]
#[template(path = "launches/list.html")]
struct LaunchListPage {
    filters: Filters,
    rows: Rows,
}

#[derive(Template)]
#[template(path = "launches/rows.html")]
pub(super) struct Rows {
    launches: Vec<Launch>,
    total: u64,
    is_filtered: bool,
    may_launch: bool,
    pager: Pager,
}

pub(super) async fn list(signed_in: SignedIn, Query(filters): Query<Filters>) -> Response {
    match filters.rows(&signed_in).await {
        Ok(rows) => {
            Shell::new(&signed_in, &super::SECTION, "Launches").page(&LaunchListPage { filters, rows })
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

impl Filtered for Filters {
    const AT: &'static str = "/console/launches";
    type Rows = Rows;

    fn kept(&self) -> Vec<(&'static str, &str)> {
        vec![("state", &self.state), ("provider", &self.provider)]
    }

    fn cursor(&self) -> (&'static str, &str) {
        ("cursor", &self.cursor)
    }

    async fn rows(&self, signed_in: &SignedIn) -> Result<Rows, PageError> {
        let position = ListPosition::new(&self.cursor, SHOWN);
        let (limit, offset) = (SHOWN.to_string(), position.offset.to_string());
        let query = self.with(&[("limit", &limit), ("offset", &offset)]);
        let found: LaunchList = signed_in.api.get(&format!("{LAUNCH}/launches{query}")).await?;
        let total = found.metadata.total;
        Ok(Rows {
            launches: found.data,
            total,
            is_filtered: !self.is_none(),
            may_launch: may_launch(signed_in),
            pager: self.pager(position.next(total).as_deref()),
        })
    }
}
