//! The locations and the sizes of instances that there are, and how much of them is used.

use serde_json::{Value, json};

use super::resource::{ArmKind, ArmResource};
use super::world::AzureState;

const LOCATIONS: &[&str] =
    &["eastus", "eastus2", "germanywestcentral", "northeurope", "westeurope", "westus2", "westus3"];
/// In the list, and no place where an instance can be.
const LOGICAL: &[&str] = &["europe", "global"];

#[derive(Debug)]
pub(super) struct VmSize {
    pub(super) name: &'static str,
    pub(super) family: &'static str,
    pub(super) vcpus: u64,
    memory_gb: &'static str,
    architecture: &'static str,
    generations: &'static str,
    /// A reason why no subscription can have it.
    restricted: Option<&'static str>,
}

const fn size(
    name: &'static str,
    family: &'static str,
    vcpus: u64,
    memory_gb: &'static str,
    generations: &'static str,
) -> VmSize {
    VmSize { name, family, vcpus, memory_gb, architecture: "x64", generations, restricted: None }
}

const SIZES: &[VmSize] = &[
    size("Standard_B1s", "standardBSFamily", 1, "1", "V1,V2"),
    size("Standard_B2s", "standardBSFamily", 2, "4", "V1,V2"),
    size("Standard_D2s_v5", "standardDSv5Family", 2, "8", "V1,V2"),
    size("Standard_D4s_v5", "standardDSv5Family", 4, "16", "V1,V2"),
    size("Standard_DC2as_v5", "standardDCASv5Family", 2, "8", "V2"),
    VmSize { architecture: "Arm64", ..size("Standard_D2ps_v5", "standardDPSv5Family", 2, "8", "V2") },
    VmSize {
        restricted: Some("NotAvailableForSubscription"),
        ..size("Standard_M128s", "standardMSFamily", 128, "2048", "V1,V2")
    },
];

impl VmSize {
    pub(super) fn find(name: &str) -> Option<&'static VmSize> {
        SIZES.iter().find(|size| size.name.eq_ignore_ascii_case(name))
    }

    pub(super) fn boots(&self, generation: &str) -> bool {
        self.generations.split(',').any(|one| one == generation)
    }

    fn body(&self, location: &str) -> Value {
        let capability = |name: &str, value: &str| json!({"name": name, "value": value});
        let restrictions: Vec<Value> = self
            .restricted
            .map(|reason| json!({
                "type": "Location", "values": [location], "restrictionInfo": {"locations": [location]}, "reasonCode": reason,
            }))
            .into_iter()
            .collect();
        json!({
            "resourceType": "virtualMachines",
            "name": self.name,
            "tier": "Standard",
            "family": self.family,
            "size": self.name.trim_start_matches("Standard_"),
            "locations": [location],
            "locationInfo": [{"location": location, "zones": [], "zoneDetails": []}],
            "capabilities": [
                capability("MaxResourceVolumeMB", "16384"),
                capability("vCPUs", &self.vcpus.to_string()),
                capability("vCPUsPerCore", if self.vcpus > 1 { "2" } else { "1" }),
                capability("MemoryGB", self.memory_gb),
                capability("CpuArchitectureType", self.architecture),
                capability("HyperVGenerations", self.generations),
            ],
            "restrictions": restrictions,
        })
    }
}

pub(super) fn is_location(name: &str) -> bool {
    LOCATIONS.contains(&name)
}

pub(super) fn locations(subscription: &str) -> Vec<Value> {
    let location = |name: &&str| {
        let kind = if LOGICAL.contains(name) { "Logical" } else { "Physical" };
        json!({
            "id": format!("/subscriptions/{subscription}/locations/{name}"),
            "name": name,
            "type": "Region",
            "displayName": name,
            "regionalDisplayName": format!("(Sandbox) {name}"),
            "metadata": {"regionType": kind, "regionCategory": "Recommended"},
        })
    };
    LOCATIONS.iter().chain(LOGICAL).map(location).collect()
}

/// Sizes and, as in the real list, other things.
pub(super) fn skus(filter: Option<&str>) -> Vec<Value> {
    let wanted = filter.and_then(|text| text.split('\'').nth(1));
    let mut all = Vec::new();
    for location in LOCATIONS.iter().filter(|name| wanted.is_none_or(|wanted| wanted == **name)) {
        all.extend(SIZES.iter().map(|size| size.body(location)));
        all.push(json!({
            "resourceType": "disks", "name": "Standard_LRS", "tier": "Standard", "size": "S4",
            "locations": [location], "locationInfo": [{"location": location, "zones": [], "zoneDetails": []}],
            "capabilities": [{"name": "MaxSizeGiB", "value": "32"}], "restrictions": [],
        }));
    }
    all
}

pub(super) fn size_of(vm: &ArmResource) -> Option<&'static VmSize> {
    VmSize::find(vm.properties.pointer("/hardwareProfile/vmSize")?.as_str()?)
}

impl AzureState {
    /// The virtual CPUs in use, of all families or of one.
    pub(super) fn vcpus_used(&self, subscription: &str, location: &str, family: Option<&str>) -> u64 {
        let living = self.resources.values().filter(|one| {
            one.is_living() && one.key.subscription == subscription && one.location == location
        });
        let sizes = living.filter_map(size_of);
        sizes.filter(|size| family.is_none_or(|family| family == size.family)).map(|size| size.vcpus).sum()
    }

    pub(super) fn usages(&self, subscription: &str, is_compute: bool, location: &str) -> Vec<Value> {
        let usage = |name: &str, current: u64, limit: u64| {
            let name = json!({"value": name, "localizedValue": name});
            json!({"unit": "Count", "currentValue": current, "limit": limit, "name": name})
        };
        let count = |kind: ArmKind| {
            let is_there = |one: &&ArmResource| {
                one.key.kind == kind && one.key.subscription == subscription && one.location == location
            };
            self.resources.values().filter(is_there).count() as u64
        };
        if !is_compute {
            return vec![
                usage("PublicIPAddresses", count(ArmKind::PublicIp), 1000),
                usage("NetworkInterfaces", count(ArmKind::Nic), 65_536),
            ]
            .into_iter()
            .map(|mut one| {
                let name = one["name"]["value"].as_str().unwrap_or_default();
                let base = format!("/subscriptions/{subscription}/providers/Microsoft.Network");
                one["id"] = json!(format!("{base}/locations/{location}/usages/{name}"));
                one["isAdjustable"] = json!(true);
                one
            })
            .collect();
        }
        let limits = &self.controls.limits;
        let mut all = vec![
            usage("cores", self.vcpus_used(subscription, location, None), limits.quota(None)),
            usage("virtualMachines", count(ArmKind::Vm), 25_000),
        ];
        let mut families: Vec<&str> = SIZES.iter().map(|size| size.family).collect();
        families.dedup();
        all.extend(families.into_iter().map(|family| {
            let used = self.vcpus_used(subscription, location, Some(family));
            usage(family, used, limits.quota(Some(family)))
        }));
        all
    }
}
