//! Workflows: every plan, where it comes from, and what its steps have done in this process.

mod calls;
mod diff;
mod list;
mod show;
mod start;
mod versions;

use api::types::{Workflow, WorkflowFileError, WorkflowSource};
use axum::Router;
use axum::routing::{get, post};

use crate::parts::Icon;
use crate::shared::ConsoleState;
use crate::shell::Section;
use crate::signed_in::SignedIn;

use versions::change_of;

pub(crate) static SECTION: Section = Section {
    title: "Workflows",
    path: "/console/workflows",
    icon: Icon::Steps,
    position: 920,
    is_for: SignedIn::sees_some,
};

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/workflows", get(list::list))
        .route("/console/workflows/{name}", get(show::show))
        .route("/console/workflows/{name}/start", post(start::start))
}

/// What becomes of what was made when a step fails, in words.
fn on_failure(word: &str) -> &'static str {
    match word {
        "unwind" => "undone",
        _ => "kept; it can be retried",
    }
}

/// Where a workflow comes from, in words.
fn source(workflow: &Workflow) -> String {
    match &workflow.source {
        WorkflowSource::BuiltIn => "built in".to_owned(),
        WorkflowSource::Api => "API".to_owned(),
        WorkflowSource::File(file) => format!("file {file}"),
    }
}

/// What is wrong with a file, in a sentence.
fn file_error(error: &WorkflowFileError) -> String {
    let location = match (error.line, error.column) {
        (Some(line), Some(column)) => format!(", line {line}, column {column}"),
        _ => String::new(),
    };
    format!(
        "{}{location}: {}. The version before it stays in force.",
        error.file,
        error.message.trim_end_matches('.')
    )
}
