//! The world of Azure behind one lock.
//!
//! Time passes without any client watching: every look at it first lets the resources live on until now.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use time::OffsetDateTime;
use tokio::sync::Notify;
use uuid::Uuid;

use super::certificates::AppCertificates;
use super::delay_times::AzureDelays;
use super::faults::{AzureFault, AzureThrottle};
use super::limits::AzureLimits;
use super::login::IssuedTokens;
use super::operations::Operations;
use super::resource::{ArmKey, ArmKind, ArmNext, ArmResource, ArmStage};
use super::subscriptions::Subscriptions;
use super::target;
use crate::clock::Clock;
use crate::guests::{Guest, GuestHost};
use crate::ledger::Ledger;
use crate::loopback::Network;
use crate::script::Script;

/// Where images are when no client says where.
const HOME: &str = "eastus";
/// In the subscription that the sources of the sandbox name, so that there is an image to start and a group to build into.
const FIRST_IMAGE: &str = "/subscriptions/4b9d213f-712f-4d17-a483-8a10bbe9df3a/resourceGroups/images/providers/\
    Microsoft.Compute/images/rhel-9";

/// The shared handle to the world.
#[derive(Debug)]
pub(super) struct AzureCloud {
    clock: Arc<Clock>,
    pub(super) base_url: String,
    pub(super) woken: Notify,
    state: Mutex<AzureState>,
}

impl AzureCloud {
    pub(super) fn new(
        base_url: String,
        clock: Arc<Clock>,
        ledger: Arc<Ledger>,
        network: Arc<Network>,
    ) -> Self {
        let mut state = AzureState {
            base_url: base_url.clone(),
            resources: BTreeMap::new(),
            operations: Operations::default(),
            subscriptions: Subscriptions::default(),
            tokens: IssuedTokens::default(),
            certificates: AppCertificates::default(),
            controls: AzureControls::default(),
            faults: Arc::default(),
            calls: BTreeMap::new(),
            nics_made: 0,
            ledger,
            network,
        };
        state.add_image(FIRST_IMAGE, None, "V2", clock.now());
        AzureCloud { clock, base_url, woken: Notify::new(), state: Mutex::new(state) }
    }

    pub(super) fn now(&self) -> OffsetDateTime {
        self.clock.now()
    }

    /// The world as it is now. Nothing may wait while it is held.
    pub(super) fn state(&self) -> MutexGuard<'_, AzureState> {
        // Plain data, and each change is made in one go, so a panic elsewhere leaves nothing half done.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.settle(self.now());
        state
    }
}

impl GuestHost for AzureCloud {
    fn guests(&self, most: usize) -> (Vec<Guest>, Option<Duration>) {
        let state = self.state();
        let next = state.resources.values().filter_map(|one| one.next.as_ref().map(|(at, _)| *at)).min();
        let rest = next.map(|at| Duration::try_from(at - self.now()).unwrap_or_default());
        let running = state.resources.values().filter(|one| one.is_running());
        let guest = |vm: &ArmResource| {
            let about = json!({
                "instance": vm.id(),
                "account": vm.key.subscription,
                "region": vm.location,
                "name": vm.name,
            });
            Some(Guest { id: vm.id(), address: state.public_ip_of(vm)?.address?, about })
        };
        (running.filter_map(guest).take(most).collect(), rest)
    }

    fn woken(&self) -> &Notify {
        &self.woken
    }
}

/// All that Azure knows.
#[derive(Debug)]
pub(super) struct AzureState {
    pub(super) base_url: String,
    pub(super) resources: BTreeMap<ArmKey, ArmResource>,
    pub(super) operations: Operations,
    pub(super) subscriptions: Subscriptions,
    pub(super) tokens: IssuedTokens,
    pub(super) certificates: AppCertificates,
    pub(super) controls: AzureControls,
    pub(super) faults: Arc<Script<AzureFault>>,
    /// How many calls there were, by method and kind of resource.
    pub(super) calls: BTreeMap<String, u64>,
    pub(super) nics_made: u32,
    pub(super) ledger: Arc<Ledger>,
    pub(super) network: Arc<Network>,
}

/// What people set to see how a caller copes.
#[derive(Debug, Default)]
pub(super) struct AzureControls {
    pub(super) delay_times: AzureDelays,
    pub(super) limits: AzureLimits,
    pub(super) throttle: AzureThrottle,
    /// How many things are at most on one page.
    pub(super) page_items: Option<usize>,
    pub(super) policy_denies: Vec<ArmKind>,
    pub(super) locked: Vec<ArmKind>,
}

impl AzureState {
    /// Lets happen what is due, in the order of time.
    fn settle(&mut self, now: OffsetDateTime) {
        loop {
            let due = self.resources.values().filter_map(|one| Some((one.next.as_ref()?.0, &one.key)));
            let Some((_, key)) = due.filter(|(at, _)| *at <= now).min_by_key(|(at, _)| *at) else { return };
            let key = key.clone();
            self.live_on(&key);
        }
    }

