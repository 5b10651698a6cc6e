//! Time that a test turns, and dice that fall the same way for the same seed.

use std::sync::Mutex;
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

#[async_trait]
impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp(EPOCH_MICROS).plus(self.began.elapsed())
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn chance(&self) -> u64 {
        self.dice.lock().expect("nobody panics while rolling").random()
    }
}
