//! How many calls may be under way to one outside system at a time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Per driver and process. First come, first served.
pub struct Limits {
    configured: BTreeMap<String, usize>,
    default: usize,
    gates: Mutex<BTreeMap<&'static str, Arc<Semaphore>>>,
}

impl Limits {
    pub fn new(configured: BTreeMap<String, usize>, default: usize) -> Limits {
        Limits { configured, default, gates: Mutex::default() }
    }

    /// Waits for a free place at this driver.
    pub(crate) async fn enter(&self, driver: &'static str) -> Option<OwnedSemaphorePermit> {
        let gate = {
            let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
            let places = self.configured.get(driver).copied().unwrap_or(self.default).max(1);
            Arc::clone(gates.entry(driver).or_insert_with(|| Arc::new(Semaphore::new(places))))
        };
        gate.acquire_owned().await.ok()
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits::new(BTreeMap::new(), 64)
    }
}
