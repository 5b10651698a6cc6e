//! What clouds say about their instance types, instead of the tables.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::cloud::noop::Noop;
use ::cloud::{
    Access, Account, Architecture, Category, CloudAccount, CloudError, CloudIdentity, CloudImage,
    CloudInstance, CloudKey, Created, Fingerprints, InstanceRequest, InstanceType, KeyMaterial, Page,
    Provider, ProviderKind, Templates,
};
use ::launch::model::catalog::{RefreshError, Refreshed, TypeListing, overlaid, refresh};
use async_trait::async_trait;
use engine::store::{Expect, RecordUpdate, ResourceQuery};
use engine::{Engine, Resource as _, WallClock};
use testing::TestEngine;

use super::launch_catalog::names;
use super::launch_rival::Rival;
use Architecture::X86_64;
use ProviderKind::{Aws, Gcp};

/// A cloud that lists what a test wants, and is `Noop` otherwise.
struct Lists {
    kind: ProviderKind,
    types: Mutex<Result<Vec<InstanceType>, CloudError>>,
    lasts: Duration,
}

#[async_trait]
impl Provider for Lists {
    fn kind(&self) -> ProviderKind {
        self.kind
    }

    async fn instance_types(&self, _: &CloudAccount<'_>) -> Result<Vec<InstanceType>, CloudError> {
        tokio::time::sleep(self.lasts).await;
        self.types.lock().unwrap().clone()
    }

    async fn identity(&self, place: &CloudAccount<'_>) -> Result<CloudIdentity, CloudError> {
        Noop.identity(place).await
    }

    async fn regions(&self, place: &CloudAccount<'_>) -> Result<Vec<String>, CloudError> {
        Noop.regions(place).await
    }

    async fn templates(&self, place: &CloudAccount<'_>, page: &Page) -> Result<Templates, CloudError> {
        Noop.templates(place, page).await
    }

    async fn image(&self, place: &CloudAccount<'_>, id: &str) -> Result<Option<CloudImage>, CloudError> {
        Noop.image(place, id).await
    }

    async fn dry_run(&self, place: &CloudAccount<'_>, order: &InstanceRequest) -> Result<(), CloudError> {
        Noop.dry_run(place, order).await
    }

    async fn find_key(
        &self,
        place: &CloudAccount<'_>,
        all: &Fingerprints,
    ) -> Result<Option<CloudKey>, CloudError> {
        Noop.find_key(place, all).await
    }

    async fn upload_key(
        &self,
        place: &CloudAccount<'_>,
        name: &str,
        key: &KeyMaterial,
        launch_tag: &str,
    ) -> Result<CloudKey, CloudError> {
        Noop.upload_key(place, name, key, launch_tag).await
    }

    async fn delete_key(&self, place: &CloudAccount<'_>, key: &CloudKey) -> Result<(), CloudError> {
        Noop.delete_key(place, key).await
    }

    async fn create(
        &self,
        place: &CloudAccount<'_>,
        order: &InstanceRequest,
        token: &str,
    ) -> Result<Created, CloudError> {
        Noop.create(place, order, token).await
    }

    async fn find(
        &self,
        place: &CloudAccount<'_>,
        order: &InstanceRequest,
    ) -> Result<Vec<CloudInstance>, CloudError> {
        Noop.find(place, order).await
    }

    async fn describe(
        &self,
        place: &CloudAccount<'_>,
        ids: &[String],
    ) -> Result<Vec<CloudInstance>, CloudError> {
        Noop.describe(place, ids).await
    }

    async fn delete(&self, place: &CloudAccount<'_>, ids: &[String]) -> Result<(), CloudError> {
        Noop.delete(place, ids).await
    }
}

fn lists(kind: ProviderKind, names: &[&str]) -> Lists {
    let listed = names.iter().map(|name| InstanceType {
        name: (*name).to_owned(),
        vcpus: 2,
        cores: 1,
        memory_mib: 4096,
        storage_gb: 0,
        architecture: X86_64,
        generations: Vec::new(),
    });
    Lists { kind, types: Mutex::new(Ok(listed.collect())), lasts: Duration::ZERO }
}

fn engine() -> Engine {
    engine_beside(Rival::new(0))
}

fn engine_beside(rival: Rival) -> Engine {
    TestEngine::plan(Arc::new(rival), Arc::new(WallClock)).build()
}

async fn refreshed(engine: &Engine, cloud: &Lists, region: &str) -> Result<usize, RefreshError> {
    let access = Access::Name("unknown".to_owned());
    let account = Account { org: "org".to_owned(), source: "1".to_owned(), provider: cloud.kind, access };
    refresh(cloud, &CloudAccount { account: &account, region, session: "test" }, engine).await
}

async fn shown(
    engine: &Engine,
    provider: ProviderKind,
    region: &str,
    zone: Option<&str>,
) -> Option<TypeListing> {
    overlaid(engine, provider, region, zone).await.unwrap()
}

fn names_of(listing: &TypeListing) -> Vec<&str> {
    listing.entries.iter().map(|entry| entry.name.as_str()).collect()
}

