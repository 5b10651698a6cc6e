//! What all operations of one process share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::budget::RetryPolicy;
use crate::clock::{Clock, Timestamp};
use crate::event::Release;
use crate::event_feed::EventFeed;
use crate::ids::NodeId;
use crate::limits::Limits;
use crate::observer::Observer;
use crate::secret::SharedRing;
use crate::store::{ControlRequest, Store};

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
    /// How often to look for work without a wake-up.
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

pub(crate) struct EngineContext {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ring: SharedRing,
    pub(crate) settings: Settings,
    pub(crate) limits: Limits,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) event_feed: EventFeed,
    pub(crate) stopping: AtomicBool,
    /// Of the program that this process runs.
    pub(crate) release: Release,
}

impl EngineContext {
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    pub(crate) fn moment(&self) -> Instants {
        Instants { wall: self.clock.now(), monotonic: self.clock.monotonic() }
    }
}

/// Now, on two clocks. One can be set back and the other stands still while the machine sleeps, so an age is
/// what the clock says that saw more time pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instants {
    wall: Timestamp,
    monotonic: Instant,
}

impl Instants {
    fn since(self, earlier: Instants) -> Duration {
        let elapsed = self.monotonic.saturating_duration_since(earlier.monotonic);
        elapsed.max(self.wall.since(earlier.wall))
    }
}

/// The right of this node to start effects. It ends well before others may take over.
pub(crate) struct Lease {
    pub(crate) node: NodeId,
    lease: Duration,
    renewed_at: Mutex<Instants>,
    lost: AtomicBool,
}

impl Lease {
    pub(crate) fn new(node: NodeId, lease: Duration, asked_at: Instants) -> Lease {
        Lease { node, lease, renewed_at: Mutex::new(asked_at), lost: AtomicBool::new(false) }
    }

    /// `asked_at` is when the renewal was sent, not when the answer came: the lease counts from there.
    pub(crate) fn renewed(&self, asked_at: Instants) {
        *self.renewed_at.lock().unwrap_or_else(PoisonError::into_inner) = asked_at;
    }

    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn allows_effects(&self, now: Instants) -> bool {
        let renewed_at = *self.renewed_at.lock().unwrap_or_else(PoisonError::into_inner);
        !self.is_lost() && now.since(renewed_at) < self.lease * 3 / 5
    }
}

/// Where control requests for a running operation arrive: the last one counts, in whatever order they arrive.
#[derive(Default)]
pub(crate) struct ControlInbox(Mutex<Option<ControlRequest>>);

impl ControlInbox {
    pub(crate) fn put(&self, control: ControlRequest) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|last| last.number < control.number) {
            *last = Some(control);
        }
    }

    pub(crate) fn take(&self) -> Option<ControlRequest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn effects_stop_well_before_the_lease_ends() {
        let start = Instant::now();
        let at = |ms: u64| {
            let since = Duration::from_millis(ms);
            Instants { wall: Timestamp(0).plus(since), monotonic: start + since }
        };
        let lease = Lease::new(NodeId(Uuid::nil()), Duration::from_secs(5), at(0));
        assert!(lease.allows_effects(at(2_999)));
        assert!(!lease.allows_effects(at(3_000)));
        lease.renewed(at(3_000));
        assert!(lease.allows_effects(at(5_000)));
        lease.lose();
        assert!(!lease.allows_effects(at(5_000)));
    }

    #[test]
    fn a_lease_is_as_old_as_the_clock_says_that_saw_more_time_pass() {
        let (start, wall) = (Instant::now(), Timestamp(1_000_000_000));
        let second = Duration::from_secs(1);
        let table = [
            ("nothing happened", wall.plus(second), second, true),
            ("the clock was set back for an hour", wall.minus(second * 3600), second, true),
            ("set back, and no renewal since", wall.minus(second * 3600), second * 4, false),
            ("the machine slept", wall.plus(second * 4), second, false),
            ("the clock was set forward", wall.plus(second * 3600), second, false),
        ];
        for (what, now, elapsed, allowed) in table {
            let lease = Lease::new(NodeId(Uuid::nil()), second * 5, Instants { wall, monotonic: start });
            let moment = Instants { wall: now, monotonic: start + elapsed };
            assert_eq!(lease.allows_effects(moment), allowed, "{what}");
        }
    }

    #[test]
    fn the_request_with_the_greatest_number_counts_in_whatever_order_they_arrive() {
        let inbox = ControlInbox::default();
        let control = |number: i64| ControlRequest {
            verb: crate::phase::PhaseVerb::Pause,
            by: String::new(),
            reason: String::new(),
            at: Timestamp(-number),
            number,
        };
        for number in [2, 3, 1] {
            inbox.put(control(number));
        }
        assert_eq!(inbox.take(), Some(control(3)));
        assert_eq!(inbox.take(), None);
    }
}
