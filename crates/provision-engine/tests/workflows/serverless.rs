//! The serverless workflows on trial, and how runtimes are made: with lost answers, with trouble of every kind.

use std::time::Duration;

use ::opennebula::{AttributeName, NebulaTemplate, Text};
use ::serverless::model::json::Json;
use ::serverless::model::{CallerCredentials, ServerlessSettings, SrAuth};
use ::serverless::workflows::{create, delete, update};
use base64::Engine as _;
use serde_json::{Value, json};
use testing::workflow_test;

use crate::serverless_site::{ServerlessSite, credentials, quick, refused, succeeded};
use crate::serverless_test::{ServerlessTest, TestedOperation};

#[tokio::test]
async fn creating_passes_all_workflow_tests() {
    workflow_test::check_all(
        &ServerlessTest::of(TestedOperation::Create, |drivers| create::plan(&drivers.serverless)).await,
    )
    .await;
}

#[tokio::test]
async fn updating_passes_all_workflow_tests() {
    workflow_test::check_all(
        &ServerlessTest::of(TestedOperation::Update, |drivers| update::plan(&drivers.serverless)).await,
    )
    .await;
}

#[tokio::test]
async fn deleting_passes_all_workflow_tests() {
    workflow_test::check_all(
        &ServerlessTest::of(TestedOperation::Delete, |drivers| delete::plan(&drivers.serverless)).await,
    )
    .await;
}

fn function() -> Value {
    json!({"FAAS": {"FLAVOUR": "Function"}})
}

#[tokio::test]
async fn a_runtime_is_answered_as_pending_with_its_address_and_runs_soon() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let ended = site.create(&test_engine, function()).await.unwrap();
    let made = succeeded(&ended);
    let name = made["NAME"].as_str().unwrap();
    assert_eq!(name, format!("Function_{}", ended.shown.summary.id));
    let faas = &made["FAAS"];
    assert_eq!((&faas["STATE"], &faas["CPU"], &faas["MEMORY"]), (&json!("PENDING"), &json!(1), &json!(128)));
    assert!(faas["ENDPOINT"].as_str().unwrap().starts_with("127."), "{faas}");
    let order = [r#"{"SERVERLESS_RUNTIME":{"NAME":"#, r#","ID":"#, r#","FAAS":{"FLAVOUR":"#, r#","VM_ID":"#];
    let text = ended.memory.state["runtime"].as_str().unwrap();
    let regions_or_zones: Vec<usize> = order.iter().map(|part| text.find(part).expect(part)).collect();
    assert!(regions_or_zones.is_sorted(), "{text}");
    let id = i32::try_from(made["ID"].as_i64().unwrap()).unwrap();
    let seen = site.until(id, "RUNNING").await;
    assert_eq!((&seen["SERVICE_ID"], &seen["FAAS"]["VM_ID"]), (&made["SERVICE_ID"], &faas["VM_ID"]));
    assert_eq!(site.kinds().await, ["document", "service", "vm"]);
}

#[tokio::test]
async fn a_name_with_blanks_is_the_same_the_one_who_says_it() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let asked = json!({"NAME": "  two words ", "FAAS": {"FLAVOUR": "Function"}});
    let made = succeeded(&site.create(&test_engine, asked).await.unwrap());
    let id = i32::try_from(made["ID"].as_i64().unwrap()).unwrap();
    assert_eq!(
        (made["NAME"].as_str(), site.read(id).await.unwrap().name),
        (Some("two words"), "two words".into())
    );
}

#[tokio::test]
async fn a_lost_answer_makes_no_second_runtime() {
    for (system, about) in [
        ("oned", "one.document.allocate"),
        ("oneflow", "instantiate"),
        ("oned", "one.document.update"),
        ("oned", "one.vmpool.infoset"),
    ] {
        for kind in ["drop_after", "drop_before", "garbage"] {
            let site = ServerlessSite::start().await;
            let test_engine = site.test_engine().await;
            site.world.fault(&json!({"system": system, "kind": kind, "about": about, "times": 1})).await;
            succeeded(&site.create(&test_engine, function()).await.unwrap());
            assert_eq!(site.kinds().await, ["document", "service", "vm"], "{kind} {about}");
        }
    }
}

#[tokio::test]
async fn an_external_system_that_stays_away_is_told_in_time_and_leaves_nothing() {
    let settings = ServerlessSettings { timeout: Duration::from_millis(600), ..quick() };
    let site = ServerlessSite::with(settings).await;
    let test_engine = site.test_engine().await;
    let fault =
        json!({"system": "oneflow", "kind": "error", "status": 503, "about": "instantiate", "times": 0});
    site.world.fault(&fault).await;
    let error_response = refused(&site.create(&test_engine, function()).await.unwrap());
    assert!(error_response.status >= 500, "{error_response:?}");
    assert_eq!(error_response.error, "Failed to create Serverless Runtime Service");
    assert_eq!(site.kinds().await, [""; 0]);
}

