//! What must stand before the instances: the resource group, and the network of the launch.

use std::time::Duration;

use cloud::{Category, CloudAccount, CloudError, InstanceRequest};
use reqwest::Method;
use serde_json::Value;

use super::Azure;
use super::arm::ArmCall;
use super::error::is_unregistered;
use super::ids::Kind;
use super::launch::LaunchNames;
use super::operation::Readiness;
use super::resource::ResourceHead;
use super::{bodies, ownership};

pub(super) const GROUPS: &str = "2022-09-01";
/// Registering a service takes a minute or two.
const REGISTERS: Duration = Duration::from_secs(20);

pub(super) async fn prepare(
    azure: &Azure,
    place: &CloudAccount<'_>,
    request: &InstanceRequest,
) -> Result<Option<Duration>, CloudError> {
    let launch = LaunchNames::new(place, request)?;
    ownership::prove(azure, place).await?;
    group(azure, place, &launch).await?;
    match network(azure, place, &launch).await {
        Ok(Readiness::Ready) => Ok(None),
        Ok(Readiness::Busy(after)) => Ok(Some(after)),
        Err(error) if is_unregistered(&error) => {
            register(azure, place, &launch, "Microsoft.Network").await.map(Some)
        }
        Err(error) => Err(error),
    }
}

async fn group(azure: &Azure, place: &CloudAccount<'_>, launch: &LaunchNames<'_>) -> Result<(), CloudError> {
    let look = ArmCall::new(Method::GET, launch.group_path(), GROUPS);
    let found: Option<ResourceHead> = azure.arm.find(place, &look, "a resource group").await?;
    let name = launch.group();
    match found {
        None if !launch.owns_group() => {
            let message =
                format!("there is no resource group {name}: make it, or leave the resource group out");
            Err(CloudError::new(Category::Invalid, "ResourceGroupNotFound", message))
        }
        None => {
            let put = ArmCall::new(Method::PUT, launch.group_path(), GROUPS).body(bodies::group(launch));
            azure.arm.call(place, &put).await.map(drop)
        }
        Some(group) if group.is_leaving() => {
            let message = format!("the resource group {name} is being deleted: wait until it is gone");
            let error = CloudError::new(Category::Upstream, "ResourceGroupBeingDeleted", message);
            Err(CloudError { after: Some(azure.poll), ..error })
        }
        Some(group) if launch.owns_group() && !group.is_of(&launch.request.launch_tag) => {
            let message = format!(
                "the resource group {name} exists and does not belong to this launch: delete it, or choose another name"
            );
            Err(CloudError::new(Category::Duplicate, "ForeignResource", message))
        }
        Some(_) => Ok(()),
    }
}

async fn network(
    azure: &Azure,
    place: &CloudAccount<'_>,
    launch: &LaunchNames<'_>,
) -> Result<Readiness, CloudError> {
    if let Some(subnet) = &launch.subnet {
        let call = ArmCall::get(subnet, Kind::Subnet);
        if azure.arm.find::<Value>(place, &call, "a subnet").await?.is_none() {
            let message = format!("there is no subnet {subnet}: name one that exists, or leave it out");
            return Err(CloudError::new(Category::Invalid, "SubnetNotFound", message));
        }
        return Ok(Readiness::Ready);
    }
    if launch.security_group.is_none() {
        let body = bodies::security_group(launch, &azure.ssh_from);
        let id = launch.own_security_group();
        if let busy @ Readiness::Busy(_) =
            azure.ensure(place, launch, (&id, Kind::SecurityGroup), body).await?
        {
            return Ok(busy);
        }
    }
    azure.ensure(place, launch, (&launch.own_network(), Kind::Network), bodies::network(launch)).await
}

/// The first use of a service in a subscription. Says when to come back.
pub(super) async fn register(
    azure: &Azure,
    place: &CloudAccount<'_>,
    launch: &LaunchNames<'_>,
    namespace: &str,
) -> Result<Duration, CloudError> {
    let path = format!("{}/providers/{namespace}/register", launch.subscription.path());
    azure.arm.call(place, &ArmCall::new(Method::POST, path, GROUPS)).await?;
    Ok(REGISTERS.min(azure.poll * 2))
}
