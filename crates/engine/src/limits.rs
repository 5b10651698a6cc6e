//! How many calls may be under way to one outside system at a time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Per driver and process. First come, first served.
pub struct Limits {
    configured: BTreeMap<String, usize>,
    default: usize,
    gates: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

impl Limits {
    pub fn new(configured: BTreeMap<String, usize>, default: usize) -> Limits {
        Limits { configured, default, gates: Mutex::default() }
    }

    /// Waits until another call of this driver is allowed.
    pub(crate) async fn enter(&self, driver: &str) -> Option<OwnedSemaphorePermit> {
        self.gate(driver).acquire_owned().await.ok()
    }

    fn gate(&self, driver: &str) -> Arc<Semaphore> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(driver) {
            return Arc::clone(gate);
        }
        let permits = self.configured.get(driver).copied().unwrap_or(self.default).max(1);
        let gate = Arc::new(Semaphore::new(permits));
        gates.insert(driver.to_owned(), Arc::clone(&gate));
        gate
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits::new(BTreeMap::new(), 64)
    }
}
