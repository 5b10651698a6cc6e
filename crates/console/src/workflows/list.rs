//! `GET /console/workflows`

use std::time::Duration;

use api::types::{Workflow, WorkflowList};
use askama::Template;
use axum::response::Response;

use crate::parts::{Icon, When};
use crate::shell::Shell;
use crate::signed_in::SignedIn;

#[derive(Template)]
#[template(path = "workflows/list.html")]
struct WorkflowListPage {
    workflows: Vec<Workflow>,
    file_errors: Vec<String>,
}

pub(super) async fn list(signed_in: SignedIn) -> Response {
    match signed_in.api.get::<WorkflowList>("/workflows").await {
        Ok(WorkflowList { items, file_errors }) => {
            let file_errors = file_errors.iter().map(super::file_error).collect();
            Shell::new(&signed_in, &crate::workflows::SECTION, "Workflows")
                .page(&WorkflowListPage { workflows: items, file_errors })
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}
