//! `POST /console/inventory/{id}/terminate`

use axum::extract::Path;
use axum::response::Response;

use super::super::LAUNCH;
use super::filter::Filters;
use console::list::Filtered;
use console::{Fields, Flash, Visitor, confirm, path};

pub(super) async fn terminate(visitor: Visitor, Path(id): Path<String>, fields: Fields) -> Response {
    if !confirm::is_confirmed(&fields) {
        let question = format!("Terminate {id}? What is on it is lost.");
        let place = Filters::AT;
        return confirm::page(&visitor, &super::SECTION, &question, "Terminate", place, &fields);
    }
    let answer = visitor.api.delete(&format!("{LAUNCH}/inventory/{}", path::part(&id))).await;
    let back = format!("{}{}", Filters::AT, path::query([("text", id.as_str())]));
    match answer {
        Ok(_) => Flash::good(format!("{id} is being terminated.")).at(&back),
        Err(trouble) => trouble.back(&visitor, &back),
    }
}
