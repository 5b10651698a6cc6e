//! `GET /console/runtimes`

use crate::api::types::{Runtime, RuntimePage};
use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use engine::Capability;
use serde::Deserialize;

use super::state::STATES;
use console::list::Filtered;
use console::parts::{Pager, When};
use console::{PageError, Shell, SignedIn, path};

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

#[derive(Template)]
#[template(path = "list.html")]
struct RuntimeListPage {
    filters: Filters,
    rows: Rows,
}

#[derive(Template)]
#[template(path = "rows.html")]
pub(super) struct Rows {
    runtimes: Vec<Runtime>,
    total: Option<u64>,
    is_filtered: bool,
    may_create: bool,
    pager: Pager,
}

pub(super) async fn list(signed_in: SignedIn, Query(filters): Query<Filters>) -> Response {
    match filters.rows(&signed_in).await {
        Ok(rows) => {
            Shell::new(&signed_in, &super::SECTION, "Runtimes").page(&RuntimeListPage { filters, rows })
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

impl Filtered for Filters {
    const AT: &'static str = "/console/runtimes";
    type Rows = Rows;

    fn kept(&self) -> Vec<(&'static str, &str)> {
        let Filters { state, plan, account, region, .. } = self;
        vec![("state", state), ("plan", plan), ("account", account), ("region", region)]
    }

    fn cursor(&self) -> (&'static str, &str) {
        ("cursor", &self.cursor)
    }

    async fn rows(&self, signed_in: &SignedIn) -> Result<Rows, PageError> {
        let query = self.with(&[("page_size", PAGE_SIZE), ("cursor", &self.cursor)]);
        let found: RuntimePage = signed_in.api.get(&format!("/runtimes{query}")).await?;
        Ok(Rows {
            pager: self.pager(found.next.as_deref()),
            runtimes: found.data,
            total: found.total_count,
            is_filtered: !self.is_none(),
            may_create: signed_in.can(Capability::UseBroker),
        })
    }
}
