//! The guests of the instances: each answers at the public address of its instance while that runs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::instances::InstanceGuest;
use super::world::AwsCloud;
use crate::loopback;

/// An operator may turn the clock without a notice.
const LOOK: Duration = Duration::from_millis(200);
/// There may be many calls, and a look after each of them is not needed.
const BREATH: Duration = Duration::from_millis(5);

/// Each needs a file of the process, and there are not many. A later connection is silent until one closes.
const LISTENERS_MAX: usize = 200;

/// Serves the guests until it is stopped, and closes all of their listeners then.
pub(super) async fn run(cloud: Arc<AwsCloud>, stop: CancellationToken) {
    let mut listeners: HashMap<String, Option<DropGuard>> = HashMap::new();
    loop {
        let (guests, next_due) = {
            let aws_state = cloud.aws_state();
            (aws_state.instances.guests(LISTENERS_MAX), aws_state.instances.next_due())
        };
        listeners.retain(|id, _| guests.iter().any(|guest| guest.id == *id));
        for guest in guests {
            if let Entry::Vacant(endpoint) = listeners.entry(guest.id.clone()) {
                endpoint.insert(loopback::open(guest.address, router(&guest)).await);
            }
        }
        let wait = async {
            match next_due {
                Some(at) => {
                    let rest = Duration::try_from(at - cloud.now()).unwrap_or_default();
                    tokio::time::sleep(rest.min(LOOK)).await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(BREATH) => {}
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = cloud.woken.notified() => {}
            () = wait => {}
        }
    }
}

fn router(guest: &InstanceGuest) -> Router {
    let body = json!({
        "status": "ok",
        "guest": {
            "instance": guest.id,
            "account": guest.site.account,
            "region": guest.site.region,
            "name": guest.name,
        },
    });
    Router::new().route("/", get(|| async { Json(body) }))
}
