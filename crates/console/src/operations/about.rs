//! Where an operation comes from, what it works on, and how long it took.

use std::time::Duration;

use askama::Template;
use server::wire::{Moment, Operation, OperationDetail};

use crate::parts::{Resource, When, span};
use crate::path;

#[derive(Template)]
#[template(path = "operations/about.html")]
pub(super) struct About {
    operation: Operation,
    /// Who asked for it.
    by: Option<String>,
    took: Option<String>,
    /// What it made, where its own resource does not say.
    made: Option<String>,
}

impl About {
    pub(super) fn new(detail: &OperationDetail, by: Option<String>) -> About {
        let operation = detail.operation.clone();
        let took = operation.finished_at.map(|end| span(between(operation.created_at, end)));
        // A serverless runtime gets its number while it is made.
        let document = detail.state.get("document").and_then(serde_json::Value::as_u64);
        let is_new = operation.resource.as_deref().is_some_and(|name| name.starts_with("serverless:new:"));
        let made = document.filter(|_| is_new).map(|document| format!("serverless:{document}"));
        About { operation, by, took, made }
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
