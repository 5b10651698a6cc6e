//! What the people who look after a server ask about the server itself: its settings, its keys, and whether the
//! systems outside answer.
//!
//! The APIs know none of these. The composition of the process hands them in.

pub(crate) mod keys;
pub(crate) mod settings;
pub(crate) mod systems;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use engine::Timestamp;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::wire;

/// How the systems were, and when.
type SystemChecks = (Timestamp, Vec<wire::System>);

/// What the process around the APIs lets them show.
#[derive(Clone, Default)]
pub struct Diagnostics {
    settings: Arc<[wire::Setting]>,
    systems: Arc<[Arc<dyn System>]>,
    keys: Option<Arc<dyn KeyKeeper>>,
    required: Arc<[Required]>,
    /// Many who look at once are one question.
    looked: Arc<Mutex<Option<SystemChecks>>>,
}

/// A system without which the server is not ready, until it has answered once.
struct Required {
    system: Arc<dyn System>,
    has_answered: AtomicBool,
}

impl Diagnostics {
    /// Nothing in `settings` may be secret.
    pub fn new(
        settings: Vec<wire::Setting>,
        systems: Vec<Arc<dyn System>>,
        keys: Option<Arc<dyn KeyKeeper>>,
    ) -> Diagnostics {
        let (settings, systems, required) = (settings.into(), systems.into(), Arc::default());
        Diagnostics { settings, systems, keys, required, looked: Arc::default() }
    }

    /// The server is not ready before each of these has answered once. One that fails later is an error of the requests
    /// that need it, and not of the server.
    #[must_use]
    pub fn requiring(mut self, systems: Vec<Arc<dyn System>>) -> Diagnostics {
        let required = |system| Required { system, has_answered: AtomicBool::new(false) };
        self.required = systems.into_iter().map(required).collect();
        self
    }

    /// The first of them that has not answered yet, and why.
    pub(crate) async fn missing(&self, limit: Duration) -> Option<String> {
        for Required { system, has_answered } in self.required.iter() {
            if has_answered.load(Ordering::Relaxed) {
                continue;
            }
            let why = match timeout(limit, system.look()).await {
                Ok(Ok(_)) => {
                    has_answered.store(true, Ordering::Relaxed);
                    continue;
                }
                Ok(Err(why)) => why,
                Err(_) => format!("no answer within {limit:?}"),
            };
            let address = system.address().unwrap_or("no address");
            return Some(format!("{} ({address}) has not answered since the start: {why}", system.name()));
        }
        None
    }
}

/// A system outside.
#[async_trait]
pub trait System: Send + Sync + 'static {
    fn name(&self) -> &str;

    /// Where it is, without credentials; `None` when it is not configured.
    fn address(&self) -> Option<&str>;

    /// Whether it answers. Both texts are for people, and neither may hold a secret.
    async fn look(&self) -> Result<String, String>;
}

/// Who keeps the ring of keys that seal secrets.
#[async_trait]
pub trait KeyKeeper: Send + Sync + 'static {
    /// With `sealed` it counts what each key sealed, which reads the whole database. The errors are for the log.
    async fn keys(&self, sealed: bool) -> Result<wire::KeyList, String>;

    /// Adds a key that seals from now on.
    async fn rotate(&self) -> Result<wire::KeyList, String>;
}
