//! The lease of this node: taking it, renewing it, and losing it. Heartbeats also bring control requests.

use std::sync::Arc;

use tracing::{info, warn};

use super::{Worker, open};
use crate::engine_context::Lease;
use crate::ids::{NodeId, OperationId};
use crate::store::{ControlRequest, StoreError};

impl Worker {
    pub(super) async fn join(&self, previous: Option<NodeId>) -> Result<NodeId, StoreError> {
        let node = NodeId::new(&*self.engine_context.clock);
        let asked_at = self.engine_context.moment();
        self.engine_context.store.join(node, previous, self.engine_context.settings.lease).await?;
        *open(&self.lease) = Some(Arc::new(Lease::new(node, self.engine_context.settings.lease, asked_at)));
        info!(%node, "node registered");
        Ok(node)
    }

    /// A control request for this operation was saved. If it runs here, the next heartbeat brings the request,
    /// with its number, and comes at once.
    pub(crate) fn fetch_request(&self, id: OperationId) {
        if open(&self.running).contains_key(&id) {
            self.beat.notify_one();
        }
    }

    fn deliver(&self, id: OperationId, control: ControlRequest) {
        if let Some(inbox) = open(&self.running).get(&id) {
            inbox.put(control);
        }
    }

    pub(super) async fn heartbeat_loop(self: Arc<Self>) {
        let every = self.engine_context.settings.lease / 5;
        let mut is_silent = false;
        loop {
            tokio::select! {
                biased;
                () = self.idle.cancelled() => return,
                () = self.beat.notified() => {}
                () = self.engine_context.clock.sleep(every) => {}
            }
            let Some(lease) = self.lease() else { continue };
            let asked_at = self.engine_context.moment();
            let answer = tokio::select! {
                biased;
                () = self.idle.cancelled() => return,
                answer = self.engine_context.store.heartbeat(lease.node, self.engine_context.settings.lease) => answer,
            };
            match answer {
                Ok(controls) => {
                    lease.renewed(asked_at);
                    for (id, control) in controls {
                        self.deliver(id, control);
                    }
                    if std::mem::take(&mut is_silent) {
                        info!("lease renewed again, the database answers");
                        self.timer.ring.notify_one();
                    }
                }
                Err(StoreError::Fenced) => self.rejoin(lease.node).await,
                Err(error) => {
                    if !std::mem::replace(&mut is_silent, true) {
                        warn!(%error, "lease renewal failed, retrying; no new step starts until it succeeds");
                    }
                }
            }
        }
    }

    /// Others declared this node dead. What it was working on belongs to them; it begins anew, once: the two
    /// loops may both have heard of it.
    pub(super) async fn rejoin(&self, dead: NodeId) {
        let _one_at_a_time = self.joining.lock().await;
        let Some(lease) = self.lease().filter(|lease| lease.node == dead) else { return };
        let was_lost = lease.is_lost();
        lease.lose();
        if self.engine_context.is_stopping() {
            if !was_lost {
                warn!("node lease expired during shutdown");
            }
            return;
        }
        warn!("node lease expired, registering as a new node");
        if let Err(error) = self.join(None).await {
            warn!(%error, "registering the node failed, retrying");
        }
    }
}
