//! Declared workflows: put, delete, versions and dry runs. Their plans are shown with those of the program.

pub(crate) mod apply;
pub(crate) mod delete;
pub(crate) mod dry_run;
pub(crate) mod versions;

use std::sync::Arc;

use api::{Code, Error};
use declared::{Declarations, DeclareError, Source};

use crate::app_state::AppState;
use crate::http::Failure;
use crate::wire::{self, ToWire};

/// The declarations of this server, which it must have.
fn declarations(app: &AppState) -> Result<&Arc<Declarations>, Failure> {
    app.workflows
        .as_ref()
        .ok_or_else(|| Failure::new(Code::NotOffered, "this server takes no declarations of workflows"))
}

fn refused(error: DeclareError) -> Failure {
    match error {
        DeclareError::Wrong(wrong) => {
            let mut error = Error::new(Code::InvalidDeclaration, wrong.to_string());
            if wrong.line > 0 {
                error = error.with("line", wrong.line).with("column", wrong.column);
            }
            error.into()
        }
        DeclareError::Conflict(why) => Failure::new(Code::DeclarationConflict, why),
        DeclareError::Missing(name) => {
            Failure::new(Code::WorkflowNotFound, format!("there is no declared workflow {name:?}"))
        }
        DeclareError::Store(error) => error.into(),
    }
}

impl ToWire for Source {
    type Wire = wire::WorkflowSource;

    fn to_wire(self) -> wire::WorkflowSource {
        match self {
            Source::Api => wire::WorkflowSource::Api,
            Source::File(name) => wire::WorkflowSource::File(name),
        }
    }
}

/// Adds what only the declaration of a workflow says.
pub(crate) fn with_origin(app: &AppState, mut workflow: wire::Workflow) -> wire::Workflow {
    let declared = app.workflows.as_ref().and_then(|declared| declared.get(&workflow.workflow));
    if let Some(declared) = declared.filter(|_| workflow.version.is_some()) {
        let line = workflow.version.and_then(|version| declared.head.line(version)).cloned();
        workflow.source = declared.head.source.to_wire();
        workflow.changed_by = line.as_ref().map(|line| line.by.clone());
        workflow.changed_at = line.map(|line| line.at.to_wire());
    }
    workflow
}

/// What is wrong with files, for the list of workflows.
pub(crate) fn file_errors(app: &AppState) -> Vec<wire::WorkflowFileError> {
    let errors = app.workflows.iter().flat_map(|declared| declared.file_errors());
    let location = |number: u64| (number > 0).then_some(number);
    errors
        .map(|error| wire::WorkflowFileError {
            line: location(error.line),
            column: location(error.column),
            file: error.file,
            message: error.message,
            at: error.at.to_wire(),
        })
        .collect()
}
