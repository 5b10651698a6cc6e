//! `POST /console/serverless/{id}/delete`

use axum::extract::Path;
use axum::http::Method;
use axum::response::Response;

use super::{AT_ONCE, begun};
use console::{Fields, Visitor, confirm, see_other};

pub(super) async fn remove(visitor: Visitor, Path(id): Path<i32>, fields: Fields) -> Response {
    let place = format!("/console/serverless/{id}");
    if !confirm::is_confirmed(&fields) {
        let question = "Delete this serverless runtime? Its machines and their disks are lost for ever.";
        return confirm::page(&visitor, &super::SECTION, question, "Delete", &place, &fields);
    }
    let at = format!("/serverless-runtimes/{id}");
    let asked = visitor.api.send(Method::DELETE, &at, &[AT_ONCE], None::<&()>).await;
    match asked.and_then(|answer| begun(&answer)) {
        Ok(operation) => see_other(&format!("/console/serverless/operations/{operation}")),
        Err(trouble) => trouble.back(&visitor, &place),
    }
}
