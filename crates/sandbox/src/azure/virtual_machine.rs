//! Making an instance: everything that it names must be there, and there must be room for it.

use serde_json::{Value, json};
use uuid::Uuid;

use super::call_error::ArmError;
use super::catalog::{VmSize, size_of};
use super::faults::{ArmMethod, AzureChance, AzureFaultKind, FaultText};
use super::limits::CapacityFails;
use super::put::{Making, NewResource};
use super::resource::{ArmKey, ArmKind, ArmResource, ArmStage};
use super::target;
use super::world::AzureState;
use crate::delays::later;

const CUSTOM_DATA_CHARS_MAX: usize = 87_380;

impl AzureState {
    pub(super) fn make_vm(&mut self, new: &NewResource<'_>) -> Result<Making, ArmError> {
        let mut properties = new.body.properties.clone().unwrap_or_else(|| json!({}));
        let size = properties.pointer("/hardwareProfile/vmSize").and_then(Value::as_str).unwrap_or_default();
        let size = VmSize::find(size)
            .ok_or_else(|| ArmError::invalid(format!("the value {size} of vmSize is not valid")))?;
        if let Some(existing) = self.resources.get(new.key) {
            return Self::change_vm(existing, &properties, self.controls.delay_times.running_ms);
        }
        self.check_image(new, &properties, size)?;
        check_profile(&properties)?;
        let nic = self.check_nic_of_vm(new, &properties)?;
        self.check_quota(new, size)?;
        let failure = match self.room(new, size) {
            Err(refused) => {
                self.reserve(&nic, new);
                return Err(refused);
            }
            Ok(failure) => failure,
        };
        properties["vmId"] = json!(Uuid::now_v7());
        self.make_disk(new, &mut properties);
        if failure.is_some() {
            self.reserve(&nic, new);
        }
        let lasts_ms = self.controls.delay_times.running_ms;
        Ok(Making { properties, lasts_ms, failure, at_once: false })
    }

    fn change_vm(existing: &ArmResource, properties: &Value, lasts_ms: u64) -> Result<Making, ArmError> {
        let fixed = ["/storageProfile/imageReference", "/osProfile/computerName", "/osProfile/adminUsername"];
        if let Some(path) =
            fixed.iter().find(|path| existing.properties.pointer(path) != properties.pointer(path))
        {
            let message = format!("changing property '{path}' is not allowed");
            return Err(ArmError::new(409, "PropertyChangeNotAllowed", message));
        }
        let properties = existing.properties.clone();
        Ok(Making { properties, lasts_ms, failure: None, at_once: false })
    }

    fn check_image(&self, new: &NewResource<'_>, properties: &Value, size: &VmSize) -> Result<(), ArmError> {
        let id = properties.pointer("/storageProfile/imageReference/id").and_then(Value::as_str);
        let id = id.ok_or_else(|| ArmError::invalid("the instance needs an image"))?;
        let image = target::reference(id).and_then(|key| self.resources.get(&key));
        let Some(image) = image.filter(|image| image.key.kind == ArmKind::Image) else {
            return Err(ArmError::new(404, "ImageNotFound", format!("the image {id} was not found")));
        };
        if image.location != new.location {
            let message = format!("the image is in {} and the instance in {}", image.location, new.location);
            return Err(ArmError::invalid(message));
        }
        let generation = image.properties["hyperVGeneration"].as_str().unwrap_or("V1");
        if !size.boots(generation) {
            let message = format!("the size {} cannot boot hypervisor generation {generation}", size.name);
            return Err(ArmError::new(400, "BadRequest", message));
        }
        Ok(())
    }

    /// The key of its network interface, which no other instance may have.
    fn check_nic_of_vm(&self, new: &NewResource<'_>, properties: &Value) -> Result<ArmKey, ArmError> {
        let id = properties.pointer("/networkProfile/networkInterfaces/0/id");
        let id = id.ok_or_else(|| ArmError::invalid("the instance needs a network interface"))?;
        let nic = self.referred(new, id, ArmKind::Nic)?;
        if nic.stage == ArmStage::Creating {
            let message = format!("the network interface '{}' is not in Succeeded state", nic.name);
            return Err(ArmError::not_ready(message));
        }
        if self.vm_of_nic(&nic.key).is_some_and(|vm| vm.key != *new.key) {
            let message = format!("the network interface '{}' is in use by another instance", nic.name);
            return Err(ArmError::new(400, "NicInUse", message));
        }
        nic.require_unreserved(Some(new.key), new.now)?;
        Ok(nic.key.clone())
    }

    pub(super) fn vm_of_nic(&self, nic: &ArmKey) -> Option<&ArmResource> {
        let is_of = |vm: &&ArmResource| {
            let mut ids = vm.each("/networkProfile/networkInterfaces", "/id");
            vm.key.kind == ArmKind::Vm
                && ids.any(|id| id.as_str().and_then(target::reference).as_ref() == Some(nic))
        };
        self.resources.values().find(is_of)
    }

