//! The list of launches, and the page of one.

use console::{ConsoleState, Section};

mod act;
mod list;
mod show;
mod submit_parameters;
pub(crate) mod view;

use axum::Router;
use axum::routing::{get, post};

use console::list::live;
use console::parts::Icon;

pub(crate) static SECTION: Section = Section {
    title: "Launches",
    path: "/console/launches",
    icon: Icon::List,
    position: 20,
    is_for: |_| true,
};

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/launches", get(list::list))
        .route("/console/launches/live", get(live::<list::Filters>))
        .route("/console/launches/{id}", get(show::show))
        .route("/console/launches/{id}/live", get(show::live))
        .route("/console/launches/{id}/instances.csv", get(show::instances))
        .route(
            "/console/launches/{id}/parameters",
            get(submit_parameters::form).post(submit_parameters::submit_parameters),
        )
        .route("/console/launches/{id}/{verb}", post(act::act))
}
