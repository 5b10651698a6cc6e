//! The regions of a subscription, and the kinds of instances that each of them has.

#[cfg(test)]
mod tests;

use cloud::{Architecture, CloudAccount, CloudError, InstanceType};
use reqwest::Method;
use serde::Deserialize;

use super::Azure;
use super::arm::ArmCall;
use super::ids::{Subscription, location};

const LOCATIONS: &str = "2022-12-01";
const SKUS: &str = "2021-07-01";

#[derive(Deserialize)]
struct Location {
    name: String,
    #[serde(default)]
    metadata: LocationMetadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LocationMetadata {
    #[serde(default)]
    region_type: String,
}

/// A size of instances, or another thing that the same list has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sku {
    pub(super) name: String,
    resource_type: String,
    #[serde(default)]
    pub(super) family: Option<String>,
    #[serde(default)]
    capabilities: Option<Vec<Capability>>,
    #[serde(default)]
    restrictions: Option<Vec<Restriction>>,
}

#[derive(Debug, Deserialize)]
struct Capability {
    name: String,
    value: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Restriction {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    reason_code: Option<String>,
}

pub(super) async fn regions(azure: &Azure, place: &CloudAccount<'_>) -> Result<Vec<String>, CloudError> {
    let path = format!("{}/locations", Subscription::of(place)?.path());
    let call = ArmCall::new(Method::GET, path, LOCATIONS);
    let locations: Vec<Location> = azure.arm.list(place, &call, "a list of locations").await?;
    let physical = |one: &Location| one.metadata.region_type.eq_ignore_ascii_case("Physical");
    let names = locations.into_iter().filter(physical).map(|one| one.name);
    let mut names: Vec<String> = names.filter(|name| location(name).is_ok()).collect();
    names.sort();
    Ok(names)
}

pub(super) async fn instance_types(
    azure: &Azure,
    place: &CloudAccount<'_>,
) -> Result<Vec<InstanceType>, CloudError> {
    let skus = skus(azure, place).await?;
    let mut types: Vec<InstanceType> =
        skus.iter().filter(|sku| sku.restriction().is_none()).filter_map(Sku::instance_type).collect();
    types.sort_by(|one, other| one.name.cmp(&other.name));
    types.dedup_by(|one, other| one.name == other.name);
    Ok(types)
}

/// The sizes of the region, those that the subscription cannot have included.
pub(super) async fn skus(azure: &Azure, place: &CloudAccount<'_>) -> Result<Vec<Sku>, CloudError> {
    let path = format!("{}/providers/Microsoft.Compute/skus", Subscription::of(place)?.path());
    let call = ArmCall::new(Method::GET, path, SKUS)
        .query("$filter", format!("location eq '{}'", location(place.region)?));
    let mut skus: Vec<Sku> = azure.arm.list(place, &call, "a list of sizes").await?;
    skus.retain(|sku| sku.resource_type.eq_ignore_ascii_case("virtualMachines"));
    Ok(skus)
}

impl Sku {
    fn capability(&self, name: &str) -> Option<&str> {
        let found = self.capabilities.iter().flatten().find(|one| one.name.eq_ignore_ascii_case(name));
        found.map(|one| one.value.as_str())
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.capability(name)?.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
    }

    pub(super) fn vcpus(&self) -> u32 {
        whole(self.number("vCPUs").unwrap_or_default())
    }

    /// Why the subscription cannot have it in the region. A restriction of single zones leaves the others.
    pub(super) fn restriction(&self) -> Option<&str> {
        let of_region = |one: &&Restriction| one.kind.eq_ignore_ascii_case("Location");
        let found = self.restrictions.iter().flatten().find(of_region)?;
        Some(found.reason_code.as_deref().unwrap_or("NotAvailableForSubscription"))
    }

    /// `None` for a processor that no image of ours can run on.
    pub(super) fn instance_type(&self) -> Option<InstanceType> {
        let architecture = match self.capability("CpuArchitectureType") {
            None | Some("x64") => Architecture::X86_64,
            Some("Arm64") => Architecture::Arm64,
            Some(_) => return None,
        };
        let per_core = self.number("vCPUsPerCore").filter(|count| *count >= 1.0).unwrap_or(1.0);
        let generations = self.capability("HyperVGenerations").unwrap_or_default().split(',');
        Some(InstanceType {
            name: self.name.clone(),
            vcpus: self.vcpus(),
            cores: whole(f64::from(self.vcpus()) / per_core),
            memory_mib: u64::from(whole(self.number("MemoryGB")? * 1024.0)),
            storage_gb: u64::from(whole(self.number("MaxResourceVolumeMB").unwrap_or_default() / 1024.0)),
            architecture,
            generations: generations
                .map(str::trim)
                .filter(|one| !one.is_empty())
                .map(str::to_owned)
                .collect(),
        })
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "limited on both sides before")]
fn whole(number: f64) -> u32 {
    number.clamp(0.0, f64::from(u32::MAX)).floor() as u32
}
