//! The public keys of an organisation.

use std::sync::Arc;
use std::time::Duration;

use ::launch::model::api_error::LaunchApiError;
use ::launch::model::params::LaunchOwner;
use ::launch::model::public_keys::{self, StoredPublicKey};
use engine::store::{MemoryStore, Store};
use engine::{Clock, Engine};
use testing::{Death, DyingStore, TestEngine, VirtualClock};

use super::office::{Office, anna, bert, fields, key_line};

async fn create(
    engine: &Engine,
    who: &LaunchOwner,
    name: &str,
    number: u32,
) -> Result<StoredPublicKey, LaunchApiError> {
    public_keys::create(engine, who, name, &key_line(number)).await
}

/// An engine that has nothing to do but to keep keys.
fn keeper(store: Arc<dyn Store>, clock: &Arc<VirtualClock>) -> Engine {
    TestEngine::plan(store, Arc::clone(clock) as Arc<dyn Clock>).build()
}

#[tokio::test]
async fn a_key_is_kept_listed_and_deleted() {
    let office = Office::closed();
    let body = format!("  {} anna@laptop\n", key_line(1));
    let first = public_keys::create(&office.engine, &anna(), " laptop ", &body).await.unwrap();
    assert_eq!((first.record.name.as_str(), first.record.kind.as_str()), ("laptop", "ssh-ed25519"));
    assert_eq!(first.record.body, format!("{} anna@laptop", key_line(1)));
    let second = create(&office.engine, &anna(), "desktop", 2).await.unwrap();
    assert_eq!(public_keys::get(&office.engine, &anna(), first.number).await.unwrap(), first);
    assert_eq!(public_keys::get(&office.engine, &bert(), first.number).await.unwrap_err().status, 404);
    let page = public_keys::list(&office.engine, &anna(), 1, 1, false).await.unwrap();
    assert_eq!((page.keys, page.total), (vec![second], 2));
    public_keys::delete(&office.engine, &anna(), first.number).await.unwrap();
    assert_eq!(public_keys::get(&office.engine, &anna(), first.number).await.unwrap_err().status, 404);
    let again = public_keys::delete(&office.engine, &anna(), first.number).await;
    assert_eq!(again.unwrap_err().status, 404);
    // The number stays with the key.
    let back = create(&office.engine, &anna(), "laptop", 1).await.unwrap();
    assert_eq!(back.number, first.number);
}

#[tokio::test]
async fn neither_a_key_nor_a_name_is_there_twice_in_one_organisation() {
    let office = Office::closed();
    let first = create(&office.engine, &anna(), "laptop", 1).await.unwrap();
    let same_key = create(&office.engine, &anna(), "other", 1).await.unwrap_err();
    assert_eq!(
        (same_key.status.as_u16(), same_key.code.as_ref(), same_key.field.as_deref()),
        (422, "duplicate_pubkey", Some("body"))
    );
    assert!(same_key.detail.contains(&first.number.to_string()), "{same_key:?}");
    let same_name = create(&office.engine, &anna(), "laptop", 2).await.unwrap_err();
    assert_eq!((same_name.status.as_u16(), same_name.field.as_deref()), (422, Some("name")));
    create(&office.engine, &bert(), "laptop", 1).await.unwrap();
    // A name is free once its key is gone.
    public_keys::delete(&office.engine, &anna(), first.number).await.unwrap();
    create(&office.engine, &anna(), "laptop", 2).await.unwrap();
    assert_eq!(create(&office.engine, &anna(), "laptop", 1).await.unwrap_err().status, 422);
    create(&office.engine, &anna(), "old laptop", 1).await.unwrap();
}

#[tokio::test]
async fn what_is_no_key_is_refused_with_its_field() {
    let office = Office::closed();
    for (name, body, expected) in [
        ("", key_line(1), &["name"][..]),
        ("a\tb", key_line(1), &["name"]),
        (&"ü".repeat(256), key_line(1), &["name"]),
        ("a", "ssh-ed25519 AAAA".to_owned(), &["body"]),
        ("", "-----BEGIN OPENSSH PRIVATE KEY-----".to_owned(), &["name", "body"]),
    ] {
        let api_error = public_keys::create(&office.engine, &anna(), name, &body).await.unwrap_err();
        assert_eq!(
            (api_error.status.as_u16(), fields(&api_error)),
            (400, expected.to_vec()),
            "{api_error:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_one_gets_the_name_and_one_gets_the_key() {
    for round in 0..20_u32 {
        let office = Arc::new(Office::closed());
        let names: Vec<_> = (1..=8)
            .map(|number| {
                let office = Arc::clone(&office);
                tokio::spawn(async move { create(&office.engine, &anna(), "laptop", number).await })
            })
            .collect();
        let keys: Vec<_> = (1..=8)
            .map(|number| {
                let office = Arc::clone(&office);
                let name = format!("key {number}");
                tokio::spawn(async move { create(&office.engine, &bert(), &name, 1).await })
            })
            .collect();
        for (asking, who) in [(names, anna()), (keys, bert())] {
            let mut made = 0;
            for asked in asking {
                match asked.await.unwrap() {
                    Ok(_) => made += 1,
                    Err(api_error) => assert_eq!(api_error.status.as_u16(), 422, "{api_error:?}"),
                }
            }
            let listed = public_keys::list(&office.engine, &who, 10, 0, false).await.unwrap();
            assert_eq!((made, listed.total), (1, 1), "round {round}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_that_was_claimed_by_a_process_that_died_is_free_after_a_moment() {
    let clock = Arc::new(VirtualClock::seeded(1));
    let truth: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let dying = keeper(Arc::new(DyingStore::new(Arc::clone(&truth), Death::Before(1))), &clock);
    assert_eq!(create(&dying, &anna(), "laptop", 1).await.unwrap_err().status, 503);
    let engine = keeper(truth, &clock);
    assert_eq!(create(&engine, &anna(), "laptop", 2).await.unwrap_err().status, 422);
    tokio::time::advance(Duration::from_secs(31)).await;
    create(&engine, &anna(), "laptop", 2).await.unwrap();
    create(&engine, &anna(), "old laptop", 1).await.unwrap();
}
