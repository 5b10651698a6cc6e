//! Wakes event streams when an operation has a new event. They read the journal themselves.

use tokio::sync::broadcast;

use crate::ids::OperationId;

/// Watchers that fall further behind than this read the journal from where they were.
const UPDATES_MAX: usize = 4096;

#[derive(Clone)]
pub struct EventFeed(broadcast::Sender<(OperationId, u32)>);

impl Default for EventFeed {
    fn default() -> Self {
        EventFeed(broadcast::Sender::new(UPDATES_MAX))
    }
}

impl EventFeed {
    pub(crate) fn tell(&self, id: OperationId, seq: u32) {
        if self.0.receiver_count() > 0 {
            // No caller listening any more is no error.
            let _ = self.0.send((id, seq));
        }
    }

    pub fn watch(&self) -> broadcast::Receiver<(OperationId, u32)> {
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watcher_hears_what_comes_after_it_began_to_watch() {
        let event_feed = EventFeed::default();
        let id = OperationId(uuid::Uuid::nil());
        event_feed.tell(id, 1);
        let mut watcher = event_feed.watch();
        event_feed.tell(id, 2);
        event_feed.clone().tell(id, 3);
        assert_eq!((watcher.try_recv(), watcher.try_recv()), (Ok((id, 2)), Ok((id, 3))));
        assert!(watcher.try_recv().is_err());
    }
}
