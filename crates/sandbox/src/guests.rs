//! The guests of the instances of all clouds: each answers at the public address of its instance while that runs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::loopback;

/// An operator may turn the clock without a notice.
const LOOK: Duration = Duration::from_millis(200);
/// There may be many calls, and a look after each of them is not needed.
const BREATH: Duration = Duration::from_millis(5);

/// Each needs a file of the process, and there are not many. A later connection is silent until one closes.
const LISTENERS_MAX: usize = 200;

/// Who answers at an address.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    pub(crate) id: String,
    pub(crate) address: Ipv4Addr,
    /// What it says of itself.
    pub(crate) about: Value,
}

/// A cloud whose instances have guests.
pub(crate) trait GuestHost: Send + Sync + 'static {
    /// Who should answer now, the oldest where there are too many, and how long until that changes by itself.
    fn guests(&self, most: usize) -> (Vec<Guest>, Option<Duration>);

    /// A client called, so there may be more or less to serve.
    fn woken(&self) -> &Notify;
}

/// Serves the guests until it is stopped, and closes all of their listeners then.
pub(crate) async fn run<H: GuestHost>(host: Arc<H>, stop: CancellationToken) {
    let mut listeners: HashMap<String, Option<DropGuard>> = HashMap::new();
    loop {
        let (guests, next) = host.guests(LISTENERS_MAX);
        listeners.retain(|id, _| guests.iter().any(|guest| guest.id == *id));
        for guest in guests {
            if let Entry::Vacant(endpoint) = listeners.entry(guest.id.clone()) {
                endpoint.insert(loopback::open(guest.address, router(&guest)).await);
            }
        }
        let wait = async {
            match next {
                Some(rest) => tokio::time::sleep(rest.min(LOOK)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(BREATH) => {}
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = host.woken().notified() => {}
            () = wait => {}
        }
    }
}

fn router(guest: &Guest) -> Router {
    let body = json!({"status": "ok", "guest": guest.about});
    Router::new().route("/", get(|| async { Json(body) }))
}
