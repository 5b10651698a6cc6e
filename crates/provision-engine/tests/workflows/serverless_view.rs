//! How runtimes are seen: one by one and in lists, and what is left of them when no operation looks after them.

use std::time::Duration;

use ::opennebula::{AttributeName, NebulaTemplate, RUNTIME_DOCUMENT};
use ::serverless::model::orphans::{self, Cleaned, Orphan, OrphanKind};
use ::serverless::model::sweep::Sweep;
use ::serverless::model::view::{self, RuntimeQuery};
use ::serverless::model::{NebulaCredentials, RuntimeState};
use serde_json::{Value, json};
use testing::TestEngine;

use crate::serverless_site::{ServerlessSite, credentials, members, written};

fn function(name: &str) -> Value {
    json!({"NAME": name, "FAAS": {"FLAVOUR": "Function"}})
}

fn admin() -> NebulaCredentials {
    credentials("oneadmin", "opennebula")
}

#[tokio::test]
async fn a_runtime_whose_service_is_gone_is_seen_as_an_error_and_can_be_removed() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, function("n")).await;
    site.faults(&json!({"kind": "service_vanishes"})).await;
    let seen = site.until(id, "ERROR").await;
    let why = seen["FAAS"]["ERROR"].as_str().unwrap();
    assert!(why.contains("does not exist any longer"), "{why}");
    site.delete(&test_engine, id).await.unwrap();
    assert_eq!(site.kinds().await, [""; 0]);
}

#[tokio::test]
async fn a_machine_that_was_terminated_behind_our_back_is_an_error() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, function("n")).await;
    let vm = members(&site.read(id).await.unwrap())["FAAS"]["VM_ID"].as_i64().unwrap();
    let vm = i32::try_from(vm).unwrap();
    let nebula = &site.serverless().nebula;
    nebula.act(&site.who, vm, ::opennebula::VmAction::TerminateHard).await.unwrap();
    site.until(id, "ERROR").await;
    site.delete(&test_engine, id).await.unwrap();
    assert_eq!(site.kinds().await, [""; 0]);
}

#[tokio::test]
async fn looking_at_a_runtime_writes_nothing() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, function("n")).await;
    let fault =
        json!({"system": "oned", "kind": "error", "status": 500, "about": "one.document.update", "times": 0});
    site.world.fault(&fault).await;
    assert_eq!(site.read(id).await.unwrap().name, "n");
}

#[tokio::test]
async fn what_is_no_runtime_is_not_found() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, function("n")).await;
    let service = site.read(id).await.unwrap().service_id().unwrap();
    for id in [service, 999_999] {
        let error_response = site.read(id).await.unwrap_err();
        assert_eq!(
            written(error_response.clone()),
            r#"{"error":"Serverless Runtime not found","message":""}"#
        );
        assert_eq!(error_response.status, 404);
    }
}

#[tokio::test]
async fn an_external_system_that_is_away_has_a_status_of_its_own() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, function("n")).await;
    site.faults(&json!({"kind": "election", "times": 0})).await;
    let error_response = site.read(id).await.unwrap_err();
    assert_eq!(
        (error_response.status, error_response.error.as_str()),
        (503, "Failed to read Serverless Runtime Document")
    );
}

#[tokio::test]
async fn a_list_has_pages_and_filters_and_only_what_is_mine() {
    let mut site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    for number in 0..5 {
        site.running(&test_engine, function(&format!("n{number}"))).await;
    }
    let both = json!({"NAME": "both", "FAAS": {"FLAVOUR": "Function"}, "DAAS": {"FLAVOUR": "Data"}});
    site.running(&test_engine, both).await;
    let names = async |site: &ServerlessSite, query: RuntimeQuery| -> Vec<String> {
        let found = view::list(site.serverless(), &site.who, &query).await.unwrap().runtimes;
        found.into_iter().map(|runtime| runtime.name).collect()
    };
    let page = |offset, limit| RuntimeQuery { offset, limit, ..RuntimeQuery::default() };
    let mut all = names(&site, page(0, 3)).await;
    assert_eq!(all.len(), 3);
    all.extend(names(&site, page(3, 50)).await);
    all.sort();
    assert_eq!(all, ["both", "n0", "n1", "n2", "n3", "n4"]);
    let only = |query: RuntimeQuery| RuntimeQuery { limit: 50, ..query };
    let flavour = only(RuntimeQuery { flavour: Some("Function-Data".into()), ..RuntimeQuery::default() });
    assert_eq!(names(&site, flavour).await, ["both"]);
    let name = only(RuntimeQuery { name: Some("n3".into()), ..RuntimeQuery::default() });
    assert_eq!(names(&site, name).await, ["n3"]);
    let state = |state| only(RuntimeQuery { state: Some(state), ..RuntimeQuery::default() });
    assert_eq!(names(&site, state(RuntimeState::Running)).await.len(), 6);
    assert_eq!(names(&site, state(RuntimeState::Error)).await, [""; 0]);
    let second = RuntimeQuery { offset: 4, limit: 1, ..state(RuntimeState::Running) };
    assert_eq!(names(&site, second).await.len(), 1);
    site.who = credentials("other", "otherpass");
    assert_eq!(names(&site, only(RuntimeQuery::default())).await, [""; 0]);
    site.who = admin();
    assert_eq!(names(&site, only(RuntimeQuery { all: true, ..RuntimeQuery::default() })).await.len(), 6);
}

