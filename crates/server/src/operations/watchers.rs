//! Wakes event streams. One task listens to the engine's news for all of them, so that a stream is woken by
//! its own operation and not by every other one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use engine::{EventFeed, OperationId};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, watch};

pub struct Watchers {
    event_feed: EventFeed,
    seats: Arc<Semaphore>,
    wake_ups: Arc<WakeUps>,
    started: Once,
}

#[derive(Default)]
struct WakeUps(Mutex<HashMap<OperationId, watch::Sender<()>>>);

/// A place among the watchers of one operation, given back when it is dropped.
pub struct WatcherSlot {
    wake_up: watch::Receiver<()>,
    _seat: OwnedSemaphorePermit,
}

impl WatcherSlot {
    /// Returns when the operation has news since this was last called.
    pub async fn rings(&mut self) {
        if self.wake_up.changed().await.is_err() {
            // There is no further wake-up; a waiting node looks by the clock.
            std::future::pending::<()>().await;
        }
    }
}

impl Watchers {
    pub fn new(event_feed: EventFeed, seats: usize) -> Watchers {
        let seats = Arc::new(Semaphore::new(seats.min(Semaphore::MAX_PERMITS)));
        Watchers { event_feed, seats, wake_ups: Arc::default(), started: Once::new() }
    }

    /// `None` when all seats are taken.
    pub fn watch(&self, id: OperationId) -> Option<WatcherSlot> {
        let seat = Arc::clone(&self.seats).try_acquire_owned().ok()?;
        self.started.call_once(|| {
            tokio::spawn(wake_all(self.event_feed.watch(), Arc::clone(&self.wake_ups)));
        });
        let mut wake_ups = self.wake_ups.open();
        wake_ups.retain(|_, wake_up| !wake_up.is_closed());
        let wake_up = wake_ups.entry(id).or_insert_with(|| watch::Sender::new(())).subscribe();
        Some(WatcherSlot { wake_up, _seat: seat })
    }
}

impl WakeUps {
    fn open(&self) -> MutexGuard<'_, HashMap<OperationId, watch::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends with the engine.
async fn wake_all(mut updates: broadcast::Receiver<(OperationId, u32)>, wake_ups: Arc<WakeUps>) {
    loop {
        match updates.recv().await {
            Ok((id, _)) => {
                if let Some(wake_up) = wake_ups.open().get(&id) {
                    wake_up.send_replace(());
                }
            }
            // News were missed, so everybody looks.
            Err(RecvError::Lagged(_)) => wake_ups.open().values().for_each(|wake_up| {
                wake_up.send_replace(());
            }),
            Err(RecvError::Closed) => return,
        }
    }
}
