//! `GET /console/inventory`

use crate::api::inventory::list::InventoryItem;
use askama::Template;
use axum::extract::Query;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use cloud::ssh_command;

use super::super::launches::view::{is_gone, machine, stage, when};
use super::super::new::place::REGIONS;
use super::super::{may_control, may_launch};
use super::filter::{Filters, find};
use super::sheet;
use console::list::Filtered;
use console::parts::Pager;
use console::{CsrfToken, Shell, Trouble, Visitor};

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
struct List {
    filters: Filters,
    rows: Rows,
}

#[derive(Template)]
#[template(path = "inventory/rows.html")]
pub(super) struct Rows {
    rows: Vec<Row>,
    is_filtered: bool,
    has_more: bool,
    rights: Rights,
    csrf: CsrfToken,
    pager: Pager,
}

/// What somebody may do with machines.
struct Rights {
    launches: bool,
    terminates: bool,
}

struct Row {
    item: InventoryItem,
    login: Option<String>,
    can_terminate: bool,
}

pub(super) async fn list(visitor: Visitor, Query(filters): Query<Filters>) -> Response {
    match filters.rows(&visitor).await {
        Ok(rows) => Shell::new(&visitor, &super::SECTION, "Inventory").page(&List { filters, rows }),
        Err(trouble) => trouble.page(&visitor),
    }
}

/// `GET /console/inventory.csv`
pub(super) async fn csv(visitor: Visitor, Query(filters): Query<Filters>) -> Response {
    match find(&visitor.api, &filters).await {
        Ok(found) => {
            let made = found.items.iter().filter(|item| item.instance_id.is_some());
            let name = "attachment; filename=\"inventory.csv\"";
            let headers = [(CONTENT_TYPE, "text/csv; charset=utf-8"), (CONTENT_DISPOSITION, name)];
            (headers, sheet::of_items(made)).into_response()
        }
        Err(trouble) => trouble.page(&visitor),
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

    async fn rows(&self, visitor: &Visitor) -> Result<Rows, Trouble> {
        let found = find(&visitor.api, self).await?;
        let launches = may_launch(visitor);
        Ok(Rows {
            is_filtered: !self.is_none(),
            has_more: found.next.is_some(),
            rights: Rights { launches, terminates: may_control(visitor) },
            csrf: visitor.csrf.clone(),
            pager: self.pager(found.next.as_deref()),
            rows: found.items.into_iter().map(row).collect(),
        })
    }
}

fn row(item: InventoryItem) -> Row {
    let lives = item.state.as_deref().is_some_and(|state| !is_gone(state));
    let address = item.detail.public_ipv4.as_deref().or(item.detail.public_dns.as_deref());
    let login = address.filter(|_| lives).and_then(|to| ssh_command(&item.provider, to));
    let is_over =
        ["succeeded", "succeeded_with_warnings", "failed", "cancelled", "abandoned", "failed_dirty"]
            .contains(&item.launch_state.as_str());
    Row { login, can_terminate: lives && is_over && item.instance_id.is_some(), item }
}
