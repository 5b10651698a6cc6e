//! `GET /console/upgrades`

use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use engine::Capability;
use serde::Deserialize;

use crate::api::orchestrations::wire::{OrchestrationPage, OrchestrationStatus};
use console::list::Filtered;
use console::parts::{Pager, When};
use console::{PageError, Shell, SignedIn};

const PAGE_SIZE: &str = "50";
const STATES: [&str; 8] =
    ["pending", "in progress", "paused", "canceling", "canceled", "succeeded", "failed", "retrying"];

/// The filter, as it is in the address.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Filters {
    state: String,
    cursor: String,
}

#[derive(Template)]
#[template(path = "upgrades/list.html")]
struct UpgradeListPage {
    filters: Filters,
    rows: UpgradeRows,
}

#[derive(Template)]
#[template(path = "upgrades/rows.html")]
pub(super) struct UpgradeRows {
    upgrades: Vec<OrchestrationStatus>,
    is_filtered: bool,
    may_start: bool,
    pager: Pager,
}

pub(super) async fn list(signed_in: SignedIn, Query(filters): Query<Filters>) -> Response {
    match filters.rows(&signed_in).await {
        Ok(rows) => {
            Shell::new(&signed_in, &super::SECTION, "Upgrades").page(&UpgradeListPage { filters, rows })
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

impl Filtered for Filters {
    const AT: &'static str = "/console/upgrades";
    type Rows = UpgradeRows;

    fn kept(&self) -> Vec<(&'static str, &str)> {
        vec![("state", &self.state)]
    }

    fn cursor(&self) -> (&'static str, &str) {
        ("cursor", &self.cursor)
    }

    async fn rows(&self, signed_in: &SignedIn) -> Result<UpgradeRows, PageError> {
        let query = self.with(&[("page_size", PAGE_SIZE), ("cursor", &self.cursor)]);
        let found: OrchestrationPage = signed_in.api.get(&format!("/orchestrations{query}")).await?;
        Ok(UpgradeRows {
            pager: self.pager(found.next.as_deref()),
            upgrades: found.data,
            is_filtered: !self.is_none(),
            may_start: signed_in.can(Capability::Operate),
        })
    }
}
