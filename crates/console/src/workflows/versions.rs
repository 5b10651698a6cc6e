//! The versions of a declared workflow, and what one changed.

use api::types::{WireTime, Workflow, WorkflowContent, WorkflowSource, WorkflowVersion, WorkflowVersionList};
use askama::Template;
use askama::filters::HtmlSafe;

use super::diff::{DiffLine, LineChange, diff};
use crate::api::ApiClient;
use crate::page_error::PageError;
use crate::parts::When;
use crate::path;

/// The versions that are kept, and one of them with its content.
#[derive(Template)]
#[template(path = "workflows/versions.html")]
pub(super) struct Versions {
    workflow: String,
    /// The newest first.
    items: Vec<WorkflowVersion>,
    shown: WorkflowContent,
    /// The version before the one that is shown.
    before: Option<WorkflowContent>,
}

impl HtmlSafe for Versions {}

impl Versions {
    /// Nothing for a workflow of the program.
    pub(super) async fn of(
        api: &ApiClient,
        workflow: &Workflow,
        wanted: Option<u32>,
    ) -> Result<Option<Versions>, PageError> {
        let Some(current) = workflow.version.filter(|_| workflow.source != WorkflowSource::BuiltIn) else {
            return Ok(None);
        };
        let at = format!("/workflows/{}/versions", path::part(&workflow.workflow));
        let items = api.get::<WorkflowVersionList>(&at).await?.items;
        let number = wanted.unwrap_or(current);
        let content = |number: u32| {
            let at = format!("{at}/{number}");
            async move { api.get::<WorkflowContent>(&at).await }
        };
        let shown = content(number).await?;
        let before = match items.iter().map(|item| item.version).find(|version| *version < number) {
            Some(before) => Some(content(before).await?),
            None => None,
        };
        Ok(Some(Versions { workflow: workflow.workflow.clone(), items, shown, before }))
    }

    fn changes(&self) -> Vec<DiffLine<'_>> {
        self.before.as_ref().map(|before| diff(&before.content, &self.shown.content)).unwrap_or_default()
    }

    fn is_shown(&self, item: &WorkflowVersion) -> bool {
        item.version == self.shown.version.version
    }
}

/// How a user is told who made a version, and when.
pub(super) fn change_of(workflow: &Workflow) -> Option<(&str, WireTime)> {
    Some((workflow.changed_by.as_deref()?, workflow.changed_at?))
}
