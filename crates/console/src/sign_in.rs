//! In and out.

pub(crate) mod client;
mod enter;
mod form;
mod leave;
mod link;
mod provider;

use axum::Router;
use axum::routing::{get, post};

use crate::desk::Desk;

pub(crate) fn routes() -> Router<Desk> {
    Router::new()
        .route("/console/sign-in", get(form::show).post(enter::with_password))
        .route("/console/sign-in/token", post(enter::with_token))
        .route("/console/sign-in/link", get(link::show).post(link::follow))
        .route("/console/sign-in/provider", get(provider::leave))
        .route("/console/sign-in/provider/callback", get(provider::come_back))
        .route("/console/sign-out", post(leave::sign_out))
}
