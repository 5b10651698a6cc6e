//! Sources that are kept here, and sources that a service outside knows.

use std::sync::Arc;
use std::time::Duration;

use ::launch::model::Launches;
use ::launch::model::cloud::{Access, ProviderKind};
use ::launch::model::sources::{self, NewSource, SourceDirectory, SourceError};
use ::sources::SourcesApi;
use engine::secret::{ExposeSecret, KeyRing, SharedRing};
use engine::store::ResourceQuery;

use super::office::{Office, anna, bert, code, fields};

const ARN: &str = "arn:aws:iam::210987654321:role/launcher";

fn role(name: &str) -> NewSource {
    let access = Access::Role { arn: ARN.into(), external_id: Some("hunter2".into()) };
    NewSource { name: name.into(), provider: ProviderKind::Aws, access }
}

#[tokio::test]
async fn a_source_is_kept_listed_used_and_deleted() {
    let office = Office::closed();
    let (launches, engine) = (&office.launches, &office.engine);
    let made = sources::create(launches, engine, &anna(), &role("ours")).await.unwrap();
    assert_eq!(
        (made.name.as_str(), made.provider, made.status.as_deref()),
        ("ours", ProviderKind::Aws, None)
    );
    let keys = Access::Keys { id: "AKIA123456789012".into(), secret: "a-secret-of-16-chars".into() };
    let keys = NewSource { access: keys, ..role("keys") };
    let second = sources::create(launches, engine, &anna(), &keys).await.unwrap();
    let listed = sources::list(launches, &anna(), Some(ProviderKind::Aws)).await.unwrap();
    let names: Vec<&str> = listed.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(names, ["sandbox", "ours", "keys"]);
    let others = sources::list(launches, &anna(), Some(ProviderKind::Gcp)).await.unwrap();
    assert_eq!(others.iter().map(|source| source.name.as_str()).collect::<Vec<_>>(), ["sandbox-gcp"]);
    assert_eq!(sources::list(launches, &bert(), None).await.unwrap().len(), 3);
    assert_eq!(sources::get(launches, &anna(), &made.id).await.unwrap(), made);

    let account = launches.accounts.get(&anna(), &made.id).await.unwrap().unwrap();
    let Access::Role { arn, external_id: Some(external_id) } = account.access else { panic!("{account:?}") };
    assert_eq!((arn.as_str(), external_id.expose_secret()), (ARN, "hunter2"));
    let account = launches.accounts.get(&anna(), &second.id).await.unwrap().unwrap();
    let Access::Keys { secret, .. } = account.access else { panic!("{account:?}") };
    assert_eq!(secret.expose_secret(), "a-secret-of-16-chars");
    assert!(launches.accounts.get(&bert(), &made.id).await.unwrap().is_none());
    assert!(launches.accounts.get(&anna(), "4711").await.unwrap().is_none());

    assert_eq!(sources::delete(launches, engine, &bert(), &made.id).await.unwrap_err().status, 404);
    sources::delete(launches, engine, &anna(), &made.id).await.unwrap();
    assert!(launches.accounts.get(&anna(), &made.id).await.unwrap().is_none());
    assert_eq!(sources::delete(launches, engine, &anna(), &made.id).await.unwrap_err().status, 404);
    assert_eq!(sources::delete(launches, engine, &anna(), "sandbox").await.unwrap_err().status, 409);
}

#[tokio::test]
async fn the_secrets_of_sources_are_sealed_for_their_row() {
    let office = Office::closed();
    let made = sources::create(&office.launches, &office.engine, &anna(), &role("ours")).await.unwrap();
    let query = ResourceQuery { kind: "source".into(), limit: 10, ..ResourceQuery::default() };
    let rows = office.engine.resources(&query).await.unwrap().rows;
    assert!(rows[0].record.contains("sealed:1:") && !rows[0].record.contains("hunter2"), "{rows:?}");

    // Another ring does not open it, and none cannot seal anything.
    let other = SharedRing::new(KeyRing::generate());
    let directory = SourceDirectory::built_in(Arc::clone(&office.store)).sealed_by(other);
    assert!(matches!(directory.get(&anna(), &made.id).await, Err(SourceError::Locked { .. })));
    let bare = SourceDirectory::built_in(Arc::clone(&office.store));
    assert!(matches!(bare.get(&anna(), &made.id).await, Err(SourceError::Locked { .. })));
    let launches = Launches { accounts: bare, ..(*office.launches).clone() };
    let api_error = sources::create(&launches, &office.engine, &anna(), &role("more")).await.unwrap_err();
    assert_eq!((api_error.status.as_u16(), code(&api_error).as_str()), (503, "no_key_ring"));
}

#[tokio::test]
async fn a_source_that_is_none_is_refused_with_every_field() {
    let office = Office::closed();
    let access = Access::Role { arn: "arn:aws:iam::1:role/x".into(), external_id: None };
    let wrong = NewSource { name: String::new(), provider: ProviderKind::Aws, access };
    let api_error = sources::create(&office.launches, &office.engine, &anna(), &wrong).await.unwrap_err();
    assert_eq!((api_error.status.as_u16(), fields(&api_error)), (400, vec!["name", "arn"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sources_of_a_service_outside_are_asked_there_and_not_made_here() {
    let office = Office::open().await;
    let url = format!("{}/api/sources/v3.1", office.url());
    let directory = SourceDirectory::outside(SourcesApi::new(&url, Duration::from_secs(5)).unwrap());
    let launches = Launches { accounts: directory, ..(*office.launches).clone() };
    let listed = sources::list(&launches, &anna(), Some(ProviderKind::Aws)).await.unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    let account = launches.accounts.get(&anna(), &listed[0].id).await.unwrap().unwrap();
    assert!(matches!(account.access, Access::Role { arn, .. } if arn.contains("123456789012")));
    assert!(launches.accounts.get(&anna(), "4711").await.unwrap().is_none());
    let refused = sources::create(&launches, &office.engine, &anna(), &role("ours")).await.unwrap_err();
    assert_eq!((refused.status.as_u16(), code(&refused).as_str()), (501, "sources_elsewhere"));
    assert_eq!(sources::delete(&launches, &office.engine, &anna(), "1").await.unwrap_err().status, 501);
}
