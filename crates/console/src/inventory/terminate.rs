//! `POST /console/inventory/{id}/terminate`

use axum::extract::{Path, State};
use axum::response::Response;

use super::filter::Filters;
use crate::api::LAUNCH;
use crate::desk::Desk;
use crate::fields::Fields;
use crate::flash::Flash;
use crate::launches::ask;
use crate::list::Filtered;
use crate::path;
use crate::visitor::Visitor;

pub(super) async fn terminate(
    State(desk): State<Desk>,
    visitor: Visitor,
    Path(id): Path<String>,
    fields: Fields,
) -> Response {
    if !ask::is_meant(&fields) {
        let question = format!("Terminate {id}? What is on it is lost.");
        let place = Filters::AT;
        return ask::page(
            &desk,
            &visitor,
            &crate::inventory::SECTION,
            &question,
            "Terminate",
            place,
            &fields,
        );
    }
    let answer = visitor.api.delete(&format!("{LAUNCH}/inventory/{}", path::part(&id))).await;
    let back = format!("{}{}", Filters::AT, path::query([("text", id.as_str())]));
    match answer {
        Ok(_) => Flash::good(format!("{id} is being terminated.")).at(&back),
        Err(trouble) => trouble.back(&desk, &visitor, &back),
    }
}
