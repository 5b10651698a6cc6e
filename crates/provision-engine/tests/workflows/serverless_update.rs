//! How runtimes are changed, and changed back.

use std::time::Duration;

use ::opennebula::VmAction;
use ::serverless::model::{CallerCredentials, ServerlessSettings};
use ::serverless::workflows::update;
use engine::Phase;
use serde_json::{Value, json};

use crate::serverless_site::{
    ServerlessSite, credentials, finished, members, quick, refused, succeeded, written,
};

fn sized(cpu: u32, memory: u32, disk: u32) -> Value {
    json!({"FLAVOUR": "Function", "CPU": cpu, "MEMORY": memory, "DISK_SIZE": disk})
}

fn asked() -> Value {
    json!({"NAME": "before", "FAAS": sized(1, 128, 1024)})
}

/// What a function has now.
async fn size(site: &ServerlessSite, id: i32, role: &str) -> (Value, Value, Value) {
    let seen = site.until(id, "RUNNING").await;
    let function = &seen[role];
    (function["CPU"].clone(), function["MEMORY"].clone(), function["DISK_SIZE"].clone())
}

#[tokio::test]
async fn a_runtime_gets_all_that_was_asked_for_and_says_so() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, asked()).await;
    let wanted = json!({"NAME": "after", "FAAS": sized(2, 192, 1152), "SCHEDULING": {"POLICY": "latency"},
        "DEVICE_INFO": {"GEOGRAPHIC_LOCATION": "Rome", "LATENCY_TO_PE": 0.5}});
    let changed = succeeded(&site.update(&test_engine, id, wanted).await.unwrap());
    assert_eq!((&changed["NAME"], &changed["FAAS"]["STATE"]), (&json!("after"), &json!("RUNNING")));
    assert_eq!(size(&site, id, "FAAS").await, (json!(2), json!(192), json!(1152)));
    let seen = members(&site.read(id).await.unwrap());
    assert_eq!(seen, changed);
    assert_eq!(seen["SCHEDULING"], json!({"POLICY": "latency"}));
    let vm = i32::try_from(seen["FAAS"]["VM_ID"].as_i64().unwrap()).unwrap();
    let machine = site.serverless().nebula.machine(&site.who, vm).await.unwrap();
    assert_eq!(machine.user_template.get("SCHED_RANK"), Some("LATENCY"));
    let info = machine.user_template.vectors("DEVICE_INFO").next().unwrap();
    assert_eq!((info.get("GEOGRAPHIC_LOCATION"), info.get("LATENCY_TO_PE")), (Some("Rome"), Some("0.5")));
}

#[tokio::test]
async fn neither_flavours_nor_a_name_that_stays_have_to_be_new() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let both = json!({"NAME": "a:b", "FAAS": {"FLAVOUR": "Function"}, "DAAS": {"FLAVOUR": "Data"}});
    let id = site.running(&test_engine, both).await;
    let wanted = json!({"NAME": "a:b", "FAAS": {"FLAVOUR": ""}, "DAAS": {"FLAVOUR": "", "MEMORY": 256}});
    let changed = succeeded(&site.update(&test_engine, id, wanted).await.unwrap());
    assert_eq!((&changed["DAAS"]["MEMORY"], &changed["DAAS"]["FLAVOUR"]), (&json!(256), &json!("Data")));
}

#[tokio::test]
async fn what_is_left_out_stays_and_what_is_equal_costs_nothing() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, asked()).await;
    let only_memory = json!({"FAAS": {"FLAVOUR": "", "MEMORY": 200}, "SCHEDULING": {"POLICY": "energy"}});
    succeeded(&site.update(&test_engine, id, only_memory).await.unwrap());
    assert_eq!(size(&site, id, "FAAS").await, (json!(1), json!(200), json!(1024)));
    // Nothing changes, so whatever would be called breaks.
    for about in
        ["one.vm.resize", "one.vm.diskresize", "one.vm.update", "one.vm.action", "one.document.update"]
    {
        let fault = json!({"system": "oned", "kind": "error", "status": 500, "about": about, "times": 0});
        site.world.fault(&fault).await;
    }
    let same = json!({"NAME": "before", "FAAS": sized(1, 200, 1024), "SCHEDULING": {"POLICY": "energy"}});
    let seen = succeeded(&site.update(&test_engine, id, same).await.unwrap());
    assert_eq!(seen["SCHEDULING"], json!({"POLICY": "energy"}));
}

