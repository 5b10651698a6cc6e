//! The instances of all sites: how they are made, live, are seen and end.

mod describe;
mod instance;
mod instance_request;
mod run;
mod terminate;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::{Value, json};
use time::OffsetDateTime;

pub(super) use self::describe::describe;
use self::instance::{Ec2Instance, Lived, Next};
pub(super) use self::run::run;
pub(super) use self::terminate::terminate;
use super::call_error::AwsError;
use super::ids::is_well_formed;
use super::world::{AwsCall, RegionSite};
use crate::guests::Guest;
use crate::loopback::Network;

#[derive(Debug)]
pub(super) struct Instances {
    /// In the order in which they were made.
    by_number: BTreeMap<u64, Ec2Instance>,
    by_id: HashMap<String, u64>,
    /// When something happens by itself, and to whom.
    due: BTreeSet<(OffsetDateTime, u64)>,
    launches: HashMap<(RegionSite, String), RecordedLaunch>,
    last: u64,
    network: Arc<Network>,
}

/// What was made for a client token, which is remembered for ever.
#[derive(Debug)]
struct RecordedLaunch {
    /// A digest of the parameters.
    instance_request: String,
    numbers: Vec<u64>,
}

impl Instances {
    pub(super) fn new(network: Arc<Network>) -> Self {
        Instances {
            by_number: BTreeMap::new(),
            by_id: HashMap::new(),
            due: BTreeSet::new(),
            launches: HashMap::new(),
            last: 0,
            network,
        }
    }

    /// Lets all live on until then, and says which of them ended, in the words of the ledger.
    pub(super) fn settle(&mut self, now: OffsetDateTime) -> Vec<String> {
        let mut ended = Vec::new();
        while let Some((at, number)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.pop_first();
            let Some(instance) = self.by_number.get_mut(&number) else { continue };
            match instance.live_on(at, &self.network) {
                Lived::On => {}
                Lived::Ended => ended.push(instance.site.ledger_token(&instance.id)),
                Lived::Forgotten => {
                    self.by_id.remove(&instance.id);
                    self.by_number.remove(&number);
                    continue;
                }
            }
            if let Some(at) = instance.next_at() {
                self.due.insert((at, number));
            }
        }
        ended
    }

    /// When something happens next, if anything does.
    pub(super) fn next_due(&self) -> Option<OffsetDateTime> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Who should answer now; the oldest, where there are too many.
    pub(super) fn guests(&self, most: usize) -> Vec<Guest> {
        let guest = |instance: &Ec2Instance| {
            let address = instance.public_address().filter(|_| instance.is_running())?;
            let about = json!({
                "instance": instance.id,
                "account": instance.site.account,
                "region": instance.site.region,
                "name": instance.details.tags.get("Name"),
            });
            Some(Guest { id: instance.id.clone(), address, about })
        };
        self.by_number.values().filter_map(guest).take(most).collect()
    }

    /// All of them, for people and tests.
    pub(super) fn show(&self) -> Value {
        json!({"instances": self.by_number.values().map(Ec2Instance::show).collect::<Vec<_>>()})
    }

    fn add(&mut self, make: impl FnOnce(u64) -> Ec2Instance) -> u64 {
        self.last += 1;
        let number = self.last;
        let instance = make(number);
        if let Some(at) = instance.next_at() {
            self.due.insert((at, number));
        }
        self.by_id.insert(instance.id.clone(), number);
        self.by_number.insert(number, instance);
        number
    }

    /// What happens to an instance next, in place of what would have happened.
    fn reschedule(&mut self, number: u64, at: OffsetDateTime, next: Next) {
        let Some(instance) = self.by_number.get_mut(&number) else { return };
        if let Some(before) = instance.next_at() {
            self.due.remove(&(before, number));
        }
        instance.schedule(at, next);
        self.due.insert((at, number));
    }

    /// The instances that a call names. One that is not there spoils the call for all.
    fn named(&self, call: &AwsCall, ids: &[String]) -> Result<BTreeSet<u64>, AwsError> {
        if let Some(id) = ids.iter().find(|id| !is_well_formed(id, "i")) {
            let message = format!("{id:?} is not the id of an instance");
            return Err(AwsError::new("InvalidInstanceID.Malformed", message));
        }
        let number =
            |id: &String| self.by_id.get(id).copied().filter(|number| self.is_visible(call, *number));
        let missing: Vec<&str> = ids.iter().filter(|id| number(id).is_none()).map(String::as_str).collect();
        if !missing.is_empty() {
            let message = format!("there are no instances '{}'", missing.join(", "));
            return Err(AwsError::new("InvalidInstanceID.NotFound", message));
        }
        Ok(ids.iter().filter_map(number).collect())
    }

    fn is_visible(&self, call: &AwsCall, number: u64) -> bool {
        self.by_number.get(&number).is_some_and(|instance| instance.is_visible(call))
    }
}
