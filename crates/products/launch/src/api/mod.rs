//! The API for launches: instances in clouds, made from images, in the words that clients of the hosted
//! provisioning service know.
//!
//! The client that asks belongs to an organisation, and sees what belongs to it and nothing else. Who may do what is one
//! table, [`rights::RIGHTS`]. What becomes of a request is up to the workflows.

mod availability;
mod azure_offering;
pub mod callback;
pub mod distributions;
mod error;
mod etag;
mod feature;
mod guard;
mod identify;
pub mod images;
mod instance_types;
pub mod inventory;
pub mod launches;
pub(crate) mod openapi;
mod pages;
mod paging;
mod permissions;
mod principal;
mod public_keys;
mod query;
mod ready;
pub mod reservations;
pub mod rights;
mod router;
mod sources;
pub mod types;
pub mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::model::Launches;
use api::Permission;
use engine::secret::SecretString;

pub use azure_offering::AzureOffering;
pub use openapi::openapi;
pub use permissions::Permissions;
pub use ready::{Probe, ReadyService};

pub(crate) use identify::X_RH_IDENTITY;
use router::router;

use axum::Router;
use axum::http::HeaderName;
use server::http::rights::look;
use server::rights::{Needs, Right};
use server::{Endpoints, Networks, Shared};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Where this API is.
pub const BASE: &str = "/api/provisioning/v1";
/// A request for an image is the largest thing that is sent here, and fits several times.
const BODY_LIMIT_BYTES: usize = 256 * 1024;
const ORG_DEFAULT: &str = "default";

/// The endpoints of this product. Without an API only its description answers.
pub struct LaunchApi(pub Option<LaunchApiParts>);

impl Endpoints for LaunchApi {
    fn rights(&self) -> &'static [Right] {
        static RIGHTS: [Right; 1] = [look("/openapi/launch.json", Needs::Nothing)];
        &RIGHTS
    }

    fn routes(&self, _app: &Shared) -> Router<Shared> {
        description().into()
    }

    fn description(&self) -> OpenApi {
        description().into_openapi()
    }

    fn documents(&self) -> Vec<(&'static str, OpenApi)> {
        vec![("launch", openapi::openapi())]
    }

    fn api(&self, app: &Shared) -> Option<Router> {
        self.0.clone().map(|api_parts| router(app, api_parts))
    }

    fn secret_headers(&self) -> &'static [HeaderName] {
        static HEADERS: [HeaderName; 1] = [X_RH_IDENTITY];
        &HEADERS
    }
}

fn description() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(openapi::launch_json))
}

/// Everything this API needs to open.
#[derive(Clone)]
pub struct LaunchApiParts {
    pub launches: Arc<Launches>,
    /// Whose `X-Rh-Identity` is believed.
    pub trusted_proxies: Networks,
    /// Who is asked what a user may do whose identity came in that header.
    pub rbac: Option<Arc<dyn Permissions>>,
    /// A permission that was taken away ends within this time.
    pub permissions_last: Duration,
    /// What they may do while RBAC does not answer.
    pub header_permissions: Vec<Permission>,
    /// On whose behalf our own tokens act.
    pub default_org: String,
    /// Proves that a callback about an image is from whom it says; without it none is taken.
    pub callback_secret: Option<SecretString>,
    /// What `/ready/{service}` asks.
    pub probes: BTreeMap<ReadyService, Arc<dyn Probe>>,
    /// All that are not named here are on.
    pub features_off: BTreeSet<String>,
    /// Whom accounts of Azure are asked to let in.
    pub azure_offering: Option<AzureOffering>,
    pub build: BuildInfo,
    /// The largest body that is read.
    pub body_limit_bytes: usize,
}

/// The build that is running, which all clients may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildInfo {
    pub version: String,
    pub time: String,
    pub environment: String,
}

impl Default for BuildInfo {
    fn default() -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        BuildInfo { version, time: "unknown".to_owned(), environment: String::new() }
    }
}

impl LaunchApiParts {
    /// Open to our own tokens, and to no other client.
    pub fn new(launches: Arc<Launches>) -> LaunchApiParts {
        LaunchApiParts {
            launches,
            trusted_proxies: Networks::default(),
            rbac: None,
            permissions_last: Duration::from_secs(60),
            header_permissions: Vec::new(),
            default_org: ORG_DEFAULT.to_owned(),
            callback_secret: None,
            probes: BTreeMap::new(),
            features_off: BTreeSet::new(),
            azure_offering: None,
            build: BuildInfo::default(),
            body_limit_bytes: BODY_LIMIT_BYTES,
        }
    }

    /// Whether a feature is on; `flag` is its whole name.
    fn is_on(&self, flag: &str) -> bool {
        !self.features_off.contains(flag)
    }
}

/// What all requests to this API share.
pub(crate) struct LaunchShared {
    app: Shared,
    api_parts: LaunchApiParts,
    granted: permissions::PermissionCache,
    peers: identify::Peers,
}

/// How handlers get it.
type LaunchState = Arc<LaunchShared>;
