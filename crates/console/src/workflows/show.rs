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
use crate::parts::Icon;
use crate::path;
use crate::shell::Shell;
use crate::trouble::Trouble;
use crate::visitor::Visitor;

#[derive(Template)]
#[template(path = "workflows/show.html")]
struct Show {
    csrf: CsrfToken,
    workflow: Workflow,
    rows: Vec<Row>,
    /// Only an admin starts operations by hand.
    form: Option<Form>,
    operations: String,
}

struct Row {
    step: WorkflowStep,
    calls: StepCalls,
}

/// What somebody typed to start an operation, and what is wrong with it.
#[derive(Debug, Clone, Default)]
pub(super) struct Form {
    pub(super) tenant: String,
    pub(super) resource: String,
    pub(super) params: String,
    pub(super) queue: bool,
    /// The field, and the sentence.
    pub(super) error: Option<(&'static str, String)>,
}

impl Form {
    fn new() -> Form {
        Form { tenant: "default".to_owned(), params: "{}".to_owned(), ..Form::default() }
    }

    fn error_at(&self, field: &str) -> Option<&str> {
        self.error.as_ref().filter(|(wrong, _)| *wrong == field).map(|(_, text)| text.as_str())
    }
}

impl Row {
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

impl Show {
    fn shell(&self, visitor: &Visitor) -> Shell {
        Shell::new(visitor, &crate::workflows::SECTION, &self.workflow.workflow)
    }
}

pub(super) async fn show(visitor: Visitor, Path(name): Path<String>) -> Response {
    match draw(&visitor, &name, Form::new()).await {
        Ok(show) => show.shell(&visitor).page(&show),
        Err(trouble) => trouble.page(&visitor),
    }
}

/// The page again, with what was typed.
pub(super) async fn again(visitor: &Visitor, name: &str, form: Form) -> Response {
    match draw(visitor, name, form).await {
        Ok(show) => show.shell(visitor).page_with(StatusCode::UNPROCESSABLE_ENTITY, &show),
        Err(trouble) => trouble.page(visitor),
    }
}

async fn draw(visitor: &Visitor, name: &str, form: Form) -> Result<Show, Trouble> {
    let at = format!("/workflows/{}", path::part(name));
    let (workflow, mut calls) = try_join!(visitor.api.get::<Workflow>(&at), calls::of(&visitor.api, name))?;
    let row =
        |step: &WorkflowStep| Row { calls: calls.remove(&step.name).unwrap_or_default(), step: step.clone() };
    let rows = workflow.steps.iter().map(row).collect();
    let form = visitor.can(Capability::Submit).then_some(form);
    let operations =
        format!("/console/operations{}", path::query([("workflow", workflow.workflow.as_str())]));
    Ok(Show { csrf: visitor.csrf.clone(), workflow, rows, form, operations })
}
