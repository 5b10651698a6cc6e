//! The instance types that clouds offer: where, how large, and for which images.
//!
//! A table for each cloud is part of the program, so that a launch can be checked before any cloud is asked. What a
//! cloud has added since is read from the cloud itself, and takes the place of the table for that region.

mod entry;
mod refreshed;
pub mod search;
mod table;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use cloud::ProviderKind;

pub use entry::{Generations, TypeEntry, TypeListing};
pub use refreshed::{REFRESH_LIMIT, RefreshError, Refreshed, overlaid, refresh};
pub use search::{Search, SearchError};

use table::{CloudTypes, Region};

/// The types of all clouds, by region.
#[derive(Debug)]
pub struct TypeCatalog {
    tables: BTreeMap<ProviderKind, CloudTypes>,
}

static SHIPPED: LazyLock<TypeCatalog> = LazyLock::new(|| {
    let read = |text| CloudTypes::parse(text).expect("a test reads the tables that are part of the program");
    let table = |kind: ProviderKind| Some((kind, read(kind.spec().instance_types?)));
    TypeCatalog { tables: ProviderKind::ALL.into_iter().filter_map(table).collect() }
});

impl TypeCatalog {
    /// The tables that are part of the program, read when they are needed first.
    pub fn shipped() -> &'static TypeCatalog {
        &SHIPPED
    }

    /// In alphabetical order.
    pub fn regions(&self, provider: ProviderKind) -> impl Iterator<Item = &str> {
        let table = self.tables.get(&provider);
        table.into_iter().flat_map(CloudTypes::regions).map(|region| region.name.as_str())
    }

    /// What a launch can name as its region: the zones of clouds that write them as places of their own.
    pub fn regions_or_zones(&self, provider: ProviderKind) -> Vec<&str> {
        let is_zone = |zone: &&str| (provider.spec().split_zone)(zone).1 == Some(*zone);
        let mut regions_or_zones: Vec<&str> = Vec::new();
        for region in self.regions(provider) {
            let zones: Vec<&str> = self.zones(provider, region).into_iter().filter(is_zone).collect();
            regions_or_zones.extend(if zones.is_empty() { vec![region] } else { zones });
        }
        regions_or_zones
    }

    /// As the cloud writes them: `1` in Azure, `us-central1-a` in GCP. AWS chooses by itself.
    pub fn zones(&self, provider: ProviderKind, region: &str) -> Vec<&str> {
        self.region(provider, (provider.spec().split_zone)(region).0).map(Region::zones).unwrap_or_default()
    }

    /// What a region offers in one of its zones, or in any. `None` where the region or the zone is unknown.
    /// Instead of a region and a zone, `eastus_1` and `us-central1-a` are understood.
    pub fn types(
        &self,
        provider: ProviderKind,
        region: &str,
        zone: Option<&str>,
    ) -> Option<&[Arc<TypeEntry>]> {
        let (region, own) = (provider.spec().split_zone)(region);
        self.region(provider, region)?.types(zone.or(own))
    }

    pub fn find(&self, provider: ProviderKind, region: &str, name: &str) -> Option<&TypeEntry> {
        let types = self.types(provider, region, None)?;
        types.iter().find(|entry| entry.name == name).map(AsRef::as_ref)
    }

    fn region(&self, provider: ProviderKind, name: &str) -> Option<&Region> {
        self.tables.get(&provider)?.region(name)
    }
}
