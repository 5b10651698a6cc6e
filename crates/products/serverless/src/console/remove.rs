//! `POST /console/serverless/{id}/delete`

use axum::extract::Path;
use axum::http::Method;
use axum::response::Response;

use super::{AT_ONCE, begun};
use console::{Fields, SignedIn, confirm, see_other};

pub(super) async fn remove(signed_in: SignedIn, Path(id): Path<i32>, fields: Fields) -> Response {
    let place = format!("/console/serverless/{id}");
    if !confirm::is_confirmed(&fields) {
        let question = "Delete this serverless runtime? Its VMs and their disks are lost for ever.";
        return confirm::page(&signed_in, &super::SECTION, question, "Delete", &place, &fields);
    }
    let at = format!("/serverless-runtimes/{id}");
    let asked = signed_in.api.send(Method::DELETE, &at, &[AT_ONCE], None::<&()>).await;
    match asked.and_then(|answer| begun(&answer)) {
        Ok(operation) => see_other(&format!("/console/serverless/operations/{operation}")),
        Err(page_error) => page_error.back(&signed_in, &place),
    }
}
