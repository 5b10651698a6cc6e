//! The zones and machine types that there are.

use serde_json::{Value, json};

/// In answers links always begin like this, whatever host was asked.
pub(super) const LINK: &str = "https://www.googleapis.com/compute/v1";

const ZONES: &[&str] = &[
    "europe-west1-b",
    "europe-west1-c",
    "europe-west1-d",
    "europe-west4-a",
    "europe-west4-b",
    "us-central1-a",
    "us-central1-b",
    "us-central1-c",
    "us-central1-f",
    "us-east1-b",
    "us-east1-c",
    "us-east1-d",
];

#[derive(Debug)]
pub(super) struct GceMachineType {
    pub(super) name: &'static str,
    pub(super) cpus: u32,
    memory_mb: u32,
    is_shared: bool,
    is_arm: bool,
    is_deprecated: bool,
}

const fn machine_type(name: &'static str, cpus: u32, memory_mb: u32) -> GceMachineType {
    GceMachineType { name, cpus, memory_mb, is_shared: false, is_arm: false, is_deprecated: false }
}

const MACHINE_TYPES: &[GceMachineType] = &[
    GceMachineType { is_shared: true, ..machine_type("e2-micro", 2, 1024) },
    GceMachineType { is_shared: true, ..machine_type("e2-small", 2, 2048) },
    GceMachineType { is_shared: true, ..machine_type("e2-medium", 2, 4096) },
    machine_type("e2-standard-2", 2, 8192),
    machine_type("e2-standard-4", 4, 16384),
    GceMachineType { is_deprecated: true, is_shared: true, ..machine_type("f1-micro", 1, 614) },
    machine_type("n1-standard-1", 1, 3840),
    machine_type("n2-standard-2", 2, 8192),
    machine_type("n2-standard-4", 4, 16384),
    GceMachineType { is_arm: true, ..machine_type("t2a-standard-1", 1, 4096) },
];

impl GceMachineType {
    /// The quota that its CPUs count against.
    pub(super) fn metric(&self) -> &'static str {
        match self.name.split('-').next() {
            Some("n2") => "N2_CPUS",
            Some("t2a") => "T2A_CPUS",
            _ => "CPUS",
        }
    }

    pub(super) fn show(&self, project: &str, zone: &str, number: usize) -> Value {
        let mut shown = json!({
            "kind": "compute#machineType",
            "id": (3000 + number).to_string(),
            "creationTimestamp": "1969-12-31T16:00:00.000-08:00",
            "name": self.name,
            "description": format!("{} vCPUs, {} MB RAM", self.cpus, self.memory_mb),
            "guestCpus": self.cpus,
            "memoryMb": self.memory_mb,
            "imageSpaceGb": 0,
            "maximumPersistentDisks": 128,
            "maximumPersistentDisksSizeGb": "263168",
            "zone": zone,
            "selfLink": format!("{LINK}/projects/{project}/zones/{zone}/machineTypes/{}", self.name),
            "isSharedCpu": self.is_shared,
        });
        // Older types do not say it.
        if self.name != "n1-standard-1" {
            shown["architecture"] = (if self.is_arm { "ARM64" } else { "X86_64" }).into();
        }
        if self.is_deprecated {
            shown["deprecated"] = json!({"state": "DEPRECATED"});
        }
        shown
    }
}

pub(super) fn find(name: &str) -> Option<&'static GceMachineType> {
    MACHINE_TYPES.iter().find(|one| one.name == name)
}

pub(super) fn machine_types(project: &str, zone: &str) -> Vec<Value> {
    MACHINE_TYPES.iter().enumerate().map(|(number, one)| one.show(project, zone, number)).collect()
}

pub(super) fn is_zone(name: &str) -> bool {
    ZONES.contains(&name)
}

pub(super) fn region_of(zone: &str) -> &str {
    zone.rsplit_once('-').map_or(zone, |(region, _)| region)
}

pub(super) fn is_region(name: &str) -> bool {
    ZONES.iter().any(|zone| region_of(zone) == name)
}

pub(super) fn regions() -> Vec<&'static str> {
    let mut regions: Vec<&str> = ZONES.iter().map(|zone| region_of(zone)).collect();
    regions.dedup();
    regions
}

pub(super) fn zones(project: &str) -> Vec<Value> {
    ZONES.iter().map(|zone| show_zone(project, zone)).collect()
}

pub(super) fn show_zone(project: &str, zone: &str) -> Value {
    let number = ZONES.iter().position(|one| *one == zone).unwrap_or_default();
    json!({
        "kind": "compute#zone",
        "id": (2000 + number).to_string(),
        "creationTimestamp": "1969-12-31T16:00:00.000-08:00",
        "name": zone,
        "description": zone,
        "status": "UP",
        "region": format!("{LINK}/projects/{project}/regions/{}", region_of(zone)),
        "selfLink": format!("{LINK}/projects/{project}/zones/{zone}"),
        "supportsPzs": true,
    })
}

pub(super) fn show_region(project: &str, region: &str, quotas: &Value) -> Value {
    let zones = ZONES.iter().filter(|zone| region_of(zone) == region);
    let zones: Vec<String> = zones.map(|zone| format!("{LINK}/projects/{project}/zones/{zone}")).collect();
    json!({
        "kind": "compute#region",
        "id": "1210",
        "creationTimestamp": "1969-12-31T16:00:00.000-08:00",
        "name": region,
        "description": region,
        "status": "UP",
        "zones": zones,
        "quotas": quotas,
        "selfLink": format!("{LINK}/projects/{project}/regions/{region}"),
    })
}
