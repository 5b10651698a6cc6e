//! Images: builds, and what was launched from them.

mod list;

use axum::Router;
use axum::routing::get;

use crate::desk::Desk;
use crate::list::now;
use crate::parts::Icon;
use crate::shell::Section;

pub(crate) const SECTION: Section =
    Section { title: "Images", path: "/console/images", icon: Icon::Image, is_for: |_| true };

pub(crate) fn routes() -> Router<Desk> {
    Router::new()
        .route("/console/images", get(list::list))
        .route("/console/images/now", get(now::<list::Filters>))
}
