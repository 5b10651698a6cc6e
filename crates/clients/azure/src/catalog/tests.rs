use super::*;

fn sku(capabilities: &[(&str, &str)], restrictions: &serde_json::Value) -> Sku {
    let capabilities: Vec<_> =
        capabilities.iter().map(|(name, value)| serde_json::json!({"name": name, "value": value})).collect();
    let body = serde_json::json!({
        "resourceType": "virtualMachines",
        "name": "Standard_D2s_v5",
        "tier": "Standard",
        "family": "standardDSv5Family",
        "locations": ["eastus"],
        "capabilities": capabilities,
        "restrictions": restrictions,
    });
    serde_json::from_value(body).unwrap()
}

#[test]
fn capabilities_are_texts() {
    let sku = sku(
        &[
            ("MaxResourceVolumeMB", "76800"),
            ("vCPUs", "2"),
            ("vCPUsPerCore", "2"),
            ("MemoryGB", "0.5"),
            ("CpuArchitectureType", "x64"),
            ("HyperVGenerations", "V1,V2"),
        ],
        &serde_json::json!([]),
    );
    let read = sku.instance_type().unwrap();
    assert_eq!((read.vcpus, read.cores, read.memory_mib, read.storage_gb), (2, 1, 512, 75));
    assert_eq!(read.generations, ["V1", "V2"]);
    assert_eq!(read.architecture, Architecture::X86_64);
    assert_eq!(sku.restriction(), None);
}

#[test]
fn a_core_count_of_zero_stands_for_one_and_unknown_processors_are_left_out() {
    let old = sku(&[("vCPUs", "1"), ("vCPUsPerCore", "0"), ("MemoryGB", "1")], &serde_json::json!([]));
    let read = old.instance_type().unwrap();
    assert_eq!((read.vcpus, read.cores, read.memory_mib, read.generations.len()), (1, 1, 1024, 0));
    let strange = sku(&[("CpuArchitectureType", "riscv"), ("MemoryGB", "1")], &serde_json::json!([]));
    assert_eq!(strange.instance_type(), None);
}

#[test]
fn only_a_restriction_of_the_location_counts() {
    let zone = serde_json::json!([{"type": "Zone", "values": ["eastus"], "reasonCode": "NotAvailableForSubscription"}]);
    assert_eq!(sku(&[], &zone).restriction(), None);
    let location = serde_json::json!([{"type": "Location", "values": ["eastus"], "reasonCode": "QuotaId"}]);
    assert_eq!(sku(&[], &location).restriction(), Some("QuotaId"));
}
