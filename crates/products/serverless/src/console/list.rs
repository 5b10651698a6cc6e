//! `GET /console/serverless`

use crate::api::wire::{Listing, ServerlessRuntime};
use askama::Template;
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::Response;
use engine::Capability;
use serde::Deserialize;

use console::list::Filtered;
use console::parts::Pager;
use console::{PageError, Shell, SignedIn};

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
struct ServerlessListPage {
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
    page_error: PageError,
}

pub(super) async fn list(signed_in: SignedIn, Query(filters): Query<Filters>) -> Response {
    let shell = Shell::new(&signed_in, &super::SECTION, "Serverless runtimes");
    match filters.rows(&signed_in).await {
        Ok(rows) => shell.page(&ServerlessListPage { filters, rows }),
        Err(page_error) if is_closed(&page_error) => {
            shell.page_with(page_error.status, &Closed { page_error })
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

/// No operator has set up what this page needs, or OpenNebula does not answer.
fn is_closed(page_error: &PageError) -> bool {
    [StatusCode::SERVICE_UNAVAILABLE, StatusCode::NOT_FOUND].contains(&page_error.status)
}

impl Filtered for Filters {
    const AT: &'static str = super::AT;
    type Rows = Rows;

    fn kept(&self) -> Vec<(&'static str, &str)> {
        vec![("state", &self.state), ("flavour", &self.flavour), ("name", &self.name)]
    }

    fn cursor(&self) -> (&'static str, &str) {
        ("offset", &self.offset)
    }

    async fn rows(&self, signed_in: &SignedIn) -> Result<Rows, PageError> {
        let query = self.with(&[("all", "true"), ("limit", LIMIT), ("offset", &self.offset)]);
        let found: Listing = signed_in.api.get(&format!("/serverless-runtimes{query}")).await?;
        let next = found.next_offset.map(|next| next.to_string());
        Ok(Rows {
            runtimes: found.serverless_runtimes,
            is_filtered: !self.is_none(),
            may_create: signed_in.can(Capability::Administer),
            pager: self.pager(next.as_deref()),
        })
    }
}
