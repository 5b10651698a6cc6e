//! `GET /console/inventory`

use crate::api::inventory::list::InventoryItem;
use askama::Template;
use axum::extract::Query;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use cloud::spec::title as cloud;
use cloud::{ProviderKind, ssh_command};

use super::super::launches::view::{instance_chip, is_gone, short_id, stage, when};
use super::super::new::region::regions;
use super::super::{may_control, may_launch};
use super::filter::{Filters, find};
use super::sheet;
use console::list::Filtered;
use console::parts::Pager;
use console::{CsrfToken, PageError, Shell, SignedIn};

const STATES: [(&str, &str); 7] = [
    ("there", "not terminated"),
    ("pending", "pending"),
    ("running", "running"),
    ("stopping", "stopping"),
    ("stopped", "stopped"),
    ("shutting_down", "shutting down"),
    ("terminated", "terminated"),
];

#[derive(Template)]
#[template(path = "inventory/list.html")]
struct InventoryPage {
    filters: Filters,
    rows: Rows,
}

#[derive(Template)]
#[template(path = "inventory/rows.html")]
pub(super) struct Rows {
    rows: Vec<InventoryRow>,
    is_filtered: bool,
    has_more: bool,
    rights: Rights,
    csrf: CsrfToken,
    pager: Pager,
}

/// What a user may do with instances.
struct Rights {
    launches: bool,
    terminates: bool,
}

struct InventoryRow {
    item: InventoryItem,
    login: Option<String>,
    can_terminate: bool,
}

pub(super) async fn list(signed_in: SignedIn, Query(filters): Query<Filters>) -> Response {
    match filters.rows(&signed_in).await {
        Ok(rows) => {
            Shell::new(&signed_in, &super::SECTION, "Inventory").page(&InventoryPage { filters, rows })
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

/// `GET /console/inventory.csv`
pub(super) async fn csv(signed_in: SignedIn, Query(filters): Query<Filters>) -> Response {
    match find(&signed_in.api, &filters).await {
        Ok(found) => {
            let made = found.items.iter().filter(|item| item.instance_id.is_some());
            let name = "attachment; filename=\"inventory.csv\"";
            let headers = [(CONTENT_TYPE, "text/csv; charset=utf-8"), (CONTENT_DISPOSITION, name)];
            (headers, sheet::of_items(made)).into_response()
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

impl Filtered for Filters {
    const AT: &'static str = "/console/inventory";
    type Rows = Rows;

    fn kept(&self) -> Vec<(&'static str, &str)> {
        let Filters { state, region, launch, text, .. } = self;
        vec![
            ("state", state.trim()),
            ("region", region.trim()),
            ("launch", launch.trim()),
            ("text", text.trim()),
        ]
    }

    fn cursor(&self) -> (&'static str, &str) {
        ("cursor", &self.cursor)
    }

    async fn rows(&self, signed_in: &SignedIn) -> Result<Rows, PageError> {
        let found = find(&signed_in.api, self).await?;
        let launches = may_launch(signed_in);
        Ok(Rows {
            is_filtered: !self.is_none(),
            has_more: found.next.is_some(),
            rights: Rights { launches, terminates: may_control(signed_in) },
            csrf: signed_in.csrf.clone(),
            pager: self.pager(found.next.as_deref()),
            rows: found.items.into_iter().map(row).collect(),
        })
    }
}

/// The regions of all clouds.
fn all_regions() -> impl Iterator<Item = &'static str> {
    ProviderKind::clouds().flat_map(regions)
}

fn row(item: InventoryItem) -> InventoryRow {
    let lives = item.state.as_deref().is_some_and(|state| !is_gone(state));
    let address = item.detail.public_ipv4.as_deref().or(item.detail.public_dns.as_deref());
    let login = address.filter(|_| lives).and_then(|to| ssh_command(&item.provider, to));
    let is_over =
        ["succeeded", "succeeded_with_warnings", "failed", "cancelled", "abandoned", "failed_dirty"]
            .contains(&item.launch_state.as_str());
    InventoryRow { login, can_terminate: lives && is_over && item.instance_id.is_some(), item }
}
