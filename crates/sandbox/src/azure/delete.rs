//! `DELETE`: begins to remove a resource that nothing else needs.

use time::OffsetDateTime;

use super::call_error::ArmError;
use super::endpoint::ArmReply;
use super::resource::{ArmKey, ArmKind, ArmNext, ArmResource, ArmStage};
use super::target;
use super::world::AzureState;
use crate::delays::later;

pub(super) fn delete(
    state: &mut AzureState,
    key: &ArmKey,
    now: OffsetDateTime,
) -> Result<ArmReply, ArmError> {
    let action = match key.kind {
        ArmKind::Group => "Microsoft.Resources/subscriptions/resourceGroups/delete".to_owned(),
        kind => format!("{}/delete", kind.path()),
    };
    state.subscriptions.require_allowed(&key.subscription, &action)?;
    if key.kind != ArmKind::Group && !state.resources.contains_key(&key.group_key()) {
        return Err(ArmError::no_group(&key.group));
    }
    let Some(resource) = state.resources.get(key) else {
        return match key.kind {
            ArmKind::Group => Err(ArmError::no_group(&key.group)),
            _ => Ok(ArmReply::empty(204)),
        };
    };
    if state.controls.locked.contains(&key.kind) {
        let message = format!("the scope '{}' is locked and cannot be deleted", resource.id());
        return Err(ArmError::new(409, "ScopeLocked", message));
    }
    state.check_unused(resource, now)?;
    let (location, is_leaving) = (resource.location.clone(), resource.stage == ArmStage::Deleting);
    let delays = state.controls.delay_times;
    let lasts_ms = match key.kind {
        ArmKind::Vm | ArmKind::Group => delays.terminate_ms,
        _ => delays.network_ms,
    };
    if !is_leaving && let Some(resource) = state.resources.get_mut(key) {
        resource.stage = ArmStage::Deleting;
        resource.next = Some((later(now, lasts_ms), ArmNext::Vanish));
    }
    let id = state.operations.begin(now, lasts_ms, None, key.kind.is_compute());
    let result = format!(
        "{}/subscriptions/{}/operationresults/{id}?api-version=2022-09-01",
        state.base_url, key.subscription
    );
    let reply = ArmReply::empty(202).header("location", result).retry_after(lasts_ms / 1000);
    // A group tells its end by the status alone.
    if key.kind == ArmKind::Group {
        return Ok(reply);
    }
    let url = state.operation_url(key, &location, &id);
    Ok(reply.header("azure-asyncoperation", url))
}

impl AzureState {
    fn check_unused(&self, resource: &ArmResource, now: OffsetDateTime) -> Result<(), ArmError> {
        let key = &resource.key;
        let used = |code: &str, by: &str| {
            let message = format!("'{}' cannot be deleted: it is in use by {by}", resource.name);
            Err(ArmError::of_network(400, code, message))
        };
        match key.kind {
            ArmKind::Nic => {
                if let Some(vm) = self.vm_of_nic(key) {
                    return used("NicInUse", &vm.name);
                }
                resource.require_unreserved(None, now)
            }
            ArmKind::PublicIp => match self.nic_of_ip(key) {
                Some(nic) => used("PublicIPAddressCannotBeDeleted", &nic.name),
                None => Ok(()),
            },
            ArmKind::Disk => match self.owner_of_disk(resource) {
                Some(vm) => {
                    let message =
                        format!("the disk '{}' is attached to the instance '{}'", resource.name, vm.name);
                    Err(ArmError::new(409, "OperationNotAllowed", message))
                }
                None => Ok(()),
            },
            ArmKind::Network if !self.subnets_in_use(key).is_empty() => {
                used("InUseSubnetCannotBeDeleted", "a network interface")
            }
            ArmKind::Nsg if self.is_nsg_in_use(key) => {
                used("InUseNetworkSecurityGroupCannotBeDeleted", "a subnet or a network interface")
            }
            _ => Ok(()),
        }
    }

    fn is_nsg_in_use(&self, nsg: &ArmKey) -> bool {
        self.resources.values().any(|one| {
            let own = one.properties.pointer("/networkSecurityGroup/id");
            let mut ids = own.into_iter().chain(one.each("/subnets", "/properties/networkSecurityGroup/id"));
            ids.any(|id| id.as_str().and_then(target::reference).as_ref() == Some(nsg))
        })
    }
}
