//! A virtual clock, and random numbers from a seed.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use engine::{Clock, Timestamp};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::time::Instant;

/// The paused clock of tokio, which jumps to the next timer when nothing else is left to do. Only for tests in
/// which nothing waits for a socket: the jump does not wait for those.
pub struct VirtualClock {
    began: Instant,
    dice: Mutex<SmallRng>,
}

/// Some day in 2026; which one must not matter.
const EPOCH_MICROS: i64 = 1_790_000_000_000_000;

impl VirtualClock {
    /// Needs a runtime whose clock is paused.
    pub fn seeded(seed: u64) -> VirtualClock {
        VirtualClock { began: Instant::now(), dice: Mutex::new(SmallRng::seed_from_u64(seed)) }
    }

    /// A number below `limit`.
    pub fn roll(&self, limit: u64) -> u64 {
        self.chance() % limit
    }
}

/// The clock of one process, which differs from that of the world: it is set, it jumps, and it drifts. What is
/// monotonic, and with it every sleep, is that of the world.
pub struct SkewedClock {
    world: Arc<VirtualClock>,
    offset_micros: AtomicI64,
    /// How many microseconds it gains in a second of the world; below zero it loses them.
    drift_micros: i64,
}

impl SkewedClock {
    pub fn new(world: &Arc<VirtualClock>, offset_micros: i64, drift_micros: i64) -> SkewedClock {
        SkewedClock { world: Arc::clone(world), offset_micros: AtomicI64::new(offset_micros), drift_micros }
    }

    /// Sets the clock forward, or back.
    pub fn jump(&self, micros: i64) {
        self.offset_micros.fetch_add(micros, Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for SkewedClock {
    fn now(&self) -> Timestamp {
        let Timestamp(world) = self.world.now();
        let drifted = (world - EPOCH_MICROS) / 1_000_000 * self.drift_micros;
        Timestamp(world + self.offset_micros.load(Ordering::SeqCst) + drifted)
    }

    async fn sleep(&self, duration: Duration) {
        self.world.sleep(duration).await;
    }

    fn chance(&self) -> u64 {
        self.world.chance()
    }
}

#[async_trait]
impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp(EPOCH_MICROS).plus(self.began.elapsed())
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn chance(&self) -> u64 {
        self.dice.lock().expect("no thread panics while rolling").random()
    }
}
