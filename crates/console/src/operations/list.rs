//! `GET /console/operations`

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use doors::wire::{Operation, OperationPage};
use serde::Deserialize;

use crate::desk::Desk;
use crate::frame::{Frame, Section, page};
use crate::parts::{Chip, Pager, When};
use crate::path;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

const AT: &str = "/console/operations";
const PHASES: [&str; 10] = [
    "pending",
    "running",
    "waiting",
    "undoing",
    "paused",
    "stuck",
    "succeeded",
    "failed",
    "undone",
    "cancelled",
];

/// The filters, as they are in the address.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Filters {
    phase: String,
    workflow: String,
    tenant: String,
    resource: String,
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "operations/list.html")]
struct List {
    frame: Frame,
    filters: Filters,
    workflows: Vec<String>,
    operations: Vec<Operation>,
    pager: Pager,
}

pub(super) async fn list(
    State(desk): State<Desk>,
    visitor: Visitor,
    Query(filters): Query<Filters>,
) -> Response {
    match draw(&desk, &visitor, filters).await {
        Ok(list) => page(&visitor, &list),
        Err(trouble) => trouble.page(&desk, &visitor),
    }
}

async fn draw(desk: &Desk, visitor: &Visitor, filters: Filters) -> Result<List, Trouble> {
    let kept: [(&str, &str); 4] = [
        ("phase", &filters.phase),
        ("workflow", &filters.workflow),
        ("tenant", &filters.tenant),
        ("resource", &filters.resource),
    ];
    let cursor = filters.cursor.as_deref().unwrap_or_default();
    let query = path::query(kept.into_iter().chain([("cursor", cursor)]));
    let found: OperationPage = visitor.api.get(&format!("/operations{query}")).await?;
    let pager = Pager::new(AT, &kept, filters.cursor.as_deref(), found.next.as_deref());
    let workflows = desk.inside.engine().workflows().into_iter().map(|one| one.workflow.to_owned()).collect();
    let frame = Frame::new(desk, visitor, Section::Operations, "Operations");
    Ok(List { frame, workflows, operations: found.items, pager, filters })
}
