//! A cloud in memory that makes everything one by one: a group, a network, and for every instance a network interface, a
//! disk and the instance itself. Nothing goes with anything else, and it says late when it has no room.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::launch::model::cloud::noop::Noop;
use ::launch::model::cloud::{
    Category, CloudAccount, CloudError, CloudIdentity, CloudImage, CloudInstance, CloudKey, Created,
    Fingerprints, InstanceRequest, InstanceState, InstanceType, KeyMaterial, Page, Part, PartKind, Provider,
    ProviderKind, Templates,
};
use async_trait::async_trait;
use tokio::time::Instant;

/// Between two calls of one order.
const SOON: Duration = Duration::from_millis(1);

#[derive(Default)]
pub(crate) struct SlowCloud {
    /// One call makes all instances, one after the other with this pause, and goes on when no request comes.
    in_bulk: Option<Duration>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    groups: BTreeSet<String>,
    networks: BTreeSet<String>,
    nics: BTreeSet<String>,
    disks: BTreeSet<String>,
    /// Whether they are on their way out.
    instances: BTreeMap<String, bool>,
    /// What a bulk call still has to make, and when.
    bulk: Vec<(Instant, String)>,
    tokens: Vec<String>,
    /// So often there is no room, and the tokens that have been told.
    no_room: u32,
    without_room: BTreeSet<String>,
    /// More than so many instances do not fit.
    most: Option<usize>,
    is_locked: bool,
}

