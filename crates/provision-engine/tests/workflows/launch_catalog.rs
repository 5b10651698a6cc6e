//! The tables of instance types that are part of the program.

use std::collections::HashSet;
use std::sync::Arc;

use ::cloud::{Architecture, ProviderKind};
use ::launch::model::catalog::{TypeCatalog, TypeEntry, TypeListing};

use Architecture::{Arm64, X86_64};
use ProviderKind::{Aws, Azure, Gcp};

/// The names of all types of a place.
pub(crate) fn names(provider: ProviderKind, region: &str, zone: Option<&str>) -> Option<Vec<&'static str>> {
    let types = TypeCatalog::shipped().types(provider, region, zone)?;
    Some(types.iter().map(|entry| entry.name.as_str()).collect())
}

#[test]
fn every_region_of_the_tables_offers_types_that_make_sense() {
    let counts = [Aws, Azure, Gcp].map(|provider| {
        let regions: Vec<&str> = TypeCatalog::shipped().regions(provider).collect();
        assert!(regions.is_sorted(), "{regions:?}");
        for region in &regions {
            let types = TypeCatalog::shipped().types(provider, region, None).unwrap();
            let names: HashSet<&str> = types.iter().map(|entry| entry.name.as_str()).collect();
            assert_eq!(names.len(), types.len(), "{region} offers a type twice");
            assert!(types.len() > 20 && types.iter().any(|entry| entry.is_supported()), "{region}");
            for entry in types {
                assert!((1..=entry.vcpus).contains(&entry.cores) && entry.memory_mib > 0, "{entry:?}");
                assert_eq!(entry.azure.is_some(), provider == Azure, "{entry:?}");
                assert!(!entry.name.contains('*'), "{entry:?}");
            }
        }
        regions.len()
    });
    assert!(counts[0] >= 30 && counts[1] >= 30 && counts[2] >= 30, "{counts:?}");
    assert_eq!(TypeCatalog::shipped().regions(ProviderKind::Noop).count(), 0);
}

#[test]
fn types_are_as_large_as_their_clouds_say() {
    let shape = |provider, region, name| {
        let entry = TypeCatalog::shipped().find(provider, region, name).unwrap();
        let numbers = [entry.vcpus.into(), entry.cores.into(), entry.memory_mib, entry.storage_gb];
        (numbers, entry.architecture, entry.is_supported())
    };
    assert_eq!(shape(Aws, "us-east-1", "m5d.large"), ([2, 1, 8192, 75], X86_64, true));
    assert_eq!(shape(Aws, "eu-west-1", "t4g.small"), ([2, 2, 2048, 0], Arm64, true));
    assert_eq!(shape(Aws, "us-east-1", "t3.micro"), ([2, 1, 1024, 0], X86_64, false));
    assert_eq!(shape(Aws, "us-east-1", "t1.micro"), ([1, 1, 627, 0], X86_64, false));
    assert_eq!(shape(Azure, "eastus", "Standard_D2s_v5"), ([2, 1, 8192, 0], X86_64, true));
    assert_eq!(shape(Azure, "eastus", "Standard_B1ls"), ([1, 1, 512, 4], X86_64, false));
    assert_eq!(shape(Azure, "westeurope", "Standard_E20ps_v5"), ([20, 20, 163_840, 0], Arm64, true));
    assert_eq!(shape(Gcp, "us-central1", "n1-standard-2"), ([2, 1, 7680, 0], X86_64, true));
    assert_eq!(shape(Gcp, "us-central1", "t2a-standard-4"), ([4, 4, 16_384, 0], Arm64, true));
    assert_eq!(shape(Gcp, "us-central1", "e2-micro"), ([2, 1, 1024, 0], X86_64, false));
}

#[test]
fn arm_machines_of_azure_are_of_the_second_generation_only() {
    let of = |name| TypeCatalog::shipped().find(Azure, "eastus", name).unwrap().azure.unwrap();
    let (arm, intel) = (of("Standard_D4ps_v5"), of("Standard_D4s_v5"));
    assert!(!arm.gen_v1 && arm.gen_v2);
    assert!(intel.gen_v1 && intel.gen_v2);
}

#[test]
fn a_type_is_found_only_where_it_is_offered() {
    let catalog = TypeCatalog::shipped();
    assert!(catalog.find(Aws, "us-east-1", "t2.micro").is_some());
    assert!(catalog.find(Aws, "eu-north-1", "t2.micro").is_none());
    // Only some sizes of a family, and all but some.
    assert!(catalog.find(Aws, "eu-west-1", "m5n.large").is_some());
    assert!(catalog.find(Aws, "eu-west-1", "m5n.metal").is_none());
    assert!(catalog.find(Aws, "us-east-1", "mac1.metal").is_none());
    assert!(catalog.types(Aws, "moon-1", None).is_none());
    assert!(catalog.types(ProviderKind::Noop, "us-east-1", None).is_none());
    let sizes: Vec<&str> =
        names(Aws, "us-east-1", None).unwrap().into_iter().filter(|name| name.starts_with("t3.")).collect();
    let expected = ["nano", "micro", "small", "medium", "large", "xlarge", "2xlarge"];
    assert_eq!(sizes, expected.map(|size| format!("t3.{size}")));
}

#[test]
fn a_zone_is_named_apart_or_with_its_region() {
    assert_eq!(TypeCatalog::shipped().zones(Azure, "eastus"), ["1", "2", "3"]);
    assert_eq!(names(Azure, "eastus", Some("1")), names(Azure, "eastus_1", None));
    assert!(names(Azure, "eastus", Some("1")).is_some());
    assert!(names(Azure, "eastus", Some("4")).is_none());
    assert!(names(Azure, "eastus_4", None).is_none());
    // No zones at all.
    assert!(names(Azure, "westus", Some("1")).is_none() && names(Azure, "westus", None).is_some());

    let zones = ["us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f"];
    assert_eq!(TypeCatalog::shipped().zones(Gcp, "us-central1"), zones);
    assert_eq!(names(Gcp, "us-central1", Some("us-central1-a")), names(Gcp, "us-central1-a", None));
    assert!(names(Gcp, "us-central1-z", None).is_none());
    let offers = |zone, name| names(Gcp, zone, None).unwrap().contains(&name);
    assert!(offers("us-central1-a", "t2a-standard-1") && !offers("us-central1-c", "t2a-standard-1"));
    assert!(offers("us-central1", "t2a-standard-1"));
}

#[test]
fn an_entity_tag_changes_with_anything_that_is_shown() {
    let listing = || TypeListing {
        entries: TypeCatalog::shipped().types(Azure, "eastus", None).unwrap().to_vec(),
        refreshed_at: None,
    };
    let tag = listing().etag();
    assert_eq!(tag, listing().etag());
    assert!(tag.starts_with("\"instance-types-") && tag.ends_with('"') && tag.len() == 33, "{tag}");
    let tag_with = |change: fn(&mut TypeEntry)| {
        let mut changed = listing();
        change(Arc::make_mut(&mut changed.entries[5]));
        changed.etag()
    };
    let tags = HashSet::from([
        tag,
        tag_with(|entry| entry.name.push('x')),
        tag_with(|entry| entry.vcpus += 1),
        tag_with(|entry| entry.cores += 1),
        tag_with(|entry| entry.memory_mib += 1),
        tag_with(|entry| entry.storage_gb += 1),
        tag_with(|entry| entry.architecture = Arm64),
        tag_with(|entry| entry.azure = None),
    ]);
    assert_eq!(tags.len(), 8);
}
