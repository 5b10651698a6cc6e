//! Sign in and sign out.

pub(crate) mod client;
mod form;
mod leave;
mod link;
mod provider;
mod start_session;

use axum::Router;
use axum::routing::{get, post};

use crate::shared::ConsoleState;

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/sign-in", get(form::show).post(start_session::with_password))
        .route("/console/sign-in/token", post(start_session::with_token))
        .route("/console/sign-in/link", get(link::show).post(link::follow))
        .route("/console/sign-in/provider", get(provider::leave))
        .route("/console/sign-in/provider/callback", get(provider::come_back))
        .route("/console/sign-out", post(leave::sign_out))
}
