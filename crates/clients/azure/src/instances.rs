//! Instances that exist, and their end.

use cloud::{CloudAccount, CloudError, CloudInstance, InstanceRequest};
use futures_util::future::join_all;

use super::arm::ArmCall;
use super::create::{delete_vms, vm, vms};
use super::ids::{Kind, ResourceId, Subscription};
use super::launch::LaunchNames;
use super::vm::{Nic, Vm};
use super::{Azure, CALLS_AT_ONCE};

pub(super) async fn find(
    azure: &Azure,
    place: &CloudAccount<'_>,
    request: &InstanceRequest,
) -> Result<Vec<CloudInstance>, CloudError> {
    let launch = LaunchNames::new(place, request)?;
    let mut instances = Vec::new();
    for (number, found) in vms(azure, place, &launch).await? {
        let own = found.filter(|vm| vm.is_of(&request.launch_tag));
        instances.extend(own.map(|vm| vm.instance(&launch.vm(number))));
    }
    Ok(instances)
}

pub(super) async fn describe(
    azure: &Azure,
    place: &CloudAccount<'_>,
    ids: &[String],
) -> Result<Vec<CloudInstance>, CloudError> {
    let subscription = Subscription::of(place)?;
    let ids = ids.iter().map(|id| ResourceId::parse(id, &subscription, &[Kind::Vm]).map(|(id, _)| id));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    let mut instances = Vec::with_capacity(ids.len());
    for some in ids.chunks(CALLS_AT_ONCE) {
        for found in join_all(some.iter().map(|id| describe_one(azure, place, &subscription, id))).await {
            instances.extend(found?);
        }
    }
    Ok(instances)
}

async fn describe_one(
    azure: &Azure,
    place: &CloudAccount<'_>,
    subscription: &Subscription,
    id: &ResourceId,
) -> Result<Option<CloudInstance>, CloudError> {
    let Some(found) = vm(azure, place, id.clone()).await? else { return Ok(None) };
    let mut instance = found.instance(id);
    if let Some(nic) = nic(azure, place, subscription, &found).await? {
        nic.complete(&mut instance);
    }
    Ok(Some(instance))
}

async fn nic(
    azure: &Azure,
    place: &CloudAccount<'_>,
    subscription: &Subscription,
    vm: &Vm,
) -> Result<Option<Nic>, CloudError> {
    let Some(id) = vm.nic() else { return Ok(None) };
    let (id, _) = ResourceId::parse(id, subscription, &[Kind::Nic])?;
    let call = ArmCall::get(&id, Kind::Nic).query("$expand", "ipConfigurations/publicIPAddress");
    azure.arm.find(place, &call, "a network interface").await
}

pub(super) async fn delete(
    azure: &Azure,
    place: &CloudAccount<'_>,
    ids: &[String],
) -> Result<(), CloudError> {
    let subscription = Subscription::of(place)?;
    let ids = ids.iter().map(|id| ResourceId::parse(id, &subscription, &[Kind::Vm]).map(|(id, _)| id));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    delete_vms(azure, place, &ids).await
}
