//! The HTTP server: the kit that every API is made with, and the API of the platform (operations, access, diagnostics,
//! metrics, health). Products add theirs as [`Endpoints`].
//!
//! A handler parses, authorises, submits or reads. It never talks to an external system and never waits on a worker: it
//! watches rows. Who may do what is one table, [`rights::RIGHTS`]; what can go wrong is one list, [`Code`].

mod app_state;
pub mod audit;
pub mod auth;
mod diagnostics;
mod docs;
mod endpoints;
pub mod error;
mod errors;
mod grants;
mod guard;
mod health;
pub mod http;
mod inside;
mod metrics;
mod networks;
mod oidc;
mod openapi;
pub mod operations;
pub mod paging;
pub mod people;
pub mod principal;
pub mod query;
pub mod request_layer;
pub mod rights;
mod router;
pub mod sandbox_access;
pub mod sentence;
pub mod tokens;
mod wire;
mod workflows;

pub use api::Code;
pub use app_state::{AppState, RequestId, Server, ServerSettings, Shared};
pub use auth::{AuthError, Bearers};
pub use diagnostics::{Diagnostics, KeyKeeper, System};
pub use endpoints::{Endpoints, Routes};
pub use http::{SlowBody, body_within, is_slow_body};
pub use inside::{Inside, NoSeat, StreamSeat, WatcherSlot};
pub use metrics::Meter;
pub use networks::{Network, Networks};
pub use oidc::{Begun, CodeFlow, CodeFlowSettings, FlowError, Oidc, OidcSettings};
pub use openapi::openapi;
pub use operations::watchers::StreamLimits;
pub use people::{LINK_LIFETIME, SignInError, SignInLimits, ensure_first_user, issue_link};
pub use principal::{Principal, PrincipalSubject};
pub use router::{open, router};
pub use sentence::describe;
pub use tokens::ensure_admin;
pub use wire::ToWire;

/// What the file of an endpoint needs.
pub mod prelude {
    pub use axum::http::Method;
    pub use axum::response::Response;
    pub use axum::routing::{delete, get, patch, post, put};
    pub use engine::{Capability, Role};

    pub use crate::http::Failure;
    pub use crate::http::body::JsonBody;
    pub use crate::http::rights::{change, look};
    pub use crate::operations::submit::Submitter;
    pub use crate::rights::Needs;
    pub use crate::{Endpoints, Routes};
}
