//! Launches: a list, and one with all that is known about it.

pub(crate) mod ask;

use axum::Router;

use crate::desk::Desk;

pub(crate) fn routes() -> Router<Desk> {
    Router::new()
}
