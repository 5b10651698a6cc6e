//! `POST /console/serverless/{id}/delete`

use axum::extract::{Path, State};
use axum::http::Method;
use axum::response::Response;

use super::{AT_ONCE, begun};
use crate::desk::Desk;
use crate::fields::Fields;
use crate::flash::see_other;
use crate::launches::ask;
use crate::visitor::Visitor;

pub(super) async fn remove(
    State(desk): State<Desk>,
    visitor: Visitor,
    Path(id): Path<i32>,
    fields: Fields,
) -> Response {
    let place = format!("/console/serverless/{id}");
    if !ask::is_meant(&fields) {
        let question = "Delete this serverless runtime? Its machines and their disks are lost for ever.";
        return ask::page(&desk, &visitor, &crate::serverless::SECTION, question, "Delete", &place, &fields);
    }
    let at = format!("/serverless-runtimes/{id}");
    let asked = visitor.api.send(Method::DELETE, &at, &[AT_ONCE], None::<&()>).await;
    match asked.and_then(|answer| begun(&answer)) {
        Ok(operation) => see_other(&format!("/console/serverless/operations/{operation}")),
        Err(trouble) => trouble.back(&desk, &visitor, &place),
    }
}