impl SlowCloud {
    /// What it shows late it shows within three pauses.
    pub(crate) fn in_bulk(pause: Duration) -> SlowCloud {
        SlowCloud { in_bulk: Some(pause), ..SlowCloud::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn has_no_room(&self, times: u32) {
        self.state().no_room = times;
    }

    pub(crate) fn fits(&self, most: usize) {
        self.state().most = Some(most);
    }

    /// Nothing that others own is deleted.
    pub(crate) fn lock(&self, is_locked: bool) {
        self.state().is_locked = is_locked;
    }

    /// The keys of all calls that began something, in order.
    pub(crate) fn tokens(&self) -> Vec<String> {
        self.state().tokens.clone()
    }

    /// A bulk call has not ended.
    pub(crate) fn is_at_it(&self) -> bool {
        !self.state().bulk.is_empty()
    }

    pub(crate) fn clear(&self) {
        *self.state() = State::default();
    }

    pub(crate) fn standing(&self) -> Vec<String> {
        let state = self.state();
        let sets = [&state.groups, &state.networks, &state.nics, &state.disks];
        let names = sets.into_iter().flatten().cloned();
        names.chain(state.instances.keys().cloned()).collect()
    }
}

fn names(order: &InstanceRequest) -> impl Iterator<Item = String> {
    (0..order.most).map(|number| format!("{}-{number}", order.launch_tag))
}

fn instance(name: &str, is_leaving: bool) -> CloudInstance {
    let state = if is_leaving { InstanceState::ShuttingDown } else { InstanceState::Running };
    let public_ipv4 = Some("192.0.2.1".to_owned());
    CloudInstance { state, public_ipv4, reason: None, ..CloudInstance::forgotten(name) }
}

impl State {
    fn make(&mut self, name: &str) {
        self.nics.insert(format!("{name}/nic"));
        self.disks.insert(format!("{name}/disk"));
        self.instances.entry(name.to_owned()).or_insert(false);
    }

    /// A bulk call gets on as time goes by.
    fn turn(&mut self) {
        while let Some((due, _)) = self.bulk.first()
            && *due <= Instant::now()
        {
            let (_, name) = self.bulk.remove(0);
            self.make(&name);
        }
    }

    fn made(&self, order: &InstanceRequest) -> Vec<CloudInstance> {
        let there = names(order).filter_map(|name| self.instances.get_key_value(&name));
        there.map(|(name, is_leaving)| instance(name, *is_leaving)).collect()
    }

    /// Takes back what was made, and says so only then.
    fn has_no_room(&mut self, order: &InstanceRequest, token: &str) -> Result<bool, CloudError> {
        let no_room = || CloudError::new(Category::Capacity, "NoRoom", "there is no room for so many");
        if self.without_room.contains(token) {
            return Err(no_room());
        }
        if self.no_room == 0 {
            return Ok(false);
        }
        let Some(first) = names(order).next() else { return Ok(false) };
        if !self.instances.contains_key(&first) {
            self.make(&first);
            return Ok(true);
        }
        self.instances.remove(&first);
        self.nics.remove(&format!("{first}/nic"));
        self.disks.remove(&format!("{first}/disk"));
        self.no_room -= 1;
        self.without_room.insert(token.to_owned());
        Err(no_room())
    }
}

#[async_trait]
impl Provider for SlowCloud {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Azure
    }

    fn resumes(&self) -> bool {
        true
    }

    fn settle(&self) -> Option<Duration> {
        Some(self.in_bulk.unwrap_or(SOON) * 3)
    }

    async fn prepare(
        &self,
        _: &CloudAccount<'_>,
        order: &InstanceRequest,
    ) -> Result<Option<Duration>, CloudError> {
        let mut state = self.state();
        if state.groups.insert(format!("{}/group", order.launch_tag)) {
            return Ok(Some(SOON));
        }
        state.networks.insert(format!("{}/network", order.launch_tag));
        Ok(None)
    }

    async fn create(
        &self,
        _: &CloudAccount<'_>,
        order: &InstanceRequest,
        token: &str,
    ) -> Result<Created, CloudError> {
        let mut state = self.state();
        if !state.networks.contains(&format!("{}/network", order.launch_tag)) {
            return Err(CloudError::new(Category::Invalid, "NoNetwork", "there is no network"));
        }
        let again = |state: &State| {
            let (instances, again) = (state.made(order), Some(self.in_bulk.unwrap_or(SOON)));
            Created { reservation: None, instances, again }
        };
        let is_new = state.tokens.last().is_none_or(|last| last != token);
        if is_new {
            state.tokens.push(token.to_owned());
        }
        if state.has_no_room(order, token)? {
            return Ok(again(&state));
        }
        let most = state.most.unwrap_or(usize::MAX).min(order.most as usize);
        match names(order).take(most).find(|name| !state.instances.contains_key(name)) {
            Some(_) if is_new && let Some(pause) = self.in_bulk => {
                let due = (1..).map(|number| Instant::now() + pause * number);
                state.bulk = due.zip(names(order).take(most)).collect();
            }
            Some(_) if self.in_bulk.is_some() => state.turn(),
            Some(missing) => state.make(&missing),
            None => {
                // What did not fit has its network interface all the same.
                for name in names(order).skip(most) {
                    state.nics.insert(format!("{name}/nic"));
                }
                return Ok(Created { again: None, ..again(&state) });
            }
        }
        Ok(again(&state))
    }

    async fn find(
        &self,
        _: &CloudAccount<'_>,
        order: &InstanceRequest,
    ) -> Result<Vec<CloudInstance>, CloudError> {
        let mut state = self.state();
        state.turn();
        let made = state.made(order);
        state.instances.retain(|_, is_leaving| !*is_leaving);
        Ok(made)
    }

    async fn describe(&self, _: &CloudAccount<'_>, ids: &[String]) -> Result<Vec<CloudInstance>, CloudError> {
        let state = self.state();
        let there = ids.iter().filter_map(|id| state.instances.get_key_value(id));
        Ok(there.map(|(name, is_leaving)| instance(name, *is_leaving)).collect())
    }

    async fn delete(&self, _: &CloudAccount<'_>, ids: &[String]) -> Result<(), CloudError> {
        let mut state = self.state();
        state.turn();
        for id in ids {
            state.instances.entry(id.clone()).and_modify(|is_leaving| *is_leaving = true);
        }
        Ok(())
    }

    async fn sweep(&self, _: &CloudAccount<'_>, order: &InstanceRequest) -> Result<Vec<Part>, CloudError> {
        let mut state = self.state();
        if state.is_locked {
            return Err(CloudError::new(Category::Permission, "ScopeLocked", "the group is locked"));
        }
        state.turn();
        let mut left = Vec::new();
        for name in names(order).filter(|name| !state.instances.contains_key(name)).collect::<Vec<_>>() {
            let (nic, disk) = (format!("{name}/nic"), format!("{name}/disk"));
            if state.nics.remove(&nic) {
                left.push(Part { kind: PartKind::Nic, id: nic });
            } else if state.disks.remove(&disk) {
                left.push(Part { kind: PartKind::Disk, id: disk });
            }
        }
        let (network, group) =
            (format!("{}/network", order.launch_tag), format!("{}/group", order.launch_tag));
        let is_empty = left.is_empty() && state.made(order).is_empty();
        if is_empty && state.networks.remove(&network) {
            left.push(Part { kind: PartKind::Network, id: network });
        } else if is_empty && state.groups.remove(&group) {
            left.push(Part { kind: PartKind::ResourceGroup, id: group });
        }
        Ok(left)
    }

    async fn identity(&self, place: &CloudAccount<'_>) -> Result<CloudIdentity, CloudError> {
        Noop.identity(place).await
    }

    async fn regions(&self, place: &CloudAccount<'_>) -> Result<Vec<String>, CloudError> {
        Noop.regions(place).await
    }

    async fn instance_types(&self, place: &CloudAccount<'_>) -> Result<Vec<InstanceType>, CloudError> {
        Noop.instance_types(place).await
    }

    async fn templates(&self, place: &CloudAccount<'_>, page: &Page) -> Result<Templates, CloudError> {
        Noop.templates(place, page).await
    }

    async fn image(&self, place: &CloudAccount<'_>, id: &str) -> Result<Option<CloudImage>, CloudError> {
        Noop.image(place, id).await
    }

    async fn dry_run(&self, place: &CloudAccount<'_>, order: &InstanceRequest) -> Result<(), CloudError> {
        Noop.dry_run(place, order).await
    }

    async fn find_key(&self, _: &CloudAccount<'_>, _: &Fingerprints) -> Result<Option<CloudKey>, CloudError> {
        panic!("this cloud has no key pairs")
    }

    async fn upload_key(
        &self,
        _: &CloudAccount<'_>,
        _: &str,
        _: &KeyMaterial,
        _: &str,
    ) -> Result<CloudKey, CloudError> {
        panic!("this cloud has no key pairs")
    }

    async fn delete_key(&self, _: &CloudAccount<'_>, _: &CloudKey) -> Result<(), CloudError> {
        panic!("this cloud has no key pairs")
    }
}
