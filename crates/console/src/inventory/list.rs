//! `GET /console/inventory`

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use doors::launch::inventory::list::InventoryItem;
use engine::Role;

use super::filter::{Filters, find};
use super::sheet;
use crate::desk::Desk;
use crate::frame::{Frame, Section, html, page};
use crate::launch::place::REGIONS;
use crate::launches::view::{is_gone, login, machine, stage, when};
use crate::parts::Pager;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

pub(super) const AT: &str = "/console/inventory";
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
    frame: Frame,
    filters: Filters,
    rows: Rows,
}

/// The part of the page that changes.
#[derive(Template)]
#[template(path = "inventory/rows.html")]
struct Rows {
    rows: Vec<Row>,
    is_filtered: bool,
    has_more: bool,
    rights: Rights,
    word: String,
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

pub(super) async fn list(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(filters): Query<Filters>,
) -> Response {
    match rows(&visitor, &filters).await {
        Ok(rows) => {
            let frame = Frame::new(&desk, &visitor, Section::Inventory, "Inventory");
            page(&visitor, &List { frame, filters, rows })
        }
        Err(trouble) => trouble.page(&desk, &visitor),
    }
}

/// `GET /console/inventory/now`: the table alone, as it is now.
pub(super) async fn now(visitor: Visitor, Query(filters): Query<Filters>) -> Response {
    match rows(&visitor, &filters).await {
        Ok(rows) => html(StatusCode::OK, &rows),
        // The page stays as it is, and looks again.
        Err(trouble) => trouble.status.into_response(),
    }
}

/// `GET /console/inventory.csv`
pub(super) async fn csv(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(filters): Query<Filters>,
) -> Response {
    match find(&visitor.api, &filters).await {
        Ok(found) => {
            let made = found.items.iter().filter(|item| item.instance_id.is_some());
            let name = "attachment; filename=\"inventory.csv\"";
            let headers = [(CONTENT_TYPE, "text/csv; charset=utf-8"), (CONTENT_DISPOSITION, name)];
            (headers, sheet::of_items(made)).into_response()
        }
        Err(trouble) => trouble.page(&desk, &visitor),
    }
}

async fn rows(visitor: &Visitor, filters: &Filters) -> Result<Rows, Trouble> {
    let found = find(&visitor.api, filters).await?;
    let pager = Pager::new(AT, &filters.kept(), filters.cursor.as_deref(), found.next.as_deref());
    let launches = visitor.may_launch();
    Ok(Rows {
        rows: found.items.into_iter().map(row).collect(),
        is_filtered: !filters.is_empty(),
        has_more: found.next.is_some(),
        rights: Rights { launches, terminates: launches || visitor.is(Role::Operator) },
        word: visitor.word.clone(),
        pager,
    })
}

fn row(item: InventoryItem) -> Row {
    let lives = item.state.as_deref().is_some_and(|state| !is_gone(state));
    let address = item.detail.public_ipv4.as_deref().or(item.detail.public_dns.as_deref());
    let login = address.filter(|_| lives).and_then(|to| login(&item.provider, to));
    let is_over =
        ["succeeded", "succeeded_with_warnings", "failed", "cancelled", "abandoned", "failed_dirty"]
            .contains(&item.launch_state.as_str());
    Row { login, can_terminate: lives && is_over && item.instance_id.is_some(), item }
}