#[tokio::test]
async fn a_machine_that_is_not_scheduled_again_is_a_warning() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, asked()).await;
    let wanted = json!({"FAAS": {"FLAVOUR": ""}, "SCHEDULING": {"REQUIREMENTS": "A=1"}});
    let ended = site.update(&test_engine, id, wanted.clone()).await.unwrap();
    succeeded(&ended);
    let warnings = ended.memory.state["warnings"].to_string();
    assert!(warnings.contains("FAAS was not scheduled again") && warnings.contains("ADMIN"), "{warnings}");
    let again = site.update(&test_engine, id, wanted).await.unwrap();
    assert_eq!(again.memory.state["warnings"], Value::Null, "nothing changed, so nothing is scheduled");
}

#[tokio::test]
async fn a_machine_that_does_not_run_is_not_touched() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    site.world.post("/opennebula/pace", &json!({"boot_ms": 500})).await;
    let made = succeeded(&site.create(&test_engine, asked()).await.unwrap());
    let id = i32::try_from(made["ID"].as_i64().unwrap()).unwrap();
    let wanted = json!({"NAME": "after", "FAAS": sized(2, 192, 1152)});
    let error_response = site.update(&test_engine, id, wanted).await.unwrap_err();
    let body = r#"{"error":"Cannot update Serverless Runtime Function VM FAAS on a transient state","message":"PENDING"}"#;
    assert_eq!((error_response.status, written(error_response).as_str()), (423, body));
    assert_eq!(site.read(id).await.unwrap().name, "before");
}

#[tokio::test]
async fn a_machine_failing_is_recovered_by_who_may_and_the_update_is_refused() {
    let mut site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    site.faults(&json!({"kind": "boot_fails"})).await;
    let made = succeeded(&site.create(&test_engine, asked()).await.unwrap());
    let id = i32::try_from(made["ID"].as_i64().unwrap()).unwrap();
    let seen = site.until(id, "ERROR").await;
    let why = seen["FAAS"]["ERROR"].as_str().unwrap().to_owned();
    assert_ne!(why, "");
    let wanted = json!({"NAME": "after", "FAAS": sized(2, 192, 1152)});
    let error_response = refused(&site.update(&test_engine, id, wanted.clone()).await.unwrap());
    let error =
        "Cannot update Serverless Runtime Function VM FAAS on an error state. A recovery was attempted";
    assert_eq!((error_response.status, error_response.error.as_str()), (500, error));
    let message = error_response.message.as_str().unwrap();
    assert!(message.contains(&why) && message.contains("the recovery was not possible"), "{message}");
    site.who = credentials("oneadmin", "opennebula");
    let error_response = refused(&site.update(&test_engine, id, wanted).await.unwrap());
    assert!(
        error_response.message.as_str().unwrap().contains("OpenNebula tries again"),
        "{error_response:?}"
    );
    assert_eq!(site.read(id).await.unwrap().name, "before");
    site.until(id, "RUNNING").await;
}

#[tokio::test]
async fn a_recovery_whose_answer_is_lost_is_asked_for_once() {
    let mut site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    site.faults(&json!({"kind": "boot_fails"})).await;
    let made = succeeded(&site.create(&test_engine, asked()).await.unwrap());
    let id = i32::try_from(made["ID"].as_i64().unwrap()).unwrap();
    site.until(id, "ERROR").await;
    site.who = credentials("oneadmin", "opennebula");
    let fault = json!({"system": "oned", "kind": "drop_after", "about": "one.vm.recover", "times": 1});
    site.world.fault(&fault).await;
    // A second call would be refused with this.
    let again = json!({"system": "oned", "kind": "error", "status": 500, "about": "one.vm.recover",
        "after": 1, "times": 0});
    site.world.fault(&again).await;
    let error_response =
        refused(&site.update(&test_engine, id, json!({"FAAS": sized(2, 192, 1152)})).await.unwrap());
    let message = error_response.message.as_str().unwrap();
    assert!(message.contains("its answer was lost") && !message.contains("500"), "{message}");
    site.until(id, "RUNNING").await;
}

