//! What kinds of machines a zone has.

use cloud::{Architecture, CloudAccount, CloudError, InstanceType};
use serde::Deserialize;

use crate::Google;
use crate::call::Call;
use crate::paths::Site;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MachineType {
    pub(super) name: String,
    pub(super) guest_cpus: u32,
    /// In MiB.
    memory_mb: u64,
    #[serde(default)]
    is_shared_cpu: bool,
    architecture: Option<String>,
    deprecated: Option<serde_json::Value>,
}

pub(super) async fn machine_types(
    google: &Google,
    place: &CloudAccount<'_>,
) -> Result<Vec<InstanceType>, CloudError> {
    let call = Call::get(Site::of(place)?.zonal("machineTypes"));
    let found: Vec<MachineType> = google.pages(place, call).await?;
    let mut types: Vec<InstanceType> = found.into_iter().filter_map(instance_type).collect();
    types.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(types)
}

/// Nothing for one that is on its way out, or on which no image of ours can start.
fn instance_type(found: MachineType) -> Option<InstanceType> {
    if found.deprecated.is_some() {
        return None;
    }
    let architecture = match found.architecture.as_deref() {
        None => Architecture::X86_64,
        Some(name) => architecture(name)?,
    };
    let has_threads = !found.is_shared_cpu && architecture == Architecture::X86_64;
    Some(InstanceType {
        name: found.name,
        vcpus: found.guest_cpus,
        cores: if has_threads { found.guest_cpus.div_ceil(2) } else { found.guest_cpus },
        memory_mib: found.memory_mb,
        storage_gb: 0,
        architecture,
        generations: Vec::new(),
    })
}

pub(super) fn architecture(name: &str) -> Option<Architecture> {
    match name {
        "X86_64" => Some(Architecture::X86_64),
        "ARM64" => Some(Architecture::Arm64),
        _ => None,
    }
}
