//! What the people who look after a server ask about the server itself: its settings, its keys, and whether the
//! systems outside answer.
//!
//! The doors know none of these. Whoever puts the process together hands them in.

pub(crate) mod keys;
pub(crate) mod settings;
pub(crate) mod systems;

use std::sync::Arc;

use async_trait::async_trait;
use engine::Timestamp;
use tokio::sync::Mutex;

use crate::wire;

/// How the systems were, and when.
type Looked = (Timestamp, Vec<wire::System>);

/// What the process around the doors lets them show.
#[derive(Clone, Default)]
pub struct Upkeep {
    settings: Arc<[wire::Setting]>,
    systems: Arc<[Arc<dyn System>]>,
    keys: Option<Arc<dyn KeyKeeper>>,
    /// Many who look at once are one question.
    looked: Arc<Mutex<Option<Looked>>>,
}

impl Upkeep {
    /// Nothing in `settings` may be secret.
    pub fn new(
        settings: Vec<wire::Setting>,
        systems: Vec<Arc<dyn System>>,
        keys: Option<Arc<dyn KeyKeeper>>,
    ) -> Upkeep {
        Upkeep { settings: settings.into(), systems: systems.into(), keys, looked: Arc::default() }
    }
}

/// A system outside.
#[async_trait]
pub trait System: Send + Sync + 'static {
    fn name(&self) -> &str;

    /// Where it is, without credentials; `None` when nobody has configured it.
    fn address(&self) -> Option<&str>;

    /// Whether it answers. Both texts are for people, and neither may hold a secret.
    async fn look(&self) -> Result<String, String>;
}

/// Who keeps the ring of keys that seal secrets.
#[async_trait]
pub trait KeyKeeper: Send + Sync + 'static {
    /// The errors are for the log.
    async fn keys(&self) -> Result<wire::KeyList, String>;

    /// Adds a key that seals from now on.
    async fn rotate(&self) -> Result<wire::KeyList, String>;
}
