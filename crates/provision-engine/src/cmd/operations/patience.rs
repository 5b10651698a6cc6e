//! Trying again while a server is away, as when it is restarted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::client::{CallError, Client};
use crate::output::note;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Calls a server until it answers or the time is over. Only for calls that may be repeated.
#[derive(Debug, Clone)]
pub(super) struct Patience {
    until: Instant,
    /// Whether people know already that the server is away.
    has_told: Arc<AtomicBool>,
}

impl Patience {
    pub(super) fn for_at_most(limit: Duration) -> Patience {
        let now = Instant::now();
        // A limit beyond the end of time is no limit.
        let until = now.checked_add(limit).unwrap_or_else(|| now + Duration::from_hours(24 * 365));
        Patience { until, has_told: Arc::default() }
    }

    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Sleeps, but not beyond the end.
    pub(super) async fn pause(&self, pause: Duration) {
        sleep_until((Instant::now() + pause).min(self.until)).await;
    }

    /// The last error when the time is over, and any error that no patience heals at once.
    pub(super) async fn call<T>(
        &self,
        client: &mut Client,
        call: impl AsyncFn(&Client) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let mut pause = FIRST_PAUSE;
        loop {
            match call(client).await {
                Err(error) if error.may_heal() && !self.is_over() => self.tell(&error),
                answer => return answer,
            }
            self.pause(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            client.look_again();
        }
    }

    fn tell(&self, error: &CallError) {
        if !self.has_told.swap(true, Ordering::Relaxed) {
            note(format!("{error}; trying again"));
        }
    }
}
