//! What all requests of one process share.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderValue;
use engine::{AccessStore, Engine, PeopleStore};
use tokio_util::sync::CancellationToken;
use workflows::runtime::catalog::Catalog;

use crate::auth::{Bearers, TokenCache};
use crate::launch::LaunchDoor;
use crate::metrics::Meter;
use crate::operations::watchers::Watchers;
use crate::osb::OsbSettings;
use crate::people::{SignInGate, SignInLimits};
use crate::serverless::ServerlessDoor;
use crate::upkeep::Upkeep;

/// Everything the doors need to open.
#[derive(Clone)]
pub struct Doors {
    pub engine: Engine,
    pub access: Arc<dyn AccessStore>,
    pub people: Arc<dyn PeopleStore>,
    pub meter: Arc<Meter>,
    pub settings: DoorSettings,
    /// What the service broker offers; without it there is no broker.
    pub catalog: Option<Arc<Catalog>>,
    /// Who vouches for bearer tokens that are not ours.
    pub bearers: Option<Arc<dyn Bearers>>,
    /// Where serverless runtimes come from; without it there are none.
    pub serverless: Option<ServerlessDoor>,
    /// How machines are launched; without it they are not.
    pub launch: Option<LaunchDoor>,
    /// What may be shown of the process itself.
    pub upkeep: Upkeep,
    /// Cancelled when the process stops: event streams end then, so that connections can close.
    pub closing: CancellationToken,
}

/// How the doors behave; every value has a default that works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoorSettings {
    /// The largest request body that is read.
    pub body_limit_bytes: usize,
    /// How long a request may take before it is answered with a problem.
    pub request_timeout: Duration,
    /// How long a body may take to arrive. The listener holds clients to it.
    pub body_timeout: Duration,
    /// Whether `/metrics` answers without a token.
    pub public_metrics: bool,
    /// How many event streams may be open at a time.
    pub streams_max: usize,
    /// How often a stream looks for events of other nodes, which this process is not told about.
    pub stream_poll: Duration,
    /// How often a password may be wrong, at the API and in the console.
    pub sign_in: SignInLimits,
    pub osb: OsbSettings,
}

impl Default for DoorSettings {
    fn default() -> Self {
        DoorSettings {
            body_limit_bytes: 1024 * 1024,
            request_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(10),
            public_metrics: true,
            streams_max: 512,
            stream_poll: Duration::from_secs(1),
            sign_in: SignInLimits::default(),
            osb: OsbSettings::default(),
        }
    }
}

/// What the APIs need to open, and what they remember between requests.
pub(crate) struct Hall {
    doors: Doors,
    pub(crate) tokens: TokenCache,
    pub(crate) sign_ins: SignInGate,
    pub(crate) watchers: Watchers,
}

/// How handlers get the hall.
pub(crate) type Shared = Arc<Hall>;

impl Hall {
    pub(crate) fn new(doors: Doors) -> Shared {
        let watchers = Watchers::new(doors.engine.feed().clone(), doors.settings.streams_max);
        let (tokens, sign_ins) = (TokenCache::default(), SignInGate::default());
        Arc::new(Hall { doors, tokens, sign_ins, watchers })
    }
}

impl Deref for Hall {
    type Target = Doors;

    fn deref(&self) -> &Doors {
        &self.doors
    }
}

/// Who made a request and under which id; layers put it into the request for handlers to read.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

impl RequestId {
    pub(crate) fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).unwrap_or(HeaderValue::from_static("unknown"))
    }
}
