//! Every instance that was launched.

use console::{ConsoleState, Section};

mod filter;
mod list;
pub(crate) mod sheet;
mod terminate;

use axum::Router;
use axum::routing::{get, post};

use console::list::now;
use console::parts::Icon;

pub(crate) static SECTION: Section = Section {
    title: "Inventory",
    path: "/console/inventory",
    icon: Icon::Server,
    position: 40,
    is_for: |_| true,
};

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/inventory", get(list::list))
        .route("/console/inventory/now", get(now::<filter::Filters>))
        .route("/console/inventory.csv", get(list::csv))
        .route("/console/inventory/{id}/terminate", post(terminate::terminate))
}