    fn live_on(&mut self, key: &ArmKey) {
        let Some(resource) = self.resources.get_mut(key) else { return };
        match resource.next.take() {
            None => {}
            Some((_, ArmNext::Succeed)) => resource.stage = ArmStage::Succeeded,
            Some((_, ArmNext::Fail(why) | ArmNext::RunLate(why))) => {
                resource.stage = ArmStage::Failed;
                resource.failure = Some(why);
            }
            Some((_, ArmNext::Vanish)) => match key.kind {
                ArmKind::Vm => self.end_vm(key),
                ArmKind::Group => self.end_group(key),
                _ => self.remove(key),
            },
        }
    }

    /// A resource is there from now on.
    pub(super) fn insert(&mut self, resource: ArmResource) {
        if let Some(effect) = resource.key.kind.effect() {
            self.ledger.make(effect, &resource.key.ledger_token(), "");
        }
        self.resources.insert(resource.key.clone(), resource);
    }

    pub(super) fn remove(&mut self, key: &ArmKey) {
        let Some(resource) = self.resources.remove(key) else { return };
        if let Some(address) = resource.address {
            self.network.release(address);
        }
        if let Some(effect) = key.kind.effect() {
            self.ledger.take_back(effect, &key.ledger_token());
        }
    }

    pub(super) fn end_group(&mut self, group: &ArmKey) {
        let is_in = |key: &&ArmKey| key.subscription == group.subscription && key.group == group.group;
        let keys: Vec<ArmKey> = self.resources.keys().filter(is_in).cloned().collect();
        for key in keys {
            self.remove(&key);
        }
    }

    /// What is said to go with it goes with it.
    fn end_vm(&mut self, key: &ArmKey) {
        let Some(vm) = self.resources.get(key).cloned() else { return };
        self.remove(key);
        let goes = |value: &Value, pointer: &str| value.pointer(pointer) == Some(&json!("Delete"));
        for nic in vm
            .each("/networkProfile/networkInterfaces", "")
            .filter(|nic| goes(nic, "/properties/deleteOption"))
        {
            let Some(nic) = nic["id"].as_str().and_then(target::reference) else { continue };
            let Some(resource) = self.resources.get(&nic).cloned() else { continue };
            self.remove(&nic);
            let ips = resource.each("/ipConfigurations", "/properties/publicIPAddress");
            for ip in ips.filter(|ip| goes(ip, "/properties/deleteOption")) {
                if let Some(ip) = ip["id"].as_str().and_then(target::reference) {
                    self.remove(&ip);
                }
            }
        }
        if let Some(disk) = vm.properties.pointer("/storageProfile/osDisk/name").and_then(Value::as_str)
            && goes(&vm.properties, "/storageProfile/osDisk/deleteOption")
        {
            self.remove(&key.beside(ArmKind::Disk, disk));
        }
    }

    pub(super) fn public_ip_of(&self, vm: &ArmResource) -> Option<&ArmResource> {
        let nic = vm.each("/networkProfile/networkInterfaces", "/id").next()?.as_str()?;
        let nic = self.resources.get(&target::reference(nic)?)?;
        let ip = nic.each("/ipConfigurations", "/properties/publicIPAddress/id").next()?.as_str()?;
        self.resources.get(&target::reference(ip)?)
    }

    /// A managed image, in a group that is made where it is missing.
    pub(super) fn add_image(
        &mut self,
        id: &str,
        location: Option<&str>,
        generation: &str,
        now: OffsetDateTime,
    ) -> bool {
        let Some((_, target::ArmTarget::Resource { key, name })) = target::read(id) else { return false };
        if key.kind != ArmKind::Image {
            return false;
        }
        let group = id.split('/').nth(4).unwrap_or_default();
        let group_key = key.group_key();
        let known = self.resources.get(&group_key).map(|group| group.location.clone());
        let location = location.map(str::to_owned).or(known).unwrap_or_else(|| HOME.to_owned());
        let blank = |key: ArmKey, name: &str, properties: Value| ArmResource {
            key,
            group: group.to_owned(),
            name: name.to_owned(),
            location: location.clone(),
            tags: BTreeMap::new(),
            sku: None,
            properties,
            etag: Uuid::now_v7(),
            created_at: now,
            stage: ArmStage::Succeeded,
            failure: None,
            next: None,
            address: None,
            reserved: None,
        };
        // The customer's own, so the ledger does not know it.
        if !self.resources.contains_key(&group_key) {
            self.resources.insert(group_key.clone(), blank(group_key, group, json!({})));
        }
        let properties = json!({
            "hyperVGeneration": generation,
            "storageProfile": {"osDisk": {"osType": "Linux", "osState": "Generalized"}},
        });
        self.insert(blank(key, &name, properties));
        true
    }
}
