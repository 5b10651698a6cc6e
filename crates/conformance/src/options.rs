//! Options of a run: what the catalog of a broker does not say.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

#[derive(Clone)]
pub struct SuiteOptions {
    /// `last_operation` answers 410 after a finished deprovisioning, and not 200.
    pub gone: bool,
    /// The status for a missing version header: 412 or 400.
    pub missing_version: u16,
    /// The address of a dashboard is known only when the instance is ready. Strictly, the first answer must have it.
    pub late_dashboard: bool,
    /// How long one operation may take.
    pub poll_limit: Duration,
    pub poll_interval: Duration,
    /// The longest `Retry-After` that is obeyed. Tests cannot wait for whole seconds.
    pub retry_after_max: Duration,
    /// How many plans are examined at the same time.
    pub parallel: usize,
    /// Parameters for provisioning by plan name, where those made from the schema do not do.
    pub parameters: BTreeMap<String, Value>,
    /// Parameters for an update that changes something, by plan name.
    pub updates: BTreeMap<String, Value>,
    /// Cases beyond the schema that must be answered with 400, by plan name: the name of the case, and the
    /// properties that are laid over good parameters.
    pub invalid_parameters: BTreeMap<String, BTreeMap<String, Value>>,
    /// Other paths before `/v2` at which the same broker must answer, such as `/oauth/eu`.
    pub prefixes: Vec<String>,
    /// A request body of this size is too large.
    pub oversize_bytes: usize,
    /// Without it the states that do not last are looked at if there is time, and skipped otherwise.
    pub hold: Option<Arc<dyn HoldSwitch>>,
}

impl Default for SuiteOptions {
    fn default() -> SuiteOptions {
        SuiteOptions {
            gone: false,
            missing_version: 412,
            late_dashboard: false,
            poll_limit: Duration::from_secs(60),
            poll_interval: Duration::from_millis(50),
            retry_after_max: Duration::from_millis(50),
            parallel: 1,
            parameters: BTreeMap::new(),
            updates: BTreeMap::new(),
            invalid_parameters: BTreeMap::new(),
            prefixes: Vec::new(),
            oversize_bytes: 8 << 20,
            hold: None,
        }
    }
}

impl fmt::Debug for SuiteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("gone", &self.gone)
            .field("missing_version", &self.missing_version)
            .field("hold", &self.hold.is_some())
            .finish_non_exhaustive()
    }
}

/// The hand on the brake of the world behind the broker.
#[async_trait]
pub trait HoldSwitch: Send + Sync {
    /// From now on no operation of the broker ends, until `release`. Never called twice in a row.
    async fn hold(&self);

    async fn release(&self);
}
