//! `POST /console/runtimes/{id}/deprovision`

use axum::extract::{Path, State};
use axum::response::Response;
use doors::wire::Runtime;

use super::look::runtime;
use crate::desk::Desk;
use crate::fields::Fields;
use crate::flash::Flash;
use crate::frame::Section;
use crate::launches::ask;
use crate::path;
use crate::visitor::Visitor;

pub(super) async fn deprovision(
    State(desk): State<Desk>,
    visitor: Visitor,
    Path(id): Path<String>,
    fields: Fields,
) -> Response {
    let place = format!("/console/runtimes/{}", path::part(&id));
    if !ask::is_meant(&fields) {
        let question = "Deprovision this runtime? The cluster and everything in it is lost for ever.";
        return ask::page(&desk, &visitor, Section::Runtimes, question, "Deprovision", &place, &fields);
    }
    let asked = async {
        let found = runtime(&visitor.api, &id).await?;
        visitor.api.delete(&at(&found, "", true)).await
    };
    match asked.await {
        Ok(_) => Flash::good("The runtime is being deprovisioned.").at(&place),
        Err(trouble) => trouble.back(&desk, &visitor, &place),
    }
}

/// Where the broker is asked to remove an instance, or something of it.
pub(super) fn at(runtime: &Runtime, below: &str, can_wait: bool) -> String {
    let query = path::query([
        ("service_id", runtime.service_class_id.as_str()),
        ("plan_id", runtime.service_plan_id.as_str()),
        ("accepts_incomplete", if can_wait { "true" } else { "" }),
    ]);
    format!("/v2/service_instances/{}{below}{query}", path::part(&runtime.instance_id))
}
