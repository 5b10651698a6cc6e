//! Whether a launch could be carried out, found out with calls that read only.

use cloud::{Category, CloudAccount, CloudError, InstanceRequest};
use reqwest::Method;
use serde::Deserialize;

use super::Azure;
use super::arm::ArmCall;
use super::catalog::{Sku, skus};
use super::ids::{COMPUTE, NETWORK, Subscription};
use super::launch::LaunchNames;
use super::permissions::{NEEDED, OWN_GROUP, Permission, allows};
use super::prepare::GROUPS;
use super::{bodies, ownership};

const PERMISSIONS: &str = "2022-04-01";

#[derive(Deserialize)]
struct Usage {
    #[serde(rename = "currentValue")]
    current: i64,
    limit: i64,
    name: UsageName,
}

#[derive(Deserialize)]
struct UsageName {
    value: String,
}

#[derive(Deserialize)]
struct Registration {
    #[serde(rename = "registrationState", default)]
    state: String,
}

pub(super) async fn dry_run(
    azure: &Azure,
    place: &CloudAccount<'_>,
    request: &InstanceRequest,
) -> Result<(), CloudError> {
    let launch = LaunchNames::new(place, request)?;
    ownership::prove(azure, place).await?;
    permissions(azure, place, &launch).await?;
    let Some(wanted) = request.instance_type.as_deref() else { return Ok(()) };
    let skus = skus(azure, place).await?;
    let sku = available(&skus, wanted, place.region)?;
    quotas(azure, place, &launch, sku).await
}

async fn permissions(
    azure: &Azure,
    place: &CloudAccount<'_>,
    launch: &LaunchNames<'_>,
) -> Result<(), CloudError> {
    // A group that does not exist yet has the permissions of the subscription, and so has the group of the image at least.
    let scope = if !launch.owns_group() {
        launch.group_path()
    } else if launch.request.image.is_some() {
        launch.subscription.group_path(bodies::image_id(launch)?.group())
    } else {
        launch.subscription.path()
    };
    let own_group: &[&str] = if launch.owns_group() { OWN_GROUP } else { &[] };
    let missing = missing(azure, place, (&scope, &launch.subscription), own_group).await?;
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the delegation of the subscription {} does not allow {}: grant the role Contributor",
        launch.subscription.as_str(),
        missing.join(", ")
    );
    Err(CloudError::new(Category::Permission, "AuthorizationFailed", http_client::shorten(&message)))
}

/// What the whole subscription forbids of all that a launch calls.
pub(super) async fn all_missing(azure: &Azure, place: &CloudAccount<'_>) -> Result<Vec<String>, CloudError> {
    let subscription = Subscription::of(place)?;
    missing(azure, place, (&subscription.path(), &subscription), OWN_GROUP).await
}

/// The actions that a launch needs and its scope does not allow.
async fn missing(
    azure: &Azure,
    place: &CloudAccount<'_>,
    (scope, subscription): (&str, &Subscription),
    own_group: &[&str],
) -> Result<Vec<String>, CloudError> {
    let path = format!("{scope}/providers/Microsoft.Authorization/permissions");
    let call = ArmCall::new(Method::GET, path, PERMISSIONS);
    let granted: Vec<Permission> = azure.arm.list(place, &call, "a list of permissions").await?;
    let mut needed: Vec<String> = NEEDED.iter().chain(own_group).map(|action| (*action).to_owned()).collect();
    for namespace in ["Microsoft.Compute", "Microsoft.Network"] {
        if !is_registered(azure, place, subscription, namespace).await? {
            needed.push(format!("{namespace}/register/action"));
        }
    }
    Ok(needed.into_iter().filter(|action| !allows(&granted, action)).collect())
}

async fn is_registered(
    azure: &Azure,
    place: &CloudAccount<'_>,
    subscription: &Subscription,
    namespace: &str,
) -> Result<bool, CloudError> {
    let path = format!("{}/providers/{namespace}", subscription.path());
    let call = ArmCall::new(Method::GET, path, GROUPS);
    let registration: Registration = azure.arm.call(place, &call).await?.json("a resource provider")?;
    Ok(registration.state.eq_ignore_ascii_case("Registered"))
}

fn available<'a>(skus: &'a [Sku], wanted: &str, region: &str) -> Result<&'a Sku, CloudError> {
    let Some(sku) = skus.iter().find(|sku| sku.name.eq_ignore_ascii_case(wanted)) else {
        let message = format!("the region {region} has no instance type {wanted}: choose another one");
        return Err(CloudError::new(Category::Invalid, "SkuNotAvailable", message));
    };
    match sku.restriction() {
        None => Ok(sku),
        Some("QuotaId") => {
            let message = format!(
                "the offer of the subscription does not include {wanted} in {region}: choose another instance type"
            );
            Err(CloudError::new(Category::Quota, "QuotaId", message))
        }
        Some(reason) => {
            let message = format!(
                "the subscription cannot have {wanted} in {region}: choose another instance type or region, or ask \
                 Azure for access"
            );
            Err(CloudError::new(Category::Invalid, http_client::shorten(reason), message))
        }
    }
}

async fn quotas(
    azure: &Azure,
    place: &CloudAccount<'_>,
    launch: &LaunchNames<'_>,
    sku: &Sku,
) -> Result<(), CloudError> {
    let amount = i64::from(launch.request.least.max(1));
    let cores = amount * i64::from(sku.vcpus());
    let family = sku.family.as_deref().unwrap_or_default();
    let compute = [("cores", cores), ("virtualMachines", amount), (family, cores)];
    enough(azure, place, launch, ("Microsoft.Compute", COMPUTE), &compute).await?;
    let network = [("PublicIPAddresses", amount), ("NetworkInterfaces", amount)];
    enough(azure, place, launch, ("Microsoft.Network", NETWORK), &network).await
}

async fn enough(
    azure: &Azure,
    place: &CloudAccount<'_>,
    launch: &LaunchNames<'_>,
    (namespace, version): (&str, &'static str),
    wanted: &[(&str, i64)],
) -> Result<(), CloudError> {
    let path =
        format!("{}/providers/{namespace}/locations/{}/usages", launch.subscription.path(), launch.location);
    let usages: Vec<Usage> =
        azure.arm.list(place, &ArmCall::new(Method::GET, path, version), "a list of quotas").await?;
    for usage in usages {
        let Some((name, more)) =
            wanted.iter().find(|(name, _)| !name.is_empty() && usage.name.value.eq_ignore_ascii_case(name))
        else {
            continue;
        };
        if usage.limit >= 0 && usage.current.saturating_add(*more) > usage.limit {
            let message = format!(
                "the launch needs {more} more of the quota {name} in {}, and {} of {} are used: raise the quota or \
                 launch fewer",
                launch.location, usage.current, usage.limit
            );
            return Err(CloudError::new(Category::Quota, "QuotaExceeded", message));
        }
    }
    Ok(())
}
