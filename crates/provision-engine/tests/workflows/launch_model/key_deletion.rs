//! Key pairs of a key that was forgotten, on trial and at work.

use std::sync::Arc;

use ::launch::model::params::LaunchOwner;
use ::launch::model::public_keys;
use ::launch::workflows::public_key_deletion::{self, DeletePublicKey};
use async_trait::async_trait;
use engine::{Clock, Engine, Inspection, Phase, Plan, WallClock};
use reqwest::Method;
use serde_json::{Value, json};
use testing::workflow_test::{self, WorkflowTest};

use super::office::{Office, anna, bert, key_line};

/// Launches with a key, so that the account has a key pair.
async fn upload(office: &Office) -> i64 {
    let form = office.form(&anna()).await;
    let accepted = office.launch(&anna(), &form, None).await.unwrap();
    let ended = office.ended(accepted.operation).await;
    assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{:?}", ended.memory.last_error);
    form.parameters.unwrap().pubkey_id.unwrap()
}

async fn delete(office: &Office, who: &LaunchOwner, number: i64) -> (Inspection, Vec<String>) {
    let operation = public_keys::delete(&office.engine, who, number).await.unwrap();
    let ended = office.ended(operation).await;
    let warnings = ended.memory.state.get("warnings").cloned().unwrap_or_else(|| json!([]));
    (ended, serde_json::from_value(warnings).unwrap())
}

struct KeyDeletionTest {
    office: Office,
    number: i64,
}

#[async_trait]
impl WorkflowTest for KeyDeletionTest {
    type Workflow = DeletePublicKey;

    fn plan(&self) -> Plan<DeletePublicKey> {
        public_key_deletion::plan(&self.office.launches)
    }

    fn params(&self) -> Value {
        json!({"requester": anna(), "pubkey_id": self.number, "fingerprint": "of no other key"})
    }

    async fn prepare(&self, _engine: &Engine) {
        upload(&self.office).await;
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(WallClock)
    }

    async fn standing(&self) -> Vec<String> {
        let ledger = self.office.get("/ledger").await;
        let effects = ledger["effects"].as_array().unwrap().iter().filter(|one| one["kind"] == "key_pair");
        effects.map(|effect| effect["token"].to_string()).collect()
    }

    async fn clear(&self) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleting_key_pairs_passes_all_workflow_tests() {
    let office = Office::open().await;
    let number = upload(&office).await;
    workflow_test::check_all(&KeyDeletionTest { office, number }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleting_a_key_deletes_the_key_pairs_that_launches_uploaded() {
    let office = Office::open().await;
    let number = upload(&office).await;
    assert_eq!(upload(&office).await, number);
    assert_eq!(office.standing("key_pair").await, 1);
    let (ended, warnings) = delete(&office, &anna(), number).await;
    assert_eq!((ended.shown.summary.phase, warnings), (Phase::Succeeded, vec![]));
    assert_eq!((office.standing("key_pair").await, office.standing("instance").await), (0, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cloud_that_refuses_for_a_moment_is_asked_again() {
    let office = Office::open().await;
    let number = upload(&office).await;
    let fault = json!({"action": "DeleteKeyPair", "code": "RequestLimitExceeded", "times": 3});
    office.call(Method::POST, "/aws/faults/fail", &fault).await;
    let (ended, warnings) = delete(&office, &anna(), number).await;
    assert_eq!((ended.shown.summary.phase, warnings), (Phase::Succeeded, vec![]));
    assert_eq!(office.standing("key_pair").await, 0);
}

#[tokio::test]
async fn a_request_to_delete_a_key_calls_no_cloud() {
    // Nothing executes operations here, and no cloud can be reached.
    let office = Office::closed();
    let key = office.new_key(&anna(), 1).await;
    let operation = public_keys::delete(&office.engine, &anna(), key.number).await.unwrap();
    let found = office.engine.inspect(operation).await.unwrap().unwrap();
    assert_eq!(found.shown.summary.phase, Phase::Pending);
    assert_eq!(public_keys::get(&office.engine, &anna(), key.number).await.unwrap_err().status, 404);
    // The name is free at once, and the key can come back.
    let back = public_keys::create(&office.engine, &anna(), "key 1", &key_line(1)).await.unwrap();
    assert_eq!(back.number, key.number);
    let busy = public_keys::delete(&office.engine, &anna(), key.number).await.unwrap_err();
    assert_eq!(busy.status, 409, "{busy:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_pair_that_others_use_or_that_cannot_be_reached_stays_with_a_warning() {
    let office = Office::open().await;
    let number = upload(&office).await;
    let theirs = public_keys::create(&office.engine, &bert(), "the same", &key_line(1)).await.unwrap();
    let (_, warnings) = delete(&office, &anna(), number).await;
    assert!(warnings.len() == 1 && warnings[0].contains("may still be needed"), "{warnings:?}");
    assert_eq!(office.standing("key_pair").await, 1);

    delete(&office, &bert(), theirs.number).await;
    let back = public_keys::create(&office.engine, &anna(), "again", &key_line(1)).await.unwrap();
    office
        .call(
            Method::POST,
            "/aws/faults/fail",
            &json!({"action": "DeleteKeyPair", "code": "UnauthorizedOperation"}),
        )
        .await;
    let (_, warnings) = delete(&office, &anna(), back.number).await;
    assert!(warnings.len() == 1 && warnings[0].contains("us-east-1"), "{warnings:?}");
    assert_eq!(office.standing("key_pair").await, 1);
    assert_eq!(public_keys::get(&office.engine, &anna(), back.number).await.unwrap_err().status, 404);
}
