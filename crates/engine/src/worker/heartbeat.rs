//! The lease of this node: taking it, renewing it, and losing it. Heartbeats also bring control requests.

use std::sync::Arc;

use tracing::{info, warn};

use super::{Worker, open};
use crate::house::Lease;
use crate::ids::{NodeId, OperationId};
use crate::store::{StoreError, Wish};

impl Worker {
    pub(super) async fn join(&self, previous: Option<NodeId>) -> Result<NodeId, StoreError> {
        let node = NodeId::new(&*self.house.clock);
        let asked_at = self.house.moment();
        self.house.store.join(node, previous, self.house.settings.lease).await?;
        *open(&self.lease) = Some(Arc::new(Lease::new(node, self.house.settings.lease, asked_at)));
        info!(%node, "joined");
        Ok(node)
    }

    /// A control request for this operation was saved. If it runs here, the next heartbeat brings the request,
    /// with its number, and comes at once.
    pub(crate) fn fetch_request(&self, id: OperationId) {
        if open(&self.running).contains_key(&id) {
            self.beat.notify_one();
        }
    }

    fn deliver(&self, id: OperationId, wish: Wish) {
        if let Some(mailbox) = open(&self.running).get(&id) {
            mailbox.put(wish);
        }
    }

    pub(super) async fn heartbeat_loop(self: Arc<Self>) {
        let every = self.house.settings.lease / 5;
        let mut is_silent = false;
        loop {
            tokio::select! {
                biased;
                () = self.idle.cancelled() => return,
                () = self.beat.notified() => {}
                () = self.house.clock.sleep(every) => {}
            }
            let Some(lease) = self.lease() else { continue };
            let asked_at = self.house.moment();
            let answer = tokio::select! {
                biased;
                () = self.idle.cancelled() => return,
                answer = self.house.store.heartbeat(lease.node, self.house.settings.lease) => answer,
            };
            match answer {
                Ok(wishes) => {
                    lease.renewed(asked_at);
                    for (id, wish) in wishes {
                        self.deliver(id, wish);
                    }
                    if std::mem::take(&mut is_silent) {
                        info!("the database answers again");
                        self.alarm.ring.notify_one();
                    }
                }
                Err(StoreError::Fenced) => self.rejoin(lease.node).await,
                Err(error) => {
                    if !std::mem::replace(&mut is_silent, true) {
                        warn!(%error, "cannot renew the lease; no new step starts until it can");
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
        if self.house.is_stopping() {
            if !was_lost {
                warn!("this node was declared dead while it stopped");
            }
            return;
        }
        warn!("this node was declared dead and joins anew");
        if let Err(error) = self.join(None).await {
            warn!(%error, "cannot join");
        }
    }
}
