//! What a cloud itself says about its instance types, kept until it is asked again.

use std::sync::Arc;
use std::time::Duration;

use cloud::{Category, CloudAccount, CloudError, InstanceType, Provider, ProviderKind};
use engine::store::{Expect, ResourceRow, StoreError};
use engine::{Engine, Resource, SubmitError, Timestamp};
use serde::{Deserialize, Serialize};

use super::TypeCatalog;
use super::entry::TypeListing;

/// The types of one region, as the cloud listed them. They replace those that are part of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refreshed {
    pub provider: ProviderKind,
    pub region: String,
    pub refreshed_at: Timestamp,
    pub types: Vec<InstanceType>,
}

impl Resource for Refreshed {
    const KIND: &'static str = "instance_types";

    fn labels(&self) -> Vec<(&'static str, String)> {
        vec![("provider", self.provider.to_string()), ("region", self.region.clone())]
    }
}

impl Refreshed {
    pub fn resource(provider: ProviderKind, region: &str) -> String {
        format!("instance-types:{provider}:{region}")
    }
}

/// Every tenant sees the same lists, so they belong to none.
const TENANT: &str = "catalogue";

/// More than any cloud has; the largest has about 1,400.
const TYPES_MAX: usize = 10_000;

/// The longest that is known has 24.
const NAME_BYTES_MAX: usize = 64;

/// A large region has fifteen pages, and each call may take its whole time.
pub const REFRESH_LIMIT: Duration = Duration::from_secs(60);

/// Others may write between a look and a write; then we look again.
const LOOKS_MAX: usize = 5;

/// Why a region's list could not be refreshed. The list that was there still counts.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    #[error("the cloud did not list its instance types: {0}")]
    Cloud(#[from] CloudError),
    #[error("the cloud listed no instance types for {region}: check the name of the region")]
    Empty { region: String },
    #[error("the cloud listed {count} instance types for {region}, more than the {TYPES_MAX} that are kept")]
    TooMany { region: String, count: usize },
    #[error("the record of {region} is written by others all the time: try again")]
    Contended { region: String },
    #[error("the list could not be saved: {0}")]
    Save(#[from] SubmitError),
    #[error("the record could not be read: {0}")]
    Store(#[from] StoreError),
}

/// Asks the cloud for the types of a region and keeps them. Answers how many there are.
pub async fn refresh(
    provider: &dyn Provider,
    cloud_account: &CloudAccount<'_>,
    engine: &Engine,
) -> Result<usize, RefreshError> {
    let region = cloud_account.region.to_owned();
    let listed = tokio::time::timeout(REFRESH_LIMIT, provider.instance_types(cloud_account)).await;
    let mut types = listed.map_err(|_| {
        let message = format!("the list was not whole after {} s; try again", REFRESH_LIMIT.as_secs());
        CloudError::new(Category::Timeout, "", message)
    })??;
    types.retain(|one| is_plain(&one.name));
    if types.is_empty() {
        return Err(RefreshError::Empty { region });
    }
    if types.len() > TYPES_MAX {
        return Err(RefreshError::TooMany { region, count: types.len() });
    }
    types.sort_by(|one, other| key(one).cmp(&key(other)));
    let count = types.len();
    let name = Refreshed::resource(provider.kind(), &region);
    let refreshed =
        Refreshed { provider: provider.kind(), region: region.clone(), refreshed_at: engine.now(), types };
    let record_update = refreshed.record_update().map_err(SubmitError::Invalid)?;
    for _ in 0..LOOKS_MAX {
        let row = engine.resource(&name).await?;
        let expect = row.map_or(Expect::Absent, |row| Expect::Version(row.version));
        if engine.write_resource(&name, TENANT, expect, Some(record_update.clone())).await? {
            return Ok(count);
        }
    }
    Err(RefreshError::Contended { region })
}

/// A name with anything else in it could not be ordered.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_plain)
}

/// Families together, small ones first.
fn key(one: &InstanceType) -> (&str, u32, u64, &str) {
    let family = one.name.split_once('.').map_or("", |(family, _)| family);
    (family, one.vcpus, one.memory_mib, &one.name)
}

/// What a place offers: as the cloud said last, or else as the program knows it. `None` where neither knows the
/// region or the zone. Nothing is kept between two calls.
pub async fn overlaid(
    engine: &Engine,
    provider: ProviderKind,
    region: &str,
    zone: Option<&str>,
) -> Result<Option<TypeListing>, StoreError> {
    let shipped = TypeCatalog::shipped().types(provider, region, zone);
    let (plain, _) = (provider.spec().split_zone)(region);
    let row = engine.resource(&Refreshed::resource(provider, plain)).await?;
    // Zones are known by the tables alone, so any will do where a region is new.
    let is_new = TypeCatalog::shipped().types(provider, plain, None).is_none();
    let refreshed = row.as_ref().and_then(read).filter(|_| shipped.is_some() || is_new);
    if let Some(refreshed) = refreshed {
        let entries = refreshed.types.into_iter().map(|one| Arc::new(one.into())).collect();
        return Ok(Some(TypeListing { entries, refreshed_at: Some(refreshed.refreshed_at) }));
    }
    Ok(shipped.map(|types| TypeListing { entries: types.to_vec(), refreshed_at: None }))
}

/// A record that this release cannot read is as good as none.
fn read(row: &ResourceRow) -> Option<Refreshed> {
    serde_json::from_str(&row.record)
        .inspect_err(
            |error| tracing::warn!(record = row.name, %error, "a list of instance types cannot be read"),
        )
        .ok()
}
