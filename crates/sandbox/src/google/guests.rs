//! The instances that answer, for those who serve them.

use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;

use super::instances::{GceInstance, GceStatus};
use super::world::GoogleCloud;
use crate::guests::{Guest, GuestHost};

impl GuestHost for GoogleCloud {
    fn guests(&self, most: usize) -> (Vec<Guest>, Option<Duration>) {
        let google_state = self.google_state();
        let mut running: Vec<&GceInstance> = google_state.instances.values().collect();
        running.retain(|one| one.status == GceStatus::Running && one.address.is_some());
        running.sort_by_key(|one| one.id);
        let rest = |at| Duration::try_from(at - self.now()).unwrap_or_default();
        (running.into_iter().take(most).filter_map(guest).collect(), google_state.next_due().map(rest))
    }

    fn woken(&self) -> &Notify {
        &self.woken
    }
}

fn guest(instance: &GceInstance) -> Option<Guest> {
    let (id, place) = (instance.id.to_string(), &instance.place);
    let about = json!({"instance": id, "account": place.project, "region": place.zone, "name": place.name});
    Some(Guest { address: instance.address?, id, about })
}
