//! The instance types that clouds offer: where, how large, and for which images.
//!
//! A table for each cloud is part of the program, so that a launch can be checked before any cloud is asked. What a
//! cloud has added since is read from the cloud itself, and takes the place of the table for that region.

mod entry;
mod refreshed;
pub mod search;
mod table;

use std::sync::{Arc, LazyLock};

use drivers::cloud::ProviderKind;

pub use entry::{Entry, Generations, Listing};
pub use refreshed::{REFRESH_LIMIT, RefreshError, Refreshed, overlaid, refresh};
pub use search::{Search, SearchError};

use table::{Region, Table};

/// The types of all clouds, by region.
#[derive(Debug)]
pub struct Catalogue {
    aws: Table,
    azure: Table,
    gcp: Table,
}

static SHIPPED: LazyLock<Catalogue> = LazyLock::new(|| {
    let read = |text| Table::parse(text).expect("a test reads the tables that are part of the program");
    Catalogue {
        aws: read(include_str!("aws.txt")),
        azure: read(include_str!("azure.txt")),
        gcp: read(include_str!("gcp.txt")),
    }
});

impl Catalogue {
    /// The tables that are part of the program, read when they are needed first.
    pub fn shipped() -> &'static Catalogue {
        &SHIPPED
    }

    /// In alphabetical order.
    pub fn regions(&self, provider: ProviderKind) -> impl Iterator<Item = &str> {
        let table = self.table(provider);
        table.into_iter().flat_map(Table::regions).map(|region| region.name.as_str())
    }

    /// As the cloud writes them: `1` in Azure, `us-central1-a` in GCP. AWS chooses by itself.
    pub fn zones(&self, provider: ProviderKind, region: &str) -> Vec<&str> {
        self.region(provider, split(provider, region).0).map(Region::zones).unwrap_or_default()
    }

    /// What a region offers in one of its zones, or in any. `None` where the region or the zone is unknown.
    /// Instead of a region and a zone, `eastus_1` and `us-central1-a` are understood.
    pub fn types(&self, provider: ProviderKind, region: &str, zone: Option<&str>) -> Option<&[Arc<Entry>]> {
        let (region, own) = split(provider, region);
        self.region(provider, region)?.types(zone.or(own))
    }

    pub fn find(&self, provider: ProviderKind, region: &str, name: &str) -> Option<&Entry> {
        let types = self.types(provider, region, None)?;
        types.iter().find(|entry| entry.name == name).map(AsRef::as_ref)
    }

    fn region(&self, provider: ProviderKind, name: &str) -> Option<&Region> {
        self.table(provider)?.region(name)
    }

    fn table(&self, provider: ProviderKind) -> Option<&Table> {
        match provider {
            ProviderKind::Noop => None,
            ProviderKind::Aws => Some(&self.aws),
            ProviderKind::Azure => Some(&self.azure),
            ProviderKind::Gcp => Some(&self.gcp),
        }
    }
}

/// A region, and its zone where the text names both.
fn split(provider: ProviderKind, text: &str) -> (&str, Option<&str>) {
    match provider {
        ProviderKind::Azure => {
            text.split_once('_').map_or((text, None), |(region, zone)| (region, Some(zone)))
        }
        // Names of regions end in a number, those of zones in a letter.
        ProviderKind::Gcp => match text.rsplit_once('-') {
            Some((region, zone)) if zone.len() == 1 && zone.as_bytes()[0].is_ascii_lowercase() => {
                (region, Some(text))
            }
            _ => (text, None),
        },
        ProviderKind::Aws | ProviderKind::Noop => (text, None),
    }
}
