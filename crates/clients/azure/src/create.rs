//! Making the instances of a launch, and deciding what became of them.
//!
//! Each call looks at all of them first and carries on from there. The answer is final only when none is on its way.

use std::time::Duration;

use cloud::{Category, CloudAccount, CloudError, CloudInstance, Created, InstanceRequest};
use futures_util::future::join_all;

use super::arm::ArmCall;
use super::error::is_unregistered;
use super::ids::{Kind, ResourceId};
use super::launch::LaunchNames;
use super::operation::Readiness;
use super::vm::{Vm, VmStage};
use super::{Azure, CALLS_AT_ONCE, bodies, ownership, prepare};

/// Azure lets one managed image be copied so many times at once; more run into time-outs.
const CREATING_MAX: usize = 20;
/// A part that was just made is not yet visible to every service.
const PART_VISIBLE: Duration = Duration::from_secs(1);

/// The instances of a launch, by what is to be done about them.
#[derive(Default)]
struct Fleet {
    ready: Vec<CloudInstance>,
    missing: Vec<u32>,
    failed: Vec<(u32, CloudError)>,
    creating: usize,
    leaving: usize,
}

pub(super) async fn create(
    azure: &Azure,
    place: &CloudAccount<'_>,
    request: &InstanceRequest,
) -> Result<Created, CloudError> {
    let launch = LaunchNames::new(place, request)?;
    ownership::prove(azure, place).await?;
    let mut fleet = look(azure, place, &launch).await?;
    let keeps_fewer = request.least < request.most;
    if !keeps_fewer && !fleet.failed.is_empty() {
        return Err(give_up(azure, place, &launch, fleet.failed).await);
    }
    let began = match begin(azure, place, &launch, &mut fleet, keeps_fewer).await {
        Err(error) if is_unregistered(&error) => {
            let after = prepare::register(azure, place, &launch, "Microsoft.Compute").await?;
            return Ok(Created { reservation: None, instances: fleet.ready, again: Some(after) });
        }
        began => began?,
    };
    if let Some(after) = began {
        return Ok(Created { reservation: None, instances: fleet.ready, again: Some(after) });
    }
    let enough = usize::try_from(request.least).unwrap_or(usize::MAX);
    if !fleet.failed.is_empty() && fleet.ready.len() < enough {
        return Err(give_up(azure, place, &launch, fleet.failed).await);
    }
    // Where one was never made, a sweep takes its network interface and its address.
    delete_vms(azure, place, &failed_ids(&launch, &fleet.failed)).await?;
    Ok(Created { reservation: None, instances: fleet.ready, again: None })
}

async fn look(
    azure: &Azure,
    place: &CloudAccount<'_>,
    launch: &LaunchNames<'_>,
) -> Result<Fleet, CloudError> {
    let mut fleet = Fleet::default();
    for (number, found) in vms(azure, place, launch).await? {
        let Some(vm) = found else {
            fleet.missing.push(number);
            continue;
        };
        let id = launch.vm(number);
        if !vm.is_of(&launch.request.launch_tag) {
            return Err(LaunchNames::duplicate(&id));
        }
        match vm.stage() {
            VmStage::Creating => fleet.creating += 1,
            VmStage::Leaving => fleet.leaving += 1,
            VmStage::Ready => fleet.ready.push(vm.instance(&id)),
            VmStage::Failed(error) => fleet.failed.push((number, error)),
        }
    }
    Ok(fleet)
}

/// Every instance of the launch, by its name: lists of Azure lag behind, and names do not.
pub(super) async fn vms(
    azure: &Azure,
    place: &CloudAccount<'_>,
    launch: &LaunchNames<'_>,
) -> Result<Vec<(u32, Option<Vm>)>, CloudError> {
    let numbers: Vec<u32> = launch.numbers().collect();
    let mut all = Vec::with_capacity(numbers.len());
    for some in numbers.chunks(CALLS_AT_ONCE) {
        let found = join_all(some.iter().map(|number| vm(azure, place, launch.vm(*number)))).await;
        for (number, found) in some.iter().zip(found) {
            all.push((*number, found?));
        }
    }
    Ok(all)
}

pub(super) async fn vm(
    azure: &Azure,
    place: &CloudAccount<'_>,
    id: ResourceId,
) -> Result<Option<Vm>, CloudError> {
    let call = ArmCall::get(&id, Kind::Vm).query("$expand", "instanceView");
    azure.arm.find(place, &call, "an instance").await
}