#[tokio::test]
async fn a_terminated_machine_is_not_recovered_and_the_caller_is_told_what_to_do() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, asked()).await;
    let seen = members(&site.read(id).await.unwrap());
    let machine = i32::try_from(seen["FAAS"]["VM_ID"].as_i64().unwrap()).unwrap();
    site.serverless().nebula.act(&site.who, machine, VmAction::TerminateHard).await.unwrap();
    site.until(id, "ERROR").await;
    let error_response =
        site.update(&test_engine, id, json!({"FAAS": sized(2, 192, 1152)})).await.unwrap_err();
    let error = "Cannot update Serverless Runtime Function VM FAAS on an error state";
    assert_eq!((error_response.status, error_response.error.as_str()), (500, error));
    let message = error_response.message.as_str().unwrap();
    assert!(message.contains("delete the runtime and create a new one"), "{message}");
}

#[tokio::test]
async fn what_cannot_be_is_refused_before_anything_is_changed() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, asked()).await;
    let cases = [
        (json!({"FAAS": sized(2, 192, 512)}), 422, "cannot shrink"),
        (json!({"NAME": "a<b", "FAAS": sized(2, 192, 1024)}), 400, "NAME"),
        (json!({"FAAS": {"FLAVOUR": "", "CPU": 0}}), 400, "FAAS/CPU"),
        (json!({}), 400, "FAAS"),
        (json!({"FAAS": {"FLAVOUR": ""}, "SCHEDULING": {"POLICY": "]]>"}}), 400, "SCHEDULING/POLICY"),
    ];
    for (wanted, status, part) in cases {
        let error_response = site.update(&test_engine, id, wanted.clone()).await.unwrap_err();
        assert_eq!(error_response.status, status, "{wanted}: {error_response:?}");
        assert!(error_response.message.as_str().unwrap().contains(part), "{wanted}: {error_response:?}");
    }
    assert_eq!(size(&site, id, "FAAS").await, (json!(1), json!(128), json!(1024)));
    let error_response = site.update(&test_engine, 999_999, json!({})).await.unwrap_err();
    assert_eq!(error_response.status, 404, "a runtime that does not exist is not found whatever is sent");
}

#[tokio::test]
async fn a_resize_that_did_not_happen_is_told() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, asked()).await;
    site.faults(&json!({"kind": "resize_does_nothing"})).await;
    let wanted = json!({"NAME": "after", "FAAS": sized(2, 192, 1024)});
    let error_response = refused(&site.update(&test_engine, id, wanted).await.unwrap());
    assert_eq!(error_response.status, 500);
    assert_eq!(error_response.error, "Failed to resize Serverless Runtime Function VM capacity");
    assert!(
        error_response.message.as_str().unwrap().contains("does not have CPU 2, MEMORY 192"),
        "{error_response:?}"
    );
    assert_eq!(site.read(id).await.unwrap().name, "before");
}

#[tokio::test]
async fn what_was_changed_before_an_error_is_changed_back() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let both = json!({"NAME": "before", "FAAS": sized(1, 128, 1024),
        "DAAS": {"FLAVOUR": "Data", "CPU": 1, "MEMORY": 128, "DISK_SIZE": 1024}});
    let id = site.running(&test_engine, both).await;
    site.faults(&json!({"kind": "resize_refused_quota", "about": "DAAS"})).await;
    let wanted = json!({"NAME": "after", "FAAS": sized(2, 192, 1024), "DAAS": {"FLAVOUR": "Data", "CPU": 2}});
    let error_response = refused(&site.update(&test_engine, id, wanted).await.unwrap());
    assert_eq!(error_response.error, "Failed to resize Serverless Runtime Function VM capacity");
    assert_eq!(size(&site, id, "FAAS").await, (json!(1), json!(128), json!(1024)));
    assert_eq!(size(&site, id, "DAAS").await, (json!(1), json!(128), json!(1024)));
    assert_eq!(site.read(id).await.unwrap().name, "before");
}