#[tokio::test]
async fn what_a_cloud_lists_takes_the_place_of_the_table_for_that_region() {
    let engine = engine();
    let before = shown(&engine, Aws, "us-east-1", None).await.unwrap();
    assert_eq!(Some(names_of(&before)), names(Aws, "us-east-1", None));
    assert_eq!(before.refreshed_at, None);

    let cloud = lists(Aws, &["m99.large", "a9.large", "m5.large"]);
    assert_eq!(refreshed(&engine, &cloud, "us-east-1").await.unwrap(), 3);
    let after = shown(&engine, Aws, "us-east-1", None).await.unwrap();
    assert_eq!(names_of(&after), ["a9.large", "m5.large", "m99.large"]);
    assert!(after.refreshed_at.is_some() && after.find("m99.large").is_some());
    assert!(after.find("t3.micro").is_none());
    assert_ne!(after.etag(), before.etag());
    let other = shown(&engine, Aws, "us-east-2", None).await.unwrap();
    assert_eq!(Some(names_of(&other)), names(Aws, "us-east-2", None));

    *cloud.types.lock().unwrap() = lists(Aws, &["m5.large"]).types.into_inner().unwrap();
    assert_eq!(refreshed(&engine, &cloud, "us-east-1").await.unwrap(), 1);
    assert_eq!(names_of(&shown(&engine, Aws, "us-east-1", None).await.unwrap()), ["m5.large"]);
}

#[tokio::test]
async fn a_list_that_is_empty_too_long_or_missing_changes_nothing() {
    let engine = engine();
    let (nothing, odd) = (lists(Aws, &[]), lists(Aws, &["m5 large", "", "m5\tlarge"]));
    let many: Vec<String> = (0..10_001).map(|number| format!("m{number}.large")).collect();
    let many = lists(Aws, &many.iter().map(String::as_str).collect::<Vec<_>>());
    let down = Lists {
        kind: Aws,
        types: Mutex::new(Err(CloudError::new(Category::Permission, "UnauthorizedOperation", "no"))),
        lasts: Duration::ZERO,
    };
    assert!(matches!(refreshed(&engine, &nothing, "us-east-1").await, Err(RefreshError::Empty { .. })));
    assert!(matches!(refreshed(&engine, &odd, "us-east-1").await, Err(RefreshError::Empty { .. })));
    let error = refreshed(&engine, &many, "us-east-1").await.unwrap_err();
    assert!(matches!(error, RefreshError::TooMany { count: 10_001, .. }), "{error}");
    assert!(matches!(refreshed(&engine, &down, "us-east-1").await, Err(RefreshError::Cloud(_))));
    let query = ResourceQuery { kind: Refreshed::KIND.into(), limit: 10, ..ResourceQuery::default() };
    assert_eq!(engine.resources(&query).await.unwrap().rows, []);
}

#[tokio::test]
async fn a_record_that_others_write_meanwhile_is_written_after_them() {
    let cloud = lists(Aws, &["m5.large", "m99.large"]);
    let engine = engine_beside(Rival::new(4));
    assert_eq!(refreshed(&engine, &cloud, "us-east-1").await.unwrap(), 2);
    let shown = shown(&engine, Aws, "us-east-1", None).await.unwrap();
    assert_eq!(names_of(&shown), ["m5.large", "m99.large"]);

    let engine = engine_beside(Rival::new(u32::MAX));
    let error = refreshed(&engine, &cloud, "us-east-1").await.unwrap_err();
    assert!(matches!(error, RefreshError::Contended { .. }), "{error}");
}

#[tokio::test]
async fn a_zone_of_a_refreshed_region_must_exist_unless_the_region_is_new() {
    let engine = engine();
    let cloud = lists(Gcp, &["e9-standard-2"]);
    refreshed(&engine, &cloud, "us-central1").await.unwrap();
    refreshed(&engine, &cloud, "moon-1").await.unwrap();
    for (region, zone) in
        [("us-central1", None), ("us-central1", Some("us-central1-a")), ("us-central1-a", None)]
    {
        let shown = shown(&engine, Gcp, region, zone).await.unwrap();
        assert_eq!(names_of(&shown), ["e9-standard-2"], "{region} {zone:?}");
    }
    assert!(shown(&engine, Gcp, "us-central1", Some("us-central1-z")).await.is_none());
    assert!(shown(&engine, Gcp, "us-central1-z", None).await.is_none());
    assert!(shown(&engine, Gcp, "moon-1", Some("moon-1-a")).await.is_some());
    assert!(shown(&engine, Gcp, "moon-2", None).await.is_none());
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_as_good_as_none() {
    let engine = engine();
    let name = Refreshed::resource(Aws, "us-east-1");
    assert_eq!(name, "instance-types:aws:us-east-1");
    let record_update = RecordUpdate {
        kind: Refreshed::KIND.to_owned(),
        record: r#"{"from":"the future"}"#.to_owned(),
        labels: Vec::new(),
        gone_at: None,
        due_at: None,
    };
    assert!(engine.write_resource(&name, "catalogue", Expect::Absent, Some(record_update)).await.unwrap());
    let shown = shown(&engine, Aws, "us-east-1", None).await.unwrap();
    assert_eq!(Some(names_of(&shown)), names(Aws, "us-east-1", None));
}

#[tokio::test(start_paused = true)]
async fn a_cloud_has_a_minute_to_list_its_types() {
    let engine = engine();
    let slow = Lists { lasts: Duration::from_secs(59), ..lists(Aws, &["m5.large"]) };
    assert_eq!(refreshed(&engine, &slow, "us-east-1").await.unwrap(), 1);
    let silent = Lists { lasts: Duration::from_secs(61), ..slow };
    let error = refreshed(&engine, &silent, "us-east-1").await.unwrap_err();
    let RefreshError::Cloud(error) = error else { panic!("{error}") };
    assert!(error.is(Category::Timeout), "{error}");
}
