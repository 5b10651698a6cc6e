//! Images: builds, and what was launched from them.

mod list;

use axum::Router;
use axum::routing::get;

use crate::desk::Desk;
use crate::list::now;

pub(crate) fn routes() -> Router<Desk> {
    Router::new()
        .route("/console/images", get(list::list))
        .route("/console/images/now", get(now::<list::Filters>))
}