#[tokio::test]
async fn a_disk_that_has_grown_stays_and_the_caller_is_told() {
    let site =
        ServerlessSite::with(ServerlessSettings { timeout: Duration::from_millis(600), ..quick() }).await;
    let test_engine = site.test_engine().await;
    let data = |disk: u32| json!({"FLAVOUR": "Data", "DISK_SIZE": disk});
    let id = site.running(&test_engine, json!({"FAAS": sized(1, 128, 1024), "DAAS": data(1024)})).await;
    let fault = json!({"system": "oned", "kind": "error", "status": 500, "about": "one.vm.diskresize",
        "after": 1, "times": 0});
    site.world.fault(&fault).await;
    let wanted = json!({"FAAS": sized(2, 128, 2048), "DAAS": data(2048)});
    let ended = site.update(&test_engine, id, wanted).await.unwrap();
    let error_response = refused(&ended);
    assert_eq!(error_response.error, "Failed to resize Serverless Runtime Function VM disk");
    let leftover = "the disk of FAAS stays at 2048 MB: a disk cannot shrink";
    assert!(error_response.message.as_str().unwrap().contains(leftover), "{error_response:?}");
    assert_eq!(ended.memory.state["leftovers"], json!([leftover]));
    assert_eq!(size(&site, id, "FAAS").await, (json!(1), json!(128), json!(2048)));
}

#[tokio::test]
async fn lost_answers_change_nothing_about_the_result() {
    for (about, kind) in [
        ("one.vm.resize", "drop_after"),
        ("one.vm.diskresize", "drop_after"),
        ("one.vm.update", "drop_after"),
        ("one.document.update", "drop_after"),
        ("one.document.rename", "drop_after"),
        ("one.vm.resize", "drop_before"),
    ] {
        let site = ServerlessSite::start().await;
        let test_engine = site.test_engine().await;
        let id = site.running(&test_engine, asked()).await;
        site.world.fault(&json!({"system": "oned", "kind": kind, "about": about, "times": 1})).await;
        let wanted = json!({"NAME": "after", "FAAS": sized(2, 192, 1152), "SCHEDULING": {"POLICY": "p"}});
        let ended = site.update(&test_engine, id, wanted).await.unwrap();
        assert_eq!(ended.shown.summary.phase, Phase::Succeeded, "{about}: {:?}", ended.memory.last_error);
        assert_eq!(size(&site, id, "FAAS").await, (json!(2), json!(192), json!(1152)), "{about}");
        assert_eq!(site.read(id).await.unwrap().name, "after", "{about}");
    }
}

#[tokio::test]
async fn a_name_that_cannot_come_back_is_told() {
    let site =
        ServerlessSite::with(ServerlessSettings { timeout: Duration::from_millis(300), ..quick() }).await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, json!({"NAME": "a;b", "FAAS": sized(1, 128, 1024)})).await;
    let body = json!({"SERVERLESS_RUNTIME": {"NAME": "after", "FAAS": sized(2, 128, 1024)}}).to_string();
    let params = update::prepare(site.serverless(), &site.who, id, body.as_bytes()).await.unwrap();
    let fault =
        json!({"system": "oned", "kind": "error", "status": 500, "about": "one.document.info", "times": 20});
    site.world.fault(&fault).await;
    let operation =
        site.begin::<update::Update>(&test_engine, &CallerCredentials::resource(id), &params).await;
    let ended = finished(&test_engine, operation).await;
    let error_response = refused(&ended);
    assert!(
        error_response.message.as_str().unwrap().contains("the name stays as it is"),
        "{error_response:?}"
    );
    site.world.no_faults().await;
    assert_eq!(size(&site, id, "FAAS").await, (json!(1), json!(128), json!(1024)));
    assert_eq!(site.read(id).await.unwrap().name, "after");
}
