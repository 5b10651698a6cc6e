//! The facts of an operation: who submitted it, its resource, and its duration.

use std::time::Duration;

use api::types::{Operation, OperationDetail, WireTime};
use askama::Template;

use crate::parts::{When, span};
use crate::path;
use crate::shared::ConsoleState;

#[derive(Template)]
#[template(path = "operations/about.html")]
pub(super) struct OperationAbout {
    shared: ConsoleState,
    operation: Operation,
    /// Who asked for it.
    by: Option<String>,
    took: Option<String>,
    /// What it made, where its own resource does not say.
    made: Option<String>,
}

impl OperationAbout {
    pub(super) fn new(shared: ConsoleState, detail: &OperationDetail, by: Option<String>) -> OperationAbout {
        let operation = detail.operation.clone();
        let took = operation.finished_at.map(|end| span(between(operation.created_at, end)));
        let made = shared.pages.made_by(detail);
        OperationAbout { shared, operation, by, took, made }
    }

    fn of_tenant(&self) -> String {
        format!("/console/operations{}", path::query([("tenant", self.operation.tenant.as_str())]))
    }

    fn of_resource(&self) -> Option<String> {
        let resource = self.operation.resource.as_deref()?;
        Some(format!("/console/operations{}", path::query([("resource", resource)])))
    }
}

fn between(from: WireTime, to: WireTime) -> Duration {
    Duration::try_from(to.0 - from.0).unwrap_or_default()
}
