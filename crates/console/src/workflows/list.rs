//! `GET /console/workflows`

use std::time::Duration;

use api::types::{Workflow, WorkflowList};
use askama::Template;
use axum::response::Response;

use crate::shell::Shell;
use crate::visitor::Visitor;

#[derive(Template)]
#[template(path = "workflows/list.html")]
struct List {
    workflows: Vec<Workflow>,
}

pub(super) async fn list(visitor: Visitor) -> Response {
    match visitor.api.get::<WorkflowList>("/workflows").await {
        Ok(found) => Shell::new(&visitor, &crate::workflows::SECTION, "Workflows")
            .page(&List { workflows: found.items }),
        Err(trouble) => trouble.page(&visitor),
    }
}
