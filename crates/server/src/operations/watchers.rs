//! Wakes event streams. One task listens to the engine's news for all of them, so that a stream is woken by
//! its own operation and not by every other one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use engine::{EventFeed, OperationId};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast, watch};

use crate::principal::Principal;

pub struct Watchers {
    event_feed: EventFeed,
    seats: Arc<Semaphore>,
    by_principal: Arc<SeatsByPrincipal>,
    wake_ups: Arc<WakeUps>,
    started: Once,
}

/// How many event streams may be open at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    pub all: usize,
    /// So that no principal takes all of them.
    pub per_principal: usize,
}

/// Why there is no seat for one more stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSeat {
    /// All are taken.
    Server,
    /// The principal has as many as it may have.
    Principal { most: usize },
}

/// How many seats each principal has. Who has none is not in it.
#[derive(Debug)]
struct SeatsByPrincipal {
    most: usize,
    taken: Mutex<HashMap<String, usize>>,
}

impl SeatsByPrincipal {
    fn open(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place for one event stream, given back when it is dropped.
#[derive(Debug)]
pub struct StreamSeat {
    principal: String,
    seats: Arc<SeatsByPrincipal>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for StreamSeat {
    fn drop(&mut self) {
        let mut taken = self.seats.open();
        if let Some(count) = taken.get_mut(&self.principal) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.principal);
            }
        }
    }
}

#[derive(Default)]
struct WakeUps(Mutex<HashMap<OperationId, watch::Sender<()>>>);

/// A place among the watchers of one operation, given back when it is dropped.
pub struct WatcherSlot {
    wake_up: watch::Receiver<()>,
    /// A request that waits has none: the listener limits requests.
    _seat: Option<StreamSeat>,
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
    pub fn new(event_feed: EventFeed, limits: StreamLimits) -> Watchers {
        let seats = Arc::new(Semaphore::new(limits.all.min(Semaphore::MAX_PERMITS)));
        let by_principal = Arc::new(SeatsByPrincipal { most: limits.per_principal, taken: Mutex::default() });
        Watchers { event_feed, seats, by_principal, wake_ups: Arc::default(), started: Once::new() }
    }

    /// A place for one event stream of a principal.
    pub fn seat(&self, principal: &Principal) -> Result<StreamSeat, NoSeat> {
        let permit = Arc::clone(&self.seats).try_acquire_owned().map_err(|_| NoSeat::Server)?;
        let seats = Arc::clone(&self.by_principal);
        let key = format!("{:?} {}", principal.organisation, principal.name);
        let mut taken = seats.open();
        let count = taken.entry(key.clone()).or_default();
        if *count >= seats.most {
            return Err(NoSeat::Principal { most: seats.most });
        }
        *count += 1;
        drop(taken);
        Ok(StreamSeat { principal: key, seats, _permit: permit })
    }

    /// Watches an operation for an event stream of a principal.
    pub fn watch(&self, id: OperationId, principal: &Principal) -> Result<WatcherSlot, NoSeat> {
        let seat = self.seat(principal)?;
        Ok(self.subscribe(id, Some(seat)))
    }

    /// Watches an operation while a request waits for it.
    pub fn watch_for_request(&self, id: OperationId) -> WatcherSlot {
        self.subscribe(id, None)
    }

    fn subscribe(&self, id: OperationId, seat: Option<StreamSeat>) -> WatcherSlot {
        self.started.call_once(|| {
            tokio::spawn(wake_all(self.event_feed.watch(), Arc::clone(&self.wake_ups)));
        });
        let mut wake_ups = self.wake_ups.open();
        wake_ups.retain(|_, wake_up| !wake_up.is_closed());
        let wake_up = wake_ups.entry(id).or_insert_with(|| watch::Sender::new(())).subscribe();
        WatcherSlot { wake_up, _seat: seat }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::PrincipalSubject;

    #[test]
    fn one_principal_does_not_take_all_seats() {
        let limits = StreamLimits { all: 3, per_principal: 2 };
        let watchers = Watchers::new(EventFeed::default(), limits);
        let principal = |name: &str| {
            let subject = PrincipalSubject { name: name.to_owned(), ..PrincipalSubject::default() };
            Principal::of(engine::Proof::Token { digest: String::new() }, subject)
        };
        let (greedy, other) = (principal("greedy"), principal("other"));
        let mut seats = vec![watchers.seat(&greedy).unwrap(), watchers.seat(&greedy).unwrap()];
        assert_eq!(watchers.seat(&greedy).unwrap_err(), NoSeat::Principal { most: 2 });
        let of_other = watchers.seat(&other).unwrap();
        assert_eq!(watchers.seat(&other).unwrap_err(), NoSeat::Server);
        seats.pop();
        seats.push(watchers.seat(&greedy).unwrap());
        drop((seats, of_other));
        assert!(watchers.by_principal.open().is_empty(), "who has no stream leaves nothing behind");
    }
}