    fn check_quota(&self, new: &NewResource<'_>, size: &VmSize) -> Result<(), ArmError> {
        for family in [None, Some(size.family)] {
            let limit = self.controls.limits.quota(family);
            let used = self.vcpus_used(&new.key.subscription, new.location, family);
            if used + size.vcpus > limit {
                let message = format!(
                    "the operation would exceed the approved {} quota: limit {limit}, in use {used}, needed {}",
                    family.unwrap_or("Total Regional Cores"),
                    size.vcpus
                );
                return Err(ArmError::new(409, "OperationNotAllowed", message));
            }
        }
        Ok(())
    }

    /// How the operation will fail, if it does. Refused where the call itself fails.
    fn room(&self, new: &NewResource<'_>, size: &VmSize) -> Result<Option<FaultText>, ArmError> {
        let chance = AzureChance { method: ArmMethod::Put, kind: Some(ArmKind::Vm), name: &new.key.name };
        for kind in [AzureFaultKind::Die, AzureFaultKind::OsTimeout] {
            if let Some(why) = self.faults.hits(kind, &chance) {
                return Ok(Some(why));
            }
        }
        let living = self.resources.values().filter(|one| one.is_living());
        let living = living.filter_map(|vm| Some((vm.location.as_str(), size_of(vm)?.name)));
        let message = format!("there is no sufficient capacity for {} in {} now", size.name, new.location);
        match self.controls.limits.is_full(new.location, size, &living) {
            None => Ok(None),
            Some(CapacityFails::Call) => Err(ArmError::new(409, "AllocationFailed", message)),
            Some(CapacityFails::Operation) => Ok(Some(FaultText::new("AllocationFailed", &message))),
        }
    }

    /// After a failure the network interface is kept for the same instance for a while.
    fn reserve(&mut self, nic: &ArmKey, new: &NewResource<'_>) {
        let until = later(new.now, self.controls.delay_times.reserve_ms);
        if let Some(nic) = self.resources.get_mut(nic) {
            nic.reserved = Some((new.key.clone(), until));
        }
    }

    /// It is made with the instance, without its tags.
    fn make_disk(&mut self, new: &NewResource<'_>, properties: &mut Value) {
        let given = properties.pointer("/storageProfile/osDisk/name").and_then(Value::as_str);
        let name = given.map_or_else(|| format!("{}_OsDisk_1", new.key.name), str::to_owned);
        let key = new.key.beside(ArmKind::Disk, &name);
        properties["storageProfile"]["osDisk"]["name"] = json!(name);
        let group = self.resources.get(&new.key.group_key()).map(|group| group.name.clone());
        self.insert(ArmResource {
            key,
            group: group.unwrap_or_default(),
            name,
            location: new.location.to_owned(),
            tags: std::collections::BTreeMap::new(),
            sku: Some(json!({"name": "Standard_LRS"})),
            properties: json!({"osType": "Linux", "diskSizeGB": 10}),
            etag: Uuid::now_v7(),
            created_at: new.now,
            stage: ArmStage::Succeeded,
            failure: None,
            next: None,
            address: None,
            reserved: None,
        });
    }
}

impl ArmResource {
    /// Refused while a network interface is kept for another instance than this one.
    pub(super) fn require_unreserved(
        &self,
        by: Option<&ArmKey>,
        now: time::OffsetDateTime,
    ) -> Result<(), ArmError> {
        match &self.reserved {
            Some((vm, until)) if Some(vm) != by && now < *until => {
                let message = format!(
                    "the network interface '{}' is reserved for the instance '{}' for 180 seconds",
                    self.name, vm.name
                );
                Err(ArmError::new(400, "NicReservedForAnotherVm", message))
            }
            _ => Ok(()),
        }
    }
}

fn check_profile(properties: &Value) -> Result<(), ArmError> {
    let profile = &properties["osProfile"];
    let text = |pointer: &str| profile.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if text("/adminUsername").is_empty() || !(1..=64).contains(&text("/computerName").len()) {
        return Err(ArmError::invalid(
            "osProfile needs adminUsername and a computerName of 1 to 64 characters",
        ));
    }
    let key = text("/linuxConfiguration/ssh/publicKeys/0/keyData");
    if !key.starts_with("ssh-rsa ") && !key.starts_with("ssh-ed25519 ") {
        return Err(ArmError::invalid("the value of linuxConfiguration.ssh.publicKeys.keyData is not valid"));
    }
    if text("/customData").len() > CUSTOM_DATA_CHARS_MAX {
        return Err(ArmError::invalid("customData is too long"));
    }
    Ok(())
}
