//! Images: builds, and what was launched from them.

mod list;

use axum::Router;
use axum::routing::get;

use console::list::now;
use console::parts::Icon;
use console::{ConsoleState, Section};

pub(crate) static SECTION: Section =
    Section { title: "Images", path: "/console/images", icon: Icon::Image, position: 30, is_for: |_| true };

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/images", get(list::list))
        .route("/console/images/now", get(now::<list::Filters>))
}