#[tokio::test]
async fn a_service_that_fails_is_removed_and_its_log_is_told() {
    for (flavour, faults) in [("Function", Some("fails_deploying_now")), ("FAILED_DEPLOY", None)] {
        let site = ServerlessSite::start().await;
        let test_engine = site.test_engine().await;
        if let Some(kind) = faults {
            site.faults(&json!({"kind": kind})).await;
        }
        let error_response =
            refused(&site.create(&test_engine, json!({"FAAS": {"FLAVOUR": flavour}})).await.unwrap());
        assert_eq!(error_response.status, 500, "{flavour}");
        assert!(error_response.error.ends_with("entered FAILED state after creation"), "{error_response:?}");
        let Json::List(lines) = &error_response.message else { panic!("{error_response:?}") };
        assert!(lines[0].to_string().starts_with(r#"{"timestamp":"#), "{error_response:?}");
        assert_eq!(site.kinds().await, [""; 0], "{flavour}");
    }
}

#[tokio::test]
async fn an_outage_on_the_way_back_is_waited_out() {
    let site =
        ServerlessSite::with(ServerlessSettings { timeout: Duration::from_millis(200), ..quick() }).await;
    let test_engine = site.test_engine().await;
    site.faults(&json!({"kind": "fails_deploying_now"})).await;
    // The first look finds the failure; then the external system is away for longer than any caller waits.
    let fault = json!({"system": "oneflow", "kind": "error", "status": 503, "about": "service",
        "after": 1, "times": 15});
    site.world.fault(&fault).await;
    let error_response = refused(&site.create(&test_engine, function()).await.unwrap());
    assert!(error_response.error.ends_with("entered FAILED state after creation"), "{error_response:?}");
    assert_eq!(site.kinds().await, [""; 0]);
}

#[tokio::test]
async fn a_service_without_machines_is_given_up_in_time() {
    let site =
        ServerlessSite::with(ServerlessSettings { timeout: Duration::from_millis(400), ..quick() }).await;
    let test_engine = site.test_engine().await;
    site.faults(&json!({"kind": "no_nodes"})).await;
    let error_response = refused(&site.create(&test_engine, function()).await.unwrap());
    assert_eq!(error_response.status, 504);
    assert!(
        error_response.error.starts_with("OpenNebula did not create VMs for the Serverless Runtime Service ")
    );
    assert_eq!(site.kinds().await, [""; 0]);
}

#[tokio::test]
async fn a_service_that_takes_its_time_is_waited_for() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    site.world.post("/opennebula/pace", &json!({"delayed_nodes_ms": 300})).await;
    site.faults(&json!({"kind": "delayed_nodes"})).await;
    succeeded(&site.create(&test_engine, function()).await.unwrap());
}

#[tokio::test]
async fn all_forms_of_service_templates_are_spoken() {
    let both =
        |faas: &str| json!({"FAAS": {"FLAVOUR": faas, "CPU": 2}, "DAAS": {"FLAVOUR": "Data", "CPU": 3}});
    for (flavour, release) in [("Function", "6.8"), ("Swapped", "6.8"), ("Seven", "7.4")] {
        let site = ServerlessSite::start().await;
        site.world.post("/opennebula/release", &json!({"release": release})).await;
        let test_engine = site.test_engine().await;
        let made = succeeded(&site.create(&test_engine, both(flavour)).await.unwrap());
        assert_eq!((&made["FAAS"]["CPU"], &made["DAAS"]["CPU"]), (&json!(2), &json!(3)), "{flavour}");
    }
}

#[tokio::test]
async fn a_role_that_comes_later_is_pending_until_then() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    site.world.post("/opennebula/pace", &json!({"boot_ms": 300})).await;
    let asked = json!({"FAAS": {"FLAVOUR": "Straight"}, "DAAS": {"FLAVOUR": "Data"}});
    let made = succeeded(&site.create(&test_engine, asked).await.unwrap());
    assert_eq!((&made["DAAS"]["STATE"], &made["DAAS"]["VM_ID"]), (&json!("PENDING"), &Value::Null));
    let id = i32::try_from(made["ID"].as_i64().unwrap()).unwrap();
    let seen = site.until(id, "RUNNING").await;
    assert!(seen["DAAS"]["VM_ID"].is_i64(), "{seen}");
}