async fn found(site: &ServerlessSite, test_engine: &TestEngine) -> Vec<Orphan> {
    let (nebula, admin) = (&site.serverless().nebula, admin());
    let sweep = Sweep { engine: &test_engine.engine, nebula, admin: &admin, older_than: Duration::ZERO };
    sweep.look().await.unwrap()
}

/// Cleans until nothing has to be waited for.
async fn cleaned(site: &ServerlessSite, test_engine: &TestEngine) -> Vec<Cleaned> {
    let nebula = &site.serverless().nebula;
    let found = found(site, test_engine).await;
    for _ in 0..500 {
        let cleaned = orphans::clean(nebula, &admin(), &found).await;
        if !cleaned.iter().any(|one| matches!(one, Cleaned::Waits(_))) {
            return cleaned;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never ends");
}

#[tokio::test]
async fn what_belongs_to_someone_is_no_orphan() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    site.running(&test_engine, function("n")).await;
    let nebula = &site.serverless().nebula;
    let now = test_engine.engine.now();
    let found = orphans::find(nebula, &admin(), (Duration::ZERO, now), |_| false).await.unwrap();
    assert_eq!(found, []);
}

#[tokio::test]
async fn a_runtime_whose_service_is_gone_is_found_and_cleaned() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, function("n")).await;
    site.faults(&json!({"kind": "service_vanishes"})).await;
    site.until(id, "ERROR").await;
    let found: Vec<_> =
        found(&site, &test_engine).await.into_iter().map(|orphan| (orphan.kind, orphan.id)).collect();
    assert_eq!(found, [(OrphanKind::Deserted, id)]);
    assert_eq!(cleaned(&site, &test_engine).await, [Cleaned::Gone]);
    assert_eq!(site.read(id).await.unwrap_err().status, 404);
}

/// A document of an operation that does not know its service.
async fn half_made(site: &ServerlessSite, test_engine: &TestEngine) -> i32 {
    let id = site.running(test_engine, function("half made")).await;
    let mut template = NebulaTemplate::new();
    template.set(AttributeName::of("BODY"), r#"{"FAAS":{"FLAVOUR":"Function"}}"#);
    site.serverless().nebula.amend_document(&site.who, id, &template).await.unwrap();
    id
}

/// A document with a label of an operation that is unknown.
async fn unknown(site: &ServerlessSite) -> i32 {
    let mut template = NebulaTemplate::new();
    template.set(AttributeName::of("NAME"), "unknown");
    template.set(AttributeName::of("BODY"), r#"{"FAAS":{"FLAVOUR":"Function"}}"#);
    let token = "0199f0c1d2e37a4b8c5d6e7f80919293-00112233445566ff";
    template.set(AttributeName::of("PROVISION_ENGINE_TOKEN"), token);
    site.serverless().nebula.allocate_document(&site.who, &template, RUNTIME_DOCUMENT).await.unwrap()
}

#[tokio::test]
async fn a_runtime_that_was_made_after_all_is_spared() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let nebula = &site.serverless().nebula;
    let slow = half_made(&site, &test_engine).await;
    let found = found(&site, &test_engine).await;
    assert_eq!(found.len(), 1);
    let mut template = NebulaTemplate::new();
    template.set(AttributeName::of("BODY"), r#"{"FAAS":{"FLAVOUR":"Function"},"SERVICE_ID":7}"#);
    nebula.amend_document(&site.who, slow, &template).await.unwrap();
    let cleaned = orphans::clean(nebula, &admin(), &found).await;
    assert!(matches!(&cleaned[..], [Cleaned::Waits(_)]), "{cleaned:?}");
    assert_eq!(site.kinds().await, ["document", "service", "vm"]);
}

#[tokio::test]
async fn orphans_of_every_kind_are_found_and_removed_and_unknown_ones_are_reported() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let nebula = &site.serverless().nebula;
    // A service without a document.
    let id = site.running(&test_engine, function("forgotten")).await;
    nebula.delete_document(&site.who, id).await.unwrap();
    // A document whose removal did not end.
    let id = site.running(&test_engine, function("half gone")).await;
    let fault = json!({"system": "oneflow", "kind": "error", "status": 401, "about": "service", "times": 0});
    site.world.fault(&fault).await;
    site.delete(&test_engine, id).await.unwrap();
    site.world.no_faults().await;
    half_made(&site, &test_engine).await;
    unknown(&site).await;
    let stays = site.running(&test_engine, function("stays")).await;
    let kinds: Vec<OrphanKind> = found(&site, &test_engine).await.iter().map(|orphan| orphan.kind).collect();
    let expected = [OrphanKind::Document, OrphanKind::Service, OrphanKind::Deleting, OrphanKind::Document];
    assert_eq!(kinds, expected, "the oldest first");
    let now = test_engine.engine.now();
    let find = async |older_than, held: fn(&Orphan) -> bool| {
        orphans::find(nebula, &admin(), (older_than, now), held).await.unwrap()
    };
    let old: Vec<String> =
        find(Duration::from_secs(3600), |_| false).await.into_iter().map(|orphan| orphan.name).collect();
    assert_eq!(old, ["unknown"]);
    assert_eq!(find(Duration::ZERO, |_| true).await, []);
    let cleaned = cleaned(&site, &test_engine).await;
    assert!(
        matches!(&cleaned[..], [Cleaned::Reported(_), Cleaned::Gone, Cleaned::Gone, Cleaned::Gone]),
        "{cleaned:?}"
    );
    assert_eq!(site.kinds().await, ["document", "document", "service", "vm"]);
    assert_eq!(site.read(stays).await.unwrap().name, "stays");
}
