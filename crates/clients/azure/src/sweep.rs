//! Deleting the parts of a launch that are no instances. A part is deleted only when nothing that exists needs it, by its
//! name and its tag, and each call can be repeated.

use cloud::{Category, CloudAccount, CloudError, InstanceRequest, Part, PartKind};
use futures_util::future::join_all;
use reqwest::Method;

use super::arm::ArmCall;
use super::create::vms;
use super::ids::{Kind, ResourceId};
use super::launch::LaunchNames;
use super::prepare::GROUPS;
use super::resource::ResourceHead;
use super::vm::{Vm, VmStage};
use super::{Azure, CALLS_AT_ONCE};

pub(super) async fn sweep(
    azure: &Azure,
    place: &CloudAccount<'_>,
    request: &InstanceRequest,
) -> Result<Vec<Part>, CloudError> {
    let launch = LaunchNames::new(place, request)?;
    if launch.owns_group() {
        own_group(azure, place, &launch).await
    } else {
        parts(azure, place, &launch).await
    }
}

/// The group was made for the launch, so all that is in it goes with it. A call that arrives late finds it dying or gone.
async fn own_group(
    azure: &Azure,
    place: &CloudAccount<'_>,
    launch: &LaunchNames<'_>,
) -> Result<Vec<Part>, CloudError> {
    let look = ArmCall::new(Method::GET, launch.group_path(), GROUPS);
    let found: Option<ResourceHead> = azure.arm.find(place, &look, "a resource group").await?;
    let Some(group) = found.filter(|group| group.is_of(&launch.request.launch_tag)) else {
        return Ok(Vec::new());
    };
    let part = Part { kind: PartKind::ResourceGroup, id: launch.group_path() };
    if group.is_leaving() {
        return Ok(vec![part]);
    }
    if vms(azure, place, launch).await?.iter().any(|(_, vm)| is_needed(vm.as_ref(), launch)) {
        let mut left = parts(azure, place, launch).await?;
        left.push(part);
        return Ok(left);
    }
    let call = ArmCall::new(Method::DELETE, launch.group_path(), GROUPS)
        .query("forceDeletionTypes", "Microsoft.Compute/virtualMachines");
    is_begun(azure.arm.call(place, &call).await.map(drop))?;
    Ok(vec![part])
}

/// An instance that lives on, so that its network must stay.
fn is_needed(vm: Option<&Vm>, launch: &LaunchNames<'_>) -> bool {
    vm.is_some_and(|vm| vm.is_of(&launch.request.launch_tag) && vm.stage() != VmStage::Leaving)
}

/// In a group that others use: network interfaces, then addresses and disks, then the network and its security group.
async fn parts(
    azure: &Azure,
    place: &CloudAccount<'_>,
    launch: &LaunchNames<'_>,
) -> Result<Vec<Part>, CloudError> {
    let mut left = Vec::new();
    let found = vms(azure, place, launch).await?;
    let is_gone = |vm: &Option<Vm>| vm.as_ref().is_none_or(|vm| !vm.is_of(&launch.request.launch_tag));
    let gone: Vec<u32> = found.iter().filter(|(_, vm)| is_gone(vm)).map(|(number, _)| *number).collect();
    let are_all_gone = gone.len() == found.len();
    for some in gone.chunks(CALLS_AT_ONCE) {
        for parts in join_all(some.iter().map(|number| of_instance(azure, place, launch, *number))).await {
            left.extend(parts?);
        }
    }
    if are_all_gone && left.is_empty() && launch.subnet.is_none() {
        left.extend(network(azure, place, launch).await?);
    }
    Ok(left)
}

/// The parts of an instance that does not exist, or not any more.
async fn of_instance(
    azure: &Azure,
    place: &CloudAccount<'_>,
    launch: &LaunchNames<'_>,
    number: u32,
) -> Result<Option<Part>, CloudError> {
    let parts = [
        (launch.nic(number), Kind::Nic, PartKind::Nic),
        (launch.ip(number), Kind::PublicIp, PartKind::PublicIp),
        (launch.disk(number), Kind::Disk, PartKind::Disk),
    ];
    for (id, kind, part) in parts {
        if let Some(left) = remove(azure, place, launch, (id, kind, part)).await? {
            return Ok(Some(left));
        }
    }
    Ok(None)
}

async fn network(
    azure: &Azure,
    place: &CloudAccount<'_>,
    launch: &LaunchNames<'_>,
) -> Result<Option<Part>, CloudError> {
    let network = (launch.own_network(), Kind::Network, PartKind::Network);
    if let Some(left) = remove(azure, place, launch, network).await? {
        return Ok(Some(left));
    }
    let security_group = (launch.own_security_group(), Kind::SecurityGroup, PartKind::SecurityGroup);
    remove(azure, place, launch, security_group).await
}

/// Begins to delete a part that is there and ours. What holds it for a while is no error: it is still there.
async fn remove(
    azure: &Azure,
    place: &CloudAccount<'_>,
    launch: &LaunchNames<'_>,
    (id, kind, part): (ResourceId, Kind, PartKind),
) -> Result<Option<Part>, CloudError> {
    let found: Option<ResourceHead> = azure.arm.find(place, &ArmCall::get(&id, kind), "a resource").await?;
    // Azure makes the disk of an instance by itself, and may leave out the tags of the instance.
    let is_ours = |resource: &ResourceHead| {
        resource.is_of(&launch.request.launch_tag) || kind == Kind::Disk && !resource.has_launch_tag()
    };
    let Some(resource) = found.filter(is_ours) else { return Ok(None) };
    if !resource.is_leaving() && resource.is_unattached() {
        is_begun(azure.arm.call(place, &ArmCall::delete(&id, kind)).await.map(drop))?;
    }
    Ok(Some(Part { kind: part, id: id.to_string() }))
}

fn is_begun(answer: Result<(), CloudError>) -> Result<(), CloudError> {
    match answer {
        Err(error) if error.is(Category::NotFound) => Ok(()),
        Err(error) if error.is(Category::Upstream) && error.after.is_some() && !error.code.is_empty() => {
            Ok(())
        }
        answer => answer,
    }
}
