//! Wakes event streams. One task listens to the engine's news for all of them, so that a stream is woken by
//! its own operation and not by every other one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use engine::{Feed, OperationId};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, watch};

pub struct Watchers {
    feed: Feed,
    seats: Arc<Semaphore>,
    bells: Arc<Bells>,
    started: Once,
}

#[derive(Default)]
struct Bells(Mutex<HashMap<OperationId, watch::Sender<()>>>);

/// A place among the watchers of one operation, given back when it is dropped.
pub struct Watch {
    bell: watch::Receiver<()>,
    _seat: OwnedSemaphorePermit,
}

impl Watch {
    /// Returns when the operation has news since this was last called.
    pub async fn rings(&mut self) {
        if self.bell.changed().await.is_err() {
            // Nobody rings any more; whoever waits looks by the clock.
            std::future::pending::<()>().await;
        }
    }
}

impl Watchers {
    pub fn new(feed: Feed, seats: usize) -> Watchers {
        let seats = Arc::new(Semaphore::new(seats.min(Semaphore::MAX_PERMITS)));
        Watchers { feed, seats, bells: Arc::default(), started: Once::new() }
    }

    /// `None` when all seats are taken.
    pub fn watch(&self, id: OperationId) -> Option<Watch> {
        let seat = Arc::clone(&self.seats).try_acquire_owned().ok()?;
        self.started.call_once(|| {
            tokio::spawn(ring(self.feed.watch(), Arc::clone(&self.bells)));
        });
        let mut bells = self.bells.open();
        bells.retain(|_, bell| !bell.is_closed());
        let bell = bells.entry(id).or_insert_with(|| watch::Sender::new(())).subscribe();
        Some(Watch { bell, _seat: seat })
    }
}

impl Bells {
    fn open(&self) -> MutexGuard<'_, HashMap<OperationId, watch::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends with the engine.
async fn ring(mut news: broadcast::Receiver<(OperationId, u32)>, bells: Arc<Bells>) {
    loop {
        match news.recv().await {
            Ok((id, _)) => {
                if let Some(bell) = bells.open().get(&id) {
                    bell.send_replace(());
                }
            }
            // News were missed, so everybody looks.
            Err(RecvError::Lagged(_)) => bells.open().values().for_each(|bell| {
                bell.send_replace(());
            }),
            Err(RecvError::Closed) => return,
        }
    }
}
