//! Tells whoever watches that an operation has a new event. Watchers read the journal; this only wakes them.

use tokio::sync::broadcast;

use crate::ids::OperationId;

/// Watchers that fall further behind than this read the journal from where they were.
const NEWS_MAX: usize = 4096;

#[derive(Clone)]
pub struct Feed(broadcast::Sender<(OperationId, u32)>);

impl Default for Feed {
    fn default() -> Self {
        Feed(broadcast::Sender::new(NEWS_MAX))
    }
}

impl Feed {
    pub(crate) fn tell(&self, id: OperationId, seq: u32) {
        if self.0.receiver_count() > 0 {
            // Nobody listening any more is no error.
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
        let feed = Feed::default();
        let id = OperationId(uuid::Uuid::nil());
        feed.tell(id, 1);
        let mut watcher = feed.watch();
        feed.tell(id, 2);
        feed.clone().tell(id, 3);
        assert_eq!((watcher.try_recv(), watcher.try_recv()), (Ok((id, 2)), Ok((id, 3))));
        assert!(watcher.try_recv().is_err());
    }
}