#[tokio::test]
async fn what_cannot_be_made_is_refused_before_anything_is_made() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let faas = |flavour: &str| json!({"FAAS": {"FLAVOUR": flavour}});
    let cases = [
        (
            faas("NoSuchFlavour"),
            422,
            "Cannot find a valid service template for the specified flavours: NoSuchFlavour",
        ),
        (
            faas("Function-Data"),
            422,
            "Cannot find a valid service template for the specified flavours: Function-Data",
        ),
        (faas("Extra"), 422, "Cannot find a valid service template for the specified flavours: Extra"),
        (faas("DenyVMTemplate"), 403, "Failed to read VM Template for Function FAAS"),
        (faas("MissingVMT"), 500, "Failed to read VM Template for Function FAAS"),
        (faas("NoDisk"), 422, "VM Template for Function FAAS has no disk"),
        (
            json!({"NAME": "a<b", "FAAS": {"FLAVOUR": "Function"}}),
            400,
            "Invalid Serverless Runtime specification",
        ),
        (
            json!({"NAME": "a&b", "FAAS": {"FLAVOUR": "Function"}}),
            400,
            "Invalid Serverless Runtime specification",
        ),
        (
            json!({"NAME": "a]]>b", "FAAS": {"FLAVOUR": "Function"}}),
            400,
            "Invalid Serverless Runtime specification",
        ),
        (
            json!({"FAAS": {"FLAVOUR": "Function", "DISK_SIZE": 10}}),
            422,
            "Failed to create Serverless Runtime Service",
        ),
        (
            json!({"FAAS": {"FLAVOUR": "Function"}, "SCHEDULING": {"POLICY": "a\\"}}),
            400,
            "Invalid Serverless Runtime specification",
        ),
        (
            json!({"FAAS": {"FLAVOUR": "Function"}, "DEVICE_INFO": {"GEOGRAPHIC_LOCATION": "$NAME"}}),
            400,
            "Invalid Serverless Runtime specification",
        ),
    ];
    for (asked, status, error) in cases {
        let error_response = site.create(&test_engine, asked.clone()).await.unwrap_err();
        assert_eq!((error_response.status, error_response.error.as_str()), (status, error), "{asked}");
    }
    assert_eq!(site.world.made("document").await + site.world.made("service").await, 0);
}

#[tokio::test]
async fn outsiders_and_those_without_templates_are_refused() {
    for (user, password, status, error) in [
        ("cognit", "wrong", 401, "Failed to get list of service templates"),
        (
            "empty",
            "emptypass",
            403,
            "User requesting Serverless Runtime creation has no flow templates available for use",
        ),
    ] {
        let mut site = ServerlessSite::start().await;
        site.who = credentials(user, password);
        let test_engine = site.test_engine().await;
        let error_response = site.create(&test_engine, function()).await.unwrap_err();
        assert_eq!((error_response.status, error_response.error.as_str()), (status, error), "{user}");
    }
}

/// What a machine can act with: a user and a secret.
async fn sr_auth(site: &ServerlessSite, made: &Value) -> Option<String> {
    let id = i32::try_from(made["FAAS"]["VM_ID"].as_i64().unwrap()).unwrap();
    let machine = site.serverless().nebula.machine(&site.who, id).await.unwrap();
    let context = machine.template.vectors("CONTEXT").next()?;
    let text: String = context.get("SR_AUTH")?.split_whitespace().collect();
    Some(String::from_utf8(base64::engine::general_purpose::STANDARD.decode(text).unwrap()).unwrap())
}

#[tokio::test]
async fn a_machine_acts_with_what_the_settings_allow() {
    let default = ServerlessSettings::default().sr_auth;
    assert!(default == SrAuth::None, "no password of a user is in a machine unless the operator says so");
    for mode in [SrAuth::Password, SrAuth::Token, SrAuth::None] {
        let site = ServerlessSite::with(ServerlessSettings { sr_auth: mode, ..quick() }).await;
        let test_engine = site.test_engine().await;
        let made = succeeded(&site.create(&test_engine, function()).await.unwrap());
        let found = sr_auth(&site, &made).await;
        match mode {
            SrAuth::Password => assert_eq!(found.as_deref(), Some("cognit:cognitpass")),
            SrAuth::None => assert_eq!(found, None),
            SrAuth::Token => {
                let (user, token) = found.as_deref().unwrap().split_once(':').unwrap();
                assert_ne!(token, "cognitpass");
                let login = credentials(user, token);
                assert_eq!(site.serverless().nebula.user(&login).await.unwrap().name, "cognit");
            }
        }
    }
}

