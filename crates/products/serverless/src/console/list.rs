//! `GET /console/serverless`

use crate::api::wire::{Listing, ServerlessRuntime};
use askama::Template;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::Response;
use engine::Capability;
use serde::Deserialize;

use console::list::Filtered;
use console::parts::{OLDEST_FIRST, Pager, Words};
use console::{Shell, Trouble, Visitor};

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

#[derive(Template)]
#[template(path = "list.html")]
struct List {
    filters: Filters,
    rows: Rows,
}

#[derive(Template)]
#[template(path = "rows.html")]
pub(super) struct Rows {
    runtimes: Vec<ServerlessRuntime>,
    is_filtered: bool,
    may_create: bool,
    pager: Pager,
}

#[derive(Template)]
#[template(path = "closed.html")]
struct Closed {
    trouble: Trouble,
}

pub(super) async fn list(visitor: Visitor, Query(filters): Query<Filters>) -> Response {
    let shell = Shell::new(&visitor, &super::SECTION, "Serverless runtimes");
    match filters.rows(&visitor).await {
        Ok(rows) => shell.page(&List { filters, rows }),
        Err(trouble) if is_closed(&trouble) => shell.page_with(trouble.status, &Closed { trouble }),
        Err(trouble) => trouble.page(&visitor),
    }
}

/// Nobody has set up what this page needs, or OpenNebula does not answer.
fn is_closed(trouble: &Trouble) -> bool {
    [StatusCode::SERVICE_UNAVAILABLE, StatusCode::NOT_FOUND].contains(&trouble.status)
}

impl Filtered for Filters {
    const AT: &'static str = super::AT;
    const PAGES: Words = OLDEST_FIRST;
    type Rows = Rows;

    fn kept(&self) -> Vec<(&'static str, &str)> {
        vec![("state", &self.state), ("flavour", &self.flavour), ("name", &self.name)]
    }

    fn cursor(&self) -> (&'static str, &str) {
        ("offset", &self.offset)
    }

    async fn rows(&self, visitor: &Visitor) -> Result<Rows, Trouble> {
        let query = self.with(&[("all", "true"), ("limit", LIMIT), ("offset", &self.offset)]);
        let found: Listing = visitor.api.get(&format!("/serverless-runtimes{query}")).await?;
        let next = found.next_offset.map(|next| next.to_string());
        Ok(Rows {
            runtimes: found.serverless_runtimes,
            is_filtered: !self.is_none(),
            may_create: visitor.can(Capability::Administer),
            pager: self.pager(next.as_deref()),
        })
    }
}
