//! Where an operation comes from, what it works on, and how long it took.

use std::time::Duration;

use api::types::{Moment, Operation, OperationDetail};
use askama::Template;

use crate::desk::Desk;
use crate::parts::{When, span};
use crate::path;

#[derive(Template)]
#[template(path = "operations/about.html")]
pub(super) struct About {
    desk: Desk,
    operation: Operation,
    /// Who asked for it.
    by: Option<String>,
    took: Option<String>,
    /// What it made, where its own resource does not say.
    made: Option<String>,
}

impl About {
    pub(super) fn new(desk: Desk, detail: &OperationDetail, by: Option<String>) -> About {
        let operation = detail.operation.clone();
        let took = operation.finished_at.map(|end| span(between(operation.created_at, end)));
        let made = desk.pages.made_by(detail);
        About { desk, operation, by, took, made }
    }

    fn of_tenant(&self) -> String {
        format!("/console/operations{}", path::query([("tenant", self.operation.tenant.as_str())]))
    }

    fn of_resource(&self) -> Option<String> {
        let resource = self.operation.resource.as_deref()?;
        Some(format!("/console/operations{}", path::query([("resource", resource)])))
    }
}

fn between(from: Moment, to: Moment) -> Duration {
    Duration::try_from(to.0 - from.0).unwrap_or_default()
}
