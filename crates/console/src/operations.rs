//! Operations: a list, and one with all that is known about it.

mod list;
mod show;

use axum::Router;
use axum::routing::get;

use crate::desk::Desk;

pub(crate) fn routes() -> Router<Desk> {
    Router::new()
        .route("/console/operations", get(list::list))
        .route("/console/operations/{id}", get(show::show))
        .route("/console/operations/{id}/live", get(show::live))
}
