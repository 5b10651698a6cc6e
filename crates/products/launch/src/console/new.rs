//! The launch wizard, and the pages of accounts and public keys.

use console::{ConsoleState, Section};

mod begin;
pub(crate) mod check;
pub(crate) mod draft;
pub(crate) mod field;
mod go;
pub(crate) mod how;
pub(crate) mod image;
pub(crate) mod key;
mod keys;
mod plan;
mod preset;
mod public_key;
pub(crate) mod region;
pub(crate) mod request;
mod review;
mod sources;
pub(crate) mod step;
mod types;
pub(crate) mod wizard;

use axum::Router;
use axum::routing::{get, post};

use console::parts::Icon;

pub(crate) static SECTION: Section = Section {
    title: "Build and launch",
    path: "/console/launch",
    icon: Icon::Rocket,
    position: 10,
    is_for: super::may_launch,
};

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/launch", get(begin::begin))
        .route("/console/launch/now", post(go::now))
        .route("/console/launch/account", post(go::account))
        .route("/console/launch/summary", post(go::summary))
        .route("/console/launch/types", post(types::types))
        .route("/console/launch/templates", post(region::templates))
        .route("/console/launch/check/{field}", post(go::check))
        .route("/console/launch/accounts", get(sources::list).post(sources::create))
        .route("/console/launch/accounts/{id}/check", post(sources::check))
        .route("/console/launch/accounts/{id}/delete", post(sources::delete))
        .route("/console/launch/keys", get(keys::list).post(keys::create))
        .route("/console/launch/keys/{id}/delete", post(keys::delete))
        .route("/console/launch/{step}", get(go::page).post(go::go))
}
