//! `POST /console/inventory/{id}/terminate`

use axum::extract::Path;
use axum::response::Response;

use super::super::LAUNCH;
use super::filter::Filters;
use console::list::Filtered;
use console::{Fields, Flash, SignedIn, confirm, path};

pub(super) async fn terminate(signed_in: SignedIn, Path(id): Path<String>, fields: Fields) -> Response {
    if !confirm::is_confirmed(&fields) {
        let question = format!("Terminate {id}? What is on it is lost.");
        let back = Filters::AT;
        return confirm::page(&signed_in, &super::SECTION, &question, "Terminate", back, &fields);
    }
    let answer = signed_in.api.delete(&format!("{LAUNCH}/inventory/{}", path::part(&id))).await;
    let back = format!("{}{}", Filters::AT, path::query([("text", id.as_str())]));
    match answer {
        Ok(_) => Flash::good(format!("{id} is being terminated.")).at(&back),
        Err(page_error) => page_error.back(&signed_in, &back),
    }
}
