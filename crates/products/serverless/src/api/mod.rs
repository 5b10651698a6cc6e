//! The API for serverless runtimes: devices ask here for functions, in the words that they know from the
//! COGNIT Provisioning Engine.
//!
//! OpenNebula keeps the users, and the runtimes too. A caller shows nothing but what OpenNebula
//! takes, and whatever is refused there is refused here with its text.

mod accept;
mod answer;
mod auth;
mod body;
mod create;
mod delete;
mod error;
mod flavours;
mod guard;
mod info;
mod journal;
mod key;
mod list;
pub(crate) mod openapi;
mod operation;
mod outcome;
mod place;
mod query;
mod router;
mod show;
mod update;
mod watch;
pub mod wire;

use std::sync::Arc;
use std::time::Duration;

use crate::model::{NebulaCredentials, Serverless};
use serde_json::Value;

pub use openapi::openapi;
use router::router;

use axum::Router;
use server::http::rights::look;
use server::rights::{Needs, Right};
use server::{Endpoints, Shared};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The version that clients of the engine whose place this takes know, and check.
pub const VERSION: &str = "1.3.3";
/// Every runtime fits many times over.
const BODY_LIMIT_BYTES: usize = 64 * 1024;
/// What a call may take beyond the time that OpenNebula has for it.
const GRACE: Duration = Duration::from_secs(5);

/// The endpoints of this product. Without an API only its description answers.
pub struct ServerlessApi(pub Option<ServerlessApiParts>);

impl Endpoints for ServerlessApi {
    fn rights(&self) -> &'static [Right] {
        static RIGHTS: [Right; 1] = [look("/openapi/serverless.json", Needs::Nothing)];
        &RIGHTS
    }

    fn routes(&self, _app: &Shared) -> Router<Shared> {
        description().into()
    }

    fn description(&self) -> OpenApi {
        description().into_openapi()
    }

    fn documents(&self) -> Vec<(&'static str, OpenApi)> {
        vec![("serverless", openapi::openapi())]
    }

    fn api(&self, app: &Shared) -> Option<Router> {
        self.0.clone().map(|api_parts| router(app, api_parts))
    }
}

fn description() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(openapi::serverless_json))
}

/// Everything this API needs to open.
#[derive(Clone)]
pub struct ServerlessApiParts {
    pub serverless: Arc<Serverless>,
    /// In whose name those act who have no account in OpenNebula.
    pub all_users: Option<NebulaCredentials>,
    /// What `/server/config` shows to everybody.
    pub config: Value,
    /// What `/server/version` says.
    pub version: String,
    /// The largest body that is read.
    pub body_limit_bytes: usize,
    /// How much longer than OpenNebula's own time a call is kept waiting.
    pub grace: Duration,
}

impl ServerlessApiParts {
    pub fn new(serverless: Arc<Serverless>, config: Value) -> ServerlessApiParts {
        ServerlessApiParts {
            serverless,
            all_users: None,
            config,
            version: VERSION.to_owned(),
            body_limit_bytes: BODY_LIMIT_BYTES,
            grace: GRACE,
        }
    }

    /// How long a caller is kept waiting for an operation.
    fn patience(&self) -> Duration {
        self.serverless.settings.timeout + self.grace
    }
}

/// What all requests to this API share.
pub(crate) struct ServerlessShared {
    app: Shared,
    api_parts: ServerlessApiParts,
}

/// How handlers get it.
type ServerlessState = Arc<ServerlessShared>;