/// A service template of `OpenNebula` 7 whose machine runs a script of several lines.
async fn script_template(site: &ServerlessSite) {
    let nebula = &site.serverless().nebula;
    let mut script = None;
    for id in 0..50 {
        let found = nebula.vm_template(&site.who, id).await;
        script = script.or(found.ok().filter(|found| found.name == "FunctionScript").map(|found| found.id));
    }
    let role = json!({"name": "FAAS", "type": "vm", "cardinality": 1, "template_id": script.unwrap()});
    let body = json!({"name": "Script", "deployment": "straight", "roles": [role]}).to_string();
    let mut template = NebulaTemplate::new();
    template.set(AttributeName::of("NAME"), "Script");
    template.set(AttributeName::of("BODY"), Text::ours(body));
    nebula.allocate_document(&site.who, &template, 101).await.unwrap();
}

#[tokio::test]
async fn what_has_line_breaks_and_quotes_arrives_whole_with_opennebula_7() {
    for mode in [SrAuth::None, SrAuth::Token] {
        let site = ServerlessSite::with(ServerlessSettings { sr_auth: mode, ..quick() }).await;
        site.world.post("/opennebula/release", &json!({"release": "7.4"})).await;
        script_template(&site).await;
        let test_engine = site.test_engine().await;
        let asked = json!({"FAAS": {"FLAVOUR": "Script"}, "SCHEDULING": {"REQUIREMENTS": "ARCH=\"X86\""},
            "DEVICE_INFO": {"GEOGRAPHIC_LOCATION": "a \"b\""}});
        let made = succeeded(&site.create(&test_engine, asked).await.unwrap());
        let id = i32::try_from(made["FAAS"]["VM_ID"].as_i64().unwrap()).unwrap();
        let machine = site.serverless().nebula.machine(&site.who, id).await.unwrap();
        let context = machine.template.vectors("CONTEXT").next().unwrap();
        assert_eq!((context.get("START_SCRIPT"), context.get("NETWORK")), (None, Some("YES")));
        let script = context.get("START_SCRIPT_BASE64").unwrap();
        let script = base64::engine::general_purpose::STANDARD.decode(script).unwrap();
        assert_eq!(script, b"#!/bin/sh\necho one\necho two");
        let user = sr_auth(&site, &made).await.map(|auth| auth.split_once(':').unwrap().0.to_owned());
        assert_eq!(user.as_deref(), (mode == SrAuth::Token).then_some("cognit"));
        assert_eq!(machine.user_template.get("SCHED_REQUIREMENTS"), Some("ARCH=\"X86\""));
        let info = machine.user_template.vectors("DEVICE_INFO").next().unwrap();
        assert_eq!(info.get("GEOGRAPHIC_LOCATION"), Some("a \"b\""));
    }
}

#[tokio::test]
async fn no_password_stays_with_us_and_none_is_written_down() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let secret = ["cognitpass", "Y29nbml0OmNvZ25pdHBhc3M"];
    let good = site.create(&test_engine, function()).await.unwrap();
    site.faults(&json!({"kind": "fails_deploying_now"})).await;
    let bad = site.create(&test_engine, function()).await.unwrap();
    for ended in [&good, &bad] {
        let summary = &ended.shown.summary;
        let journal = serde_json::to_string(&test_engine.journal(summary.id).await).unwrap();
        let written = format!("{journal} {}", ended.shown.params);
        assert!(secret.iter().all(|secret| !written.contains(secret)), "{written}");
        let row = test_engine.engine.resource(summary.resource.as_ref().unwrap()).await.unwrap().unwrap();
        assert!(row.gone_at.is_some() && !row.record.contains("sealed:"), "{}", row.record);
        assert_eq!(summary.tenant, "opennebula:cognit");
    }
}

#[tokio::test]
async fn who_is_busy_with_a_runtime_keeps_its_credentials() {
    let site = ServerlessSite::start().await;
    let test_engine = site.test_engine().await;
    let id = site.running(&test_engine, function()).await;
    site.world.post("/opennebula/pace", &json!({"resize_ms": 400})).await;
    let body = json!({"SERVERLESS_RUNTIME": {"FAAS": {"FLAVOUR": "", "CPU": 2}}}).to_string();
    let params = update::prepare(site.serverless(), &site.who, id, body.as_bytes()).await.unwrap();
    let first = site.begin::<update::Update>(&test_engine, &CallerCredentials::resource(id), &params).await;
    let params = delete::prepare(site.serverless(), &site.who, id).await.unwrap();
    let request = ::serverless::model::caller_credentials::Request::<delete::Delete> {
        resource: &CallerCredentials::resource(id),
        name: None,
        params: &params,
        credentials: &credentials("oneadmin", "opennebula"),
        idempotency_key: None,
    };
    let busy =
        ::serverless::model::caller_credentials::accept(&test_engine.engine, &request).await.unwrap_err();
    assert_eq!(busy, engine::SubmitError::Busy { operation: first });
    let updated = succeeded(&crate::serverless_site::finished(&test_engine, first).await);
    assert_eq!(updated["FAAS"]["CPU"], json!(2));
}
