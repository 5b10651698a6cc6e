//! `GET /console/workflows/{name}`

use std::time::Duration;

use api::types::{StepCalls, Workflow, WorkflowStep};
use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use engine::Capability;
use tokio::try_join;

use super::calls;
use crate::csrf::CsrfToken;
use crate::page_error::PageError;
use crate::parts::Icon;
use crate::path;
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
}

struct StepTableRow {
    step: WorkflowStep,
    calls: StepCalls,
}

/// What a user typed to start an operation, and what is wrong with it.
#[derive(Debug, Clone, Default)]
pub(super) struct StartForm {
    pub(super) tenant: String,
    pub(super) resource: String,
    pub(super) params: String,
    pub(super) queue: bool,
    /// The field, and the sentence.
    pub(super) error: Option<(&'static str, String)>,
}

impl StartForm {
    fn new() -> StartForm {
        StartForm { tenant: "default".to_owned(), params: "{}".to_owned(), ..StartForm::default() }
    }

    fn error_at(&self, field: &str) -> Option<&str> {
        self.error.as_ref().filter(|(wrong, _)| *wrong == field).map(|(_, text)| text.as_str())
    }
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

    /// A step that leaves nothing outside has nothing to take back.
    fn undo(&self, workflow: &Workflow) -> &'static str {
        match (self.step.effect.as_str(), workflow.on_failure.as_str()) {
            ("pure", _) => "nothing to take back",
            (_, "unwind") => "taken back",
            _ => "left",
        }
    }
}

impl WorkflowPage {
    fn shell(&self, signed_in: &SignedIn) -> Shell {
        Shell::new(signed_in, &crate::workflows::SECTION, &self.workflow.workflow)
    }
}

pub(super) async fn show(signed_in: SignedIn, Path(name): Path<String>) -> Response {
    match draw(&signed_in, &name, StartForm::new()).await {
        Ok(show) => show.shell(&signed_in).page(&show),
        Err(page_error) => page_error.page(&signed_in),
    }
}

/// The page again, with what was typed.
pub(super) async fn again(signed_in: &SignedIn, name: &str, form: StartForm) -> Response {
    match draw(signed_in, name, form).await {
        Ok(show) => show.shell(signed_in).page_with(StatusCode::UNPROCESSABLE_ENTITY, &show),
        Err(page_error) => page_error.page(signed_in),
    }
}

async fn draw(signed_in: &SignedIn, name: &str, form: StartForm) -> Result<WorkflowPage, PageError> {
    let at = format!("/workflows/{}", path::part(name));
    let (workflow, mut calls) =
        try_join!(signed_in.api.get::<Workflow>(&at), calls::of(&signed_in.api, name))?;
    let row = |step: &WorkflowStep| StepTableRow {
        calls: calls.remove(&step.name).unwrap_or_default(),
        step: step.clone(),
    };
    let rows = workflow.steps.iter().map(row).collect();
    let form = signed_in.can(Capability::Submit).then_some(form);
    let operations =
        format!("/console/operations{}", path::query([("workflow", workflow.workflow.as_str())]));
    Ok(WorkflowPage { csrf: signed_in.csrf.clone(), workflow, rows, form, operations })
}
