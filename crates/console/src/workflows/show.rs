//! `GET /console/workflows/{name}`

use std::time::Duration;

use api::types::{StepCalls, Workflow, WorkflowList, WorkflowSource, WorkflowStep};
use askama::Template;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use engine::Capability;
use serde::Deserialize;
use tokio::try_join;

use super::versions::Versions;
use super::{calls, file_error};
use crate::csrf::CsrfToken;
use crate::page_error::PageError;
use crate::parts::{Icon, When};
use crate::path;
use crate::schema_form::SchemaForm;
use crate::shell::Shell;
use crate::signed_in::SignedIn;

#[derive(Template)]
#[template(path = "workflows/show.html")]
struct WorkflowPage {
    csrf: CsrfToken,
    workflow: Workflow,
    rows: Vec<StepTableRow>,
    /// Only an admin starts operations by hand.
    form: Option<StartForm>,
    operations: String,
    /// What is wrong with the file that it comes from.
    file_error: Option<String>,
    /// Of one that was declared.
    versions: Option<Versions>,
}

/// What the address of the page says.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct VersionQuery {
    /// The version whose changes are shown; the current one where this is no number.
    version: Option<String>,
}

struct StepTableRow {
    step: WorkflowStep,
    calls: StepCalls,
}

/// What a user typed to start an operation, and what is wrong with it.
#[derive(Debug, Clone, Default)]
pub(super) struct StartForm {
    /// Fields for the params, where the workflow names them.
    pub(super) fields: Option<SchemaForm>,
    pub(super) tenant: String,
    pub(super) resource: String,
    pub(super) params: String,
    pub(super) queue: bool,
    /// The field, and the sentence.
    pub(super) error: Option<(&'static str, String)>,
}

impl StartForm {
    fn new(signed_in: &SignedIn, workflow: &str) -> StartForm {
        StartForm {
            fields: params_form(signed_in, workflow),
            tenant: "default".to_owned(),
            params: "{}".to_owned(),
            ..StartForm::default()
        }
    }

    fn error_at(&self, field: &str) -> Option<&str> {
        self.error.as_ref().filter(|(wrong, _)| *wrong == field).map(|(_, text)| text.as_str())
    }
}

/// A form for the params of a workflow whose schema names them.
pub(super) fn params_form(signed_in: &SignedIn, workflow: &str) -> Option<SchemaForm> {
    let form = SchemaForm::new(&signed_in.workflow(workflow)?.schema);
    (!form.is_empty()).then_some(form)
}

impl StepTableRow {
    fn is_external(&self) -> bool {
        self.step.driver.as_deref().is_some_and(|driver| driver.starts_with("external:"))
    }

    fn effect(&self) -> &'static str {
        match self.step.effect.as_str() {
            "pure" => "leaves nothing outside",
            "keyed" => "changes something outside, and is safe to run again",
            _ => "changes something outside, once",
        }
    }

    /// A step that leaves nothing outside has nothing to undo.
    fn undo(&self, workflow: &Workflow) -> &'static str {
        match (self.step.effect.as_str(), workflow.on_failure.as_str()) {
            ("pure", _) => "nothing to undo",
            (_, "unwind") => "undone",
            _ => "left",
        }
    }
}

impl WorkflowPage {
    fn shell(&self, signed_in: &SignedIn) -> Shell {
        Shell::new(signed_in, &crate::workflows::SECTION, &self.workflow.workflow)
    }
}

pub(super) async fn show(
    signed_in: SignedIn,
    Path(name): Path<String>,
    Query(query): Query<VersionQuery>,
) -> Response {
    let form = StartForm::new(&signed_in, &name);
    match draw(&signed_in, &name, form, query).await {
        Ok(show) => show.shell(&signed_in).page(&show),
        Err(page_error) => page_error.page(&signed_in),
    }
}

/// The page again, with what was typed.
pub(super) async fn again(signed_in: &SignedIn, name: &str, form: StartForm) -> Response {
    match draw(signed_in, name, form, VersionQuery::default()).await {
        Ok(show) => show.shell(signed_in).page_with(StatusCode::UNPROCESSABLE_ENTITY, &show),
        Err(page_error) => page_error.page(signed_in),
    }
}

async fn draw(
    signed_in: &SignedIn,
    name: &str,
    form: StartForm,
    query: VersionQuery,
) -> Result<WorkflowPage, PageError> {
    let api = &signed_in.api;
    let at = format!("/workflows/{}", path::part(name));
    let (workflow, mut calls) = try_join!(api.get::<Workflow>(&at), calls::of(api, name))?;
    let version = query.version.and_then(|version| version.parse().ok());
    let (versions, file_error) =
        try_join!(Versions::of(api, &workflow, version), file_error_of(signed_in, &workflow))?;
    let row = |step: &WorkflowStep| StepTableRow {
        calls: calls.remove(&step.name).unwrap_or_default(),
        step: step.clone(),
    };
    let rows = workflow.steps.iter().map(row).collect();
    let form = signed_in.can_with(Capability::Submit, name).then_some(form);
    let operations =
        format!("/console/operations{}", path::query([("workflow", workflow.workflow.as_str())]));
    Ok(WorkflowPage { csrf: signed_in.csrf.clone(), workflow, rows, form, operations, file_error, versions })
}

/// What is wrong with the file of a workflow. The version that is shown is the one before it.
async fn file_error_of(signed_in: &SignedIn, workflow: &Workflow) -> Result<Option<String>, PageError> {
    let WorkflowSource::File(file) = &workflow.source else { return Ok(None) };
    let errors = signed_in.api.get::<WorkflowList>("/workflows").await?.file_errors;
    Ok(errors.iter().find(|error| error.file == *file).map(file_error))
}
