//! Waiting for an operation without asking a worker: the rows are looked at again when there is news of it.

use std::time::Duration;

use engine::OperationId;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::app_state::AppState;
use crate::operations::watchers::WatcherSlot;

/// When to look again at what belongs to an operation.
pub struct OperationEvents {
    /// Without one, only the clock says when.
    watch: Option<WatcherSlot>,
    poll: Duration,
    closing: CancellationToken,
}

impl OperationEvents {
    pub fn new(app: &AppState, watch: Option<WatcherSlot>) -> OperationEvents {
        OperationEvents { watch, poll: app.settings.stream_poll, closing: app.closing.clone() }
    }

    pub fn of(app: &AppState, operation: Option<OperationId>) -> OperationEvents {
        OperationEvents::new(app, operation.map(|operation| app.watchers.watch_for_request(operation)))
    }

    /// Returns when it is worth a look: `true` for news, `false` because time has passed. Another node may have the
    /// operation, and its news do not reach this one.
    pub async fn next(&mut self) -> bool {
        if let Some(watch) = &mut self.watch {
            return timeout(self.poll, watch.rings()).await.is_ok();
        }
        sleep(self.poll).await;
        false
    }

    /// The same; `None` when the process stops.
    pub async fn next_while_open(&mut self) -> Option<bool> {
        let closing = self.closing.clone();
        tokio::select! {
            biased;
            () = closing.cancelled() => None,
            rang = self.next() => Some(rang),
        }
    }
}