/// Begins as many as may be on their way, and says when to look again. What Azure refuses for want of room becomes a
/// failure of that instance where fewer are enough; every other error ends the call.
async fn begin(
    azure: &Azure,
    place: &CloudAccount<'_>,
    launch: &LaunchNames<'_>,
    fleet: &mut Fleet,
    keeps_fewer: bool,
) -> Result<Option<Duration>, CloudError> {
    let room = CREATING_MAX.saturating_sub(fleet.creating);
    let next: Vec<u32> = fleet.missing.iter().copied().take(room).collect();
    let mut again: Option<Duration> = None;
    let mut wait = |after: Duration| again = Some(again.map_or(after, |before| before.min(after)));
    let mut refused: Option<CloudError> = None;
    let mut begun = 0;
    for some in next.chunks(CALLS_AT_ONCE) {
        let results = join_all(some.iter().map(|number| put(azure, place, launch, *number))).await;
        for result in results {
            match result {
                Ok(after) => {
                    begun += 1;
                    wait(after);
                }
                Err(error) if keeps_fewer && is_want_of_room(&error) => refused = refused.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        if refused.is_some() {
            break;
        }
    }
    let rest = fleet.missing.len() - begun;
    match refused {
        // What comes after a refusal would be refused as well.
        Some(error) if begun == 0 && fleet.creating == 0 && fleet.leaving == 0 => {
            fleet.failed.extend(fleet.missing.drain(..).map(|number| (number, error.clone())));
        }
        Some(_) => wait(azure.pause(None)),
        None if rest > 0 || fleet.creating > 0 || fleet.leaving > 0 => wait(azure.pause(None)),
        None => {}
    }
    Ok(again)
}

fn is_want_of_room(error: &CloudError) -> bool {
    error.is(Category::Capacity) || error.is(Category::Quota)
}

/// One instance: its address, its network interface and itself. Says when to look again.
async fn put(
    azure: &Azure,
    place: &CloudAccount<'_>,
    launch: &LaunchNames<'_>,
    number: u32,
) -> Result<Duration, CloudError> {
    let vm_body = bodies::vm(launch, number)?;
    let parts = [
        (launch.ip(number), Kind::PublicIp, bodies::public_ip(launch)),
        (launch.nic(number), Kind::Nic, bodies::nic(launch, number)),
    ];
    for (id, kind, body) in parts {
        let ensured = match azure.ensure(place, launch, (&id, kind), body.clone()).await {
            Err(error) if is_invisible(&error) => {
                azure.arm.clock.sleep(PART_VISIBLE.min(azure.poll)).await;
                azure.ensure(place, launch, (&id, kind), body).await?
            }
            ensured => ensured?,
        };
        if let Readiness::Busy(after) = ensured {
            return Ok(after);
        }
    }
    let id = launch.vm(number);
    let call = ArmCall::put(&id, Kind::Vm, vm_body).only_if_new();
    let answer = match azure.arm.call(place, &call).await {
        Err(error) if is_invisible(&error) => {
            azure.arm.clock.sleep(PART_VISIBLE.min(azure.poll)).await;
            azure.arm.call(place, &call).await
        }
        answer => answer,
    };
    match answer {
        Ok(answer) => Ok(azure.pause(answer.after)),
        // An earlier call made it, and its answer got lost.
        Err(error) if error.is(Category::Duplicate) => match vm(azure, place, id.clone()).await? {
            Some(vm) if !vm.is_of(&launch.request.launch_tag) => Err(LaunchNames::duplicate(&id)),
            _ => Ok(azure.pause(None)),
        },
        Err(error) => Err(error),
    }
}

fn is_invisible(error: &CloudError) -> bool {
    error.code == "InvalidResourceReference"
}

/// Deletes what failed, where another attempt may succeed under the same names, and returns the error to report. After
/// any other error all of the launch is undone.
async fn give_up(
    azure: &Azure,
    place: &CloudAccount<'_>,
    launch: &LaunchNames<'_>,
    failed: Vec<(u32, CloudError)>,
) -> CloudError {
    let errors = || failed.iter().map(|(_, error)| error);
    let lasting = errors().find(|error| !error.may_heal());
    let capacity = || errors().find(|error| error.is(Category::Capacity));
    let Some(cause) = lasting.or_else(capacity).or_else(|| errors().next()).cloned() else {
        return CloudError::new(Category::Upstream, "", "an instance failed without a reason");
    };
    if cause.may_heal()
        && let Err(error) = delete_vms(azure, place, &failed_ids(launch, &failed)).await
    {
        return error;
    }
    cause
}

fn failed_ids(launch: &LaunchNames<'_>, failed: &[(u32, CloudError)]) -> Vec<ResourceId> {
    failed.iter().map(|(number, _)| launch.vm(*number)).collect()
}

/// Begins to delete instances. Their disks, network interfaces and addresses go with them.
pub(super) async fn delete_vms(
    azure: &Azure,
    place: &CloudAccount<'_>,
    ids: &[ResourceId],
) -> Result<(), CloudError> {
    for some in ids.chunks(CALLS_AT_ONCE) {
        for deleted in join_all(some.iter().map(|id| delete_vm(azure, place, id))).await {
            deleted?;
        }
    }
    Ok(())
}

async fn delete_vm(azure: &Azure, place: &CloudAccount<'_>, id: &ResourceId) -> Result<(), CloudError> {
    let call = ArmCall::delete(id, Kind::Vm).query("forceDeletion", "true");
    match azure.arm.call(place, &call).await {
        Err(error) if error.is(Category::NotFound) => Ok(()),
        answer => answer.map(drop),
    }
}
