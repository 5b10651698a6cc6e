//! What OneFlow does late: limits count from what they limit, and what was made twice is found and ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ::opennebula::{OpenNebula, OpenNebulaOptions};
use ::serverless::model::orphans::Cleaned;
use ::serverless::model::sweep::Sweep;
use ::serverless::model::{Serverless, ServerlessSettings};
use serde_json::{Value, json};
use testing::TestEngine;

use crate::serverless_site::{ServerlessSite, credentials, quick, succeeded};

fn function() -> Value {
    json!({"FAAS": {"FLAVOUR": "Function"}})
}

fn id(made: &Value) -> i32 {
    i32::try_from(made["ID"].as_i64().unwrap()).unwrap()
}

#[tokio::test]
async fn the_time_before_a_service_was_made_is_not_taken_from_its_machines() {
    let (timeout, settle) = (Duration::from_millis(800), Duration::from_secs(1));
    let site = ServerlessSite::with(ServerlessSettings { timeout, settle, ..quick() }).await;
    let test_engine = site.test_engine().await;
    let fault = json!({"system": "oneflow", "kind": "drop_before", "about": "instantiate", "times": 1});
    site.world.fault(&fault).await;
    site.world.post("/opennebula/pace", &json!({"delayed_nodes_ms": 200})).await;
    site.faults(&json!({"kind": "delayed_nodes"})).await;
    succeeded(&site.create(&test_engine, function()).await.unwrap());
    assert_eq!(site.world.made("service").await, 1);
}

/// How long a call of the engine may take, and how much longer the first one stalls.
const CALL: Duration = Duration::from_secs(1);
const STALLS_MS: u64 = 3000;
const LOOK_AGAIN: Duration = Duration::from_millis(20);
const LOOKS_MAX: usize = 1500;

/// A site where OneFlow carries out the first call for a service long after the engine has made the second one.
async fn stalling() -> ServerlessSite {
    let mut site = ServerlessSite::start().await;
    let OpenNebulaOptions { oned, oneflow, .. } = OpenNebulaOptions::beside(&site.world.url());
    let options = OpenNebulaOptions { timeout: CALL, ..OpenNebulaOptions::new(oned, oneflow) };
    let nebula = OpenNebula::new(&options).unwrap();
    site.drivers.serverless = Arc::new(Serverless { nebula, settings: quick() });
    let stall = json!({"system": "oneflow", "kind": "latency", "latency_ms": STALLS_MS, "about": "instantiate",
        "times": 1});
    site.world.fault(&stall).await;
    site
}

async fn until_kinds(site: &ServerlessSite, kinds: &[&str]) {
    for _ in 0..LOOKS_MAX {
        if site.kinds().await == kinds {
            return;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    panic!("{:?} is never {kinds:?}", site.kinds().await);
}

#[tokio::test]
async fn a_twin_that_comes_while_the_runtime_is_made_is_ended() {
    let site = stalling().await;
    let test_engine = site.test_engine().await;
    // The service of the second call gets its machine after the first call has been carried out.
    site.world.post("/opennebula/pace", &json!({"delayed_nodes_ms": STALLS_MS})).await;
    site.faults(&json!({"kind": "delayed_nodes"})).await;
    let made = succeeded(&site.create(&test_engine, function()).await.unwrap());
    assert_eq!(site.world.made("service").await, 2, "{made}");
    assert_eq!(site.kinds().await, ["document", "service", "vm"]);
    site.until(id(&made), "RUNNING").await;
}

/// A runtime whose twin came after it was made, and a service of another user that has the same name.
async fn with_twin(site: &ServerlessSite, test_engine: &TestEngine) -> i32 {
    let made = succeeded(&site.create(test_engine, function()).await.unwrap());
    until_kinds(site, &["document", "service", "service", "vm", "vm"]).await;
    let nebula = &site.serverless().nebula;
    let own = i32::try_from(made["SERVICE_ID"].as_i64().unwrap()).unwrap();
    let name = nebula.service(&site.who, own).await.unwrap().name;
    let other = credentials("other", "otherpass");
    let templates = nebula.service_templates(&other).await.unwrap();
    let template = templates.iter().find(|template| template.name == "Function").unwrap();
    nebula.instantiate(&other, template, &name, &BTreeMap::new()).await.unwrap();
    until_kinds(site, &["document", "service", "service", "service", "vm", "vm", "vm"]).await;
    id(&made)
}

#[tokio::test]
async fn a_delete_ends_all_that_carry_the_name_and_nothing_of_another_user() {
    let mut site = stalling().await;
    let test_engine = site.test_engine().await;
    let id = with_twin(&site, &test_engine).await;
    // Also with the rights of an admin.
    site.who = credentials("oneadmin", "opennebula");
    site.delete(&test_engine, id).await.unwrap();
    assert_eq!(site.kinds().await, ["service", "vm"], "what is left is the other user's");
}

#[tokio::test]
async fn a_twin_that_comes_later_is_an_orphan_and_is_cleaned() {
    let site = stalling().await;
    let test_engine = site.test_engine().await;
    let id = with_twin(&site, &test_engine).await;
    let admin = credentials("oneadmin", "opennebula");
    let nebula = &site.serverless().nebula;
    let sweep = Sweep { engine: &test_engine.engine, nebula, admin: &admin, older_than: Duration::ZERO };
    let mut cleaned = Vec::new();
    for _ in 0..LOOKS_MAX {
        cleaned = sweep.clean().await.unwrap().into_iter().map(|(_, one)| one).collect::<Vec<Cleaned>>();
        if matches!(&cleaned[..], [Cleaned::Reported(_)]) {
            break;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    assert!(matches!(&cleaned[..], [Cleaned::Reported(_)]), "the other user's is left: {cleaned:?}");
    until_kinds(&site, &["document", "service", "service", "vm", "vm"]).await;
    site.until(id, "RUNNING").await;
}
