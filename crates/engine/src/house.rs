//! What all operations of one process share.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::budget::RetryPolicy;
use crate::clock::{Clock, Timestamp};
use crate::feed::Feed;
use crate::ids::NodeId;
use crate::limits::Limits;
use crate::observer::Observer;
use crate::secret::SharedRing;
use crate::store::{Store, Wish};

/// How the engine behaves; every value has a default that works.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How many operations this process works on at a time; waiting ones do not count.
    pub max_running: usize,
    /// How long one call of a step may take.
    pub step_limit: Duration,
    pub retries: RetryPolicy,
    /// How long other nodes wait for a sign of life before they take over.
    pub lease: Duration,
    /// How often to look for work that nobody announced.
    pub poll: Duration,
    /// No operation may take longer, whatever its workflow allows.
    pub deadline_max: Duration,
    /// How long finished operations are kept.
    pub retention: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            max_running: 1000,
            step_limit: Duration::from_secs(60),
            retries: RetryPolicy::default(),
            lease: Duration::from_secs(5),
            poll: Duration::from_secs(2),
            deadline_max: Duration::from_hours(24 * 30),
            retention: Duration::from_hours(24 * 90),
        }
    }
}

pub(crate) struct House {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ring: SharedRing,
    pub(crate) settings: Settings,
    pub(crate) limits: Limits,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) feed: Feed,
    pub(crate) stopping: AtomicBool,
}

impl House {
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// The right of this node to start effects. It ends well before others may take over.
pub(crate) struct Lease {
    pub(crate) node: NodeId,
    lease: Duration,
    renewed_at: AtomicI64,
    lost: AtomicBool,
}

impl Lease {
    pub(crate) fn new(node: NodeId, lease: Duration, now: Timestamp) -> Lease {
        Lease { node, lease, renewed_at: AtomicI64::new(now.0), lost: AtomicBool::new(false) }
    }

    /// `asked_at` is when the renewal was sent, not when the answer came: the lease counts from there.
    pub(crate) fn renewed(&self, asked_at: Timestamp) {
        self.renewed_at.store(asked_at.0, Ordering::Relaxed);
    }

    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn allows_effects(&self, now: Timestamp) -> bool {
        let age = now.since(Timestamp(self.renewed_at.load(Ordering::Relaxed)));
        !self.is_lost() && age < self.lease * 3 / 5
    }
}

/// Where wishes for a running operation arrive.
#[derive(Default)]
pub(crate) struct Mailbox(Mutex<Option<Wish>>);

impl Mailbox {
    pub(crate) fn put(&self, wish: Wish) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(wish);
    }

    pub(crate) fn take(&self) -> Option<Wish> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn effects_stop_well_before_the_lease_ends() {
        let at = |ms: u64| Timestamp(0).plus(Duration::from_millis(ms));
        let lease = Lease::new(NodeId(Uuid::nil()), Duration::from_secs(5), at(0));
        assert!(lease.allows_effects(at(2_999)));
        assert!(!lease.allows_effects(at(3_000)));
        lease.renewed(at(3_000));
        assert!(lease.allows_effects(at(5_000)));
        lease.lose();
        assert!(!lease.allows_effects(at(5_000)));
    }
}
