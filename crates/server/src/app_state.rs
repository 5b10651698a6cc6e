//! What all requests of one process share.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderValue;
use declared::Declarations;
use engine::{AccessStore, Engine, PeopleStore};
use tokio_util::sync::CancellationToken;

use crate::auth::{Bearers, TokenCache};
use crate::diagnostics::Diagnostics;
use crate::endpoints::Endpoints;
use crate::metrics::Meter;
use crate::operations::watchers::{StreamLimits, Watchers};
use crate::people::{SignInGate, SignInLimits};
use crate::rights::{RIGHTS, Right};

/// Everything the server needs to open.
#[derive(Clone)]
pub struct Server {
    pub engine: Engine,
    pub access: Arc<dyn AccessStore>,
    pub people: Arc<dyn PeopleStore>,
    pub meter: Arc<Meter>,
    pub settings: ServerSettings,
    /// Who vouches for bearer tokens that are not ours.
    pub bearers: Option<Arc<dyn Bearers>>,
    /// What the products add.
    pub endpoints: Vec<Arc<dyn Endpoints>>,
    /// Workflows that are declared at run time, where this server takes any.
    pub workflows: Option<Arc<Declarations>>,
    /// What may be shown of the process itself.
    pub diagnostics: Diagnostics,
    /// Cancelled when the process stops: event streams end then, so that connections can close.
    pub closing: CancellationToken,
}

/// How the server behaves; every value has a default that works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerSettings {
    /// The largest request body that is read.
    pub body_limit_bytes: usize,
    /// How long a request may take before it is answered with a problem.
    pub request_timeout: Duration,
    /// How long a body may take to arrive. The listener holds clients to it.
    pub body_timeout: Duration,
    /// Whether `/metrics` answers without a token.
    pub public_metrics: bool,
    /// How many event streams may be open at a time.
    pub streams: StreamLimits,
    /// How often a stream looks for events of other nodes, which this process is not told about.
    pub stream_poll: Duration,
    /// How often a password may be wrong, at the API and in the console.
    pub sign_in: SignInLimits,
}

impl Default for ServerSettings {
    fn default() -> Self {
        ServerSettings {
            body_limit_bytes: 1024 * 1024,
            request_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(10),
            public_metrics: true,
            streams: StreamLimits { all: 512, per_principal: 128 },
            stream_poll: Duration::from_secs(1),
            sign_in: SignInLimits::default(),
        }
    }
}

/// What the APIs need to open, and what they remember between requests.
pub struct AppState {
    server: Server,
    pub(crate) rights: Vec<Right>,
    pub(crate) tokens: TokenCache,
    pub(crate) sign_ins: SignInGate,
    pub watchers: Watchers,
}

/// How handlers get it.
pub type Shared = Arc<AppState>;

impl AppState {
    pub(crate) fn new(server: Server) -> Shared {
        let watchers = Watchers::new(server.engine.event_feed().clone(), server.settings.streams);
        let (tokens, sign_ins) = (TokenCache::default(), SignInGate::default());
        let rights =
            RIGHTS.iter().chain(server.endpoints.iter().flat_map(|one| one.rights())).cloned().collect();
        Arc::new(AppState { server, rights, tokens, sign_ins, watchers })
    }
}

impl Deref for AppState {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

/// Who made a request and under which id; layers put it into the request for handlers to read.
#[derive(Debug, Clone)]
pub struct RequestId(pub String);

impl RequestId {
    pub fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).unwrap_or(HeaderValue::from_static("unknown"))
    }
}
