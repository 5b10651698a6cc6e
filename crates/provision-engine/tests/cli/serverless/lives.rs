//! Lives of runtimes as they were recorded, from the request to the end, with better answers where the recorded
//! ones were wrong.

use reqwest::Method;
use serde_json::{Value, json};

use super::{EngineOutput, NOTHING, RUNTIMES, ServerlessServer, function, quick, runtime};

const TRANSIENT: &str = "Cannot update Serverless Runtime Function VM FAAS on a transient state";

/// Insists that these members come in this order.
#[track_caller]
fn in_order(answer: &EngineOutput, members: &[&str]) {
    let positions: Vec<usize> = members
        .iter()
        .map(|member| {
            answer.text.find(&format!("\"{member}\":")).unwrap_or_else(|| panic!("{}", answer.text))
        })
        .collect();
    assert!(positions.is_sorted(), "{members:?} in {}", answer.text);
}

#[test]
fn a_new_runtime_is_pending_and_has_its_address_and_ends_for_good() {
    let scene = ServerlessServer::open(quick());
    let made = scene.post(&function("Function")).is(201);
    in_order(&made, &["NAME", "ID", "FAAS", "FLAVOUR", "SERVICE_ID"]);
    let seen = made.seen();
    assert!(seen["NAME"].as_str().unwrap().starts_with("Function_"), "{}", made.text);
    let faas = &seen["FAAS"];
    // Also a machine that was quicker is PENDING in this answer: devices take anything else for a failure.
    let expected = json!({"FLAVOUR": "Function", "STATE": "PENDING", "CPU": 1, "MEMORY": 128,
                          "DISK_SIZE": 1024, "VM_ID": faas["VM_ID"], "ENDPOINT": faas["ENDPOINT"]});
    assert_eq!(*faas, expected);
    assert!(faas["VM_ID"].is_i64() && seen["SERVICE_ID"].is_i64(), "{}", made.text);
    assert!(faas["ENDPOINT"].as_str().unwrap().starts_with("127."), "{}", made.text);
    let id = made.id();
    let running = scene.until_state(id, "RUNNING");
    let (mut first, mut then) = (made.json.clone(), running.json.clone());
    for answer in [&mut first, &mut then] {
        answer["SERVERLESS_RUNTIME"]["FAAS"]["STATE"] = Value::Null;
    }
    assert_eq!(first, then, "nothing but the state differs");
    scene.delete(id).is(204);
    assert_eq!(scene.standing(), NOTHING, "it answers when everything is gone");
    let gone = json!({"error": "Serverless Runtime not found", "message": ""});
    assert_eq!(scene.delete(id).is(404).json, gone);
    assert_eq!(scene.get(id).is(404).json, gone);
    // No data is asked for, in both ways in which devices say so.
    let none = json!({"FLAVOUR": ""});
    let empty = scene.post(&runtime(&json!({"FAAS": {"FLAVOUR": "Function"}, "DAAS": none}))).is(201);
    assert_eq!(empty.seen()["DAAS"], none);
    let null = scene.post(&runtime(&json!({"FAAS": {"FLAVOUR": "Function"}, "DAAS": null}))).is(201);
    assert_eq!(null.seen().get("DAAS"), None);
    assert_eq!(scene.standing().len(), 6, "each is a document, a service and one machine");
}

#[test]
fn function_and_data_with_all_that_can_be_asked_for_come_back_as_they_were_sent() {
    let scene = ServerlessServer::open(quick());
    // The order of the members is the caller's.
    let text = r#"{"SERVERLESS_RUNTIME": {"NAME": "Function and Data as a Service",
        "FAAS": {"FLAVOUR": "Function", "CPU": 2, "MEMORY": 133, "DISK_SIZE": 1025, "ENDPOINT": ""},
        "DAAS": {"FLAVOUR": "Data", "CPU": 3, "MEMORY": 197, "DISK_SIZE": 1337},
        "SCHEDULING": {"REQUIREMENTS": "FREE_CPU > 1", "POLICY": "energy"},
        "DEVICE_INFO": {"LATENCY_TO_PE": 0.36, "GEOGRAPHIC_LOCATION": "Madrid"}}}"#;
    let made = scene.send(scene.client.ask(Method::POST, RUNTIMES).body(text)).is(201);
    in_order(&made, &["NAME", "ID", "FAAS", "DAAS", "SCHEDULING", "DEVICE_INFO", "SERVICE_ID"]);
    in_order(&made, &["REQUIREMENTS", "POLICY", "LATENCY_TO_PE", "GEOGRAPHIC_LOCATION"]);
    let sent: Value = serde_json::from_str(text).unwrap();
    let (sent, seen) = (&sent["SERVERLESS_RUNTIME"], made.seen());
    for member in ["NAME", "SCHEDULING", "DEVICE_INFO"] {
        assert_eq!(seen[member], sent[member], "{}", made.text);
    }
    for role in ["FAAS", "DAAS"] {
        for member in ["FLAVOUR", "CPU", "MEMORY", "DISK_SIZE"] {
            assert_eq!(seen[role][member], sent[role][member], "{}", made.text);
        }
    }
    assert_ne!(seen["FAAS"]["VM_ID"], seen["DAAS"]["VM_ID"]);
    assert_eq!(scene.standing().len(), 4, "a document, a service and two machines");
    let machine = scene.machine(&seen["FAAS"]);
    let disk = machine.template.vectors("DISK").find_map(|disk| disk.get("SIZE"));
    assert_eq!(disk, Some("1025"));
    let own = |name: &str| machine.user_template.get(name);
    assert_eq!((own("SCHED_RANK"), own("SCHED_REQUIREMENTS")), (Some("ENERGY"), Some("FREE_CPU > 1")));
    assert_eq!(own("FLAVOURS").unwrap().parse::<u32>().ok(), Some(1), "the id of the service template");
    let limits = ["VCPU_MAX", "MEMORY_MAX", "MEMORY_RESIZE_MODE"].map(|name| machine.template.get(name));
    assert_eq!(limits, [Some("4"), Some("266"), Some("BALLOONING")]);
    scene.until_state(made.id(), "RUNNING");
    scene.delete(made.id()).is(204);
    assert_eq!(scene.standing(), NOTHING);
}

/// It pasted what it was sent into the template of the machine: quotes failed to deploy, and more than quotes could
/// do anything.
#[test]
fn quotes_and_injected_attributes_are_text_or_refused_and_what_only_we_know_is_not_taken() {
    let scene = ServerlessServer::open(quick());
    let body = |requirements: &str, location: &str| {
        runtime(&json!({
            "NAME": "dup", "ID": 7, "SERVICE_ID": 8,
            "FAAS": {"FLAVOUR": "Function", "VM_ID": 3, "STATE": "ERROR", "ENDPOINT": "http://x"},
            "SCHEDULING": {"REQUIREMENTS": requirements}, "DEVICE_INFO": {"GEOGRAPHIC_LOCATION": location},
        }))
    };
    let (requirements, location) = ("ARCH=\"x86_64\"", "x\"] MEMORY=7 FOO=\"bar");
    for bad in ["x\"]\nMEMORY=7\nFOO=\"bar", "]]>", "\u{1}"] {
        let refused = scene.post(&body(requirements, bad)).is(400);
        assert!(refused.text.contains("DEVICE_INFO/GEOGRAPHIC_LOCATION"), "{bad:?}: {}", refused.text);
    }
    assert_eq!(scene.standing(), NOTHING);
    let made = scene.post(&body(requirements, location)).is(201);
    // It answered with two ids, its own and the one that was sent.
    assert_eq!(made.text.matches("\"ID\":").count(), 1, "{}", made.text);
    let seen = made.seen();
    assert!(made.id() != 7 && seen["SERVICE_ID"] != 8 && seen["FAAS"]["STATE"] == "PENDING", "{}", made.text);
    let machine = scene.machine(&seen["FAAS"]);
    assert_eq!(machine.user_template.get("SCHED_REQUIREMENTS"), Some("ARCH=\"X86_64\""));
    let told = machine.user_template.vectors("DEVICE_INFO").find_map(|info| info.get("GEOGRAPHIC_LOCATION"));
    assert_eq!(told, Some(location));
    assert_eq!((machine.template.get("MEMORY"), machine.user_template.get("FOO")), (Some("128"), None));
}

#[test]
fn a_change_is_refused_as_a_whole_or_answered_with_what_is_true() {
    let scene = ServerlessServer::open(quick());
    scene.tell("/opennebula/pace", &json!({"boot_ms": 700}));
    let first = json!({"FLAVOUR": "Function", "CPU": 1, "MEMORY": 128, "DISK_SIZE": 1024});
    let id = scene.made(&runtime(&json!({"NAME": "to-resize", "FAAS": first})));
    let larger = json!({"FLAVOUR": "Function", "CPU": 2, "MEMORY": 192, "DISK_SIZE": 1152});
    let refused = scene.put(id, &runtime(&json!({"NAME": "while-pending", "FAAS": larger}))).is(423);
    assert_eq!(refused.json, json!({"error": TRANSIENT, "message": "PENDING"}));
    // It had changed the name all the same.
    assert_eq!(scene.get(id).seen()["NAME"], "to-resize");
    scene.until_state(id, "RUNNING");
    let changed =
        scene.put(id, &runtime(&json!({"NAME": "resized", "FAAS": larger, "SCHEDULING": {}}))).is(200);
    // It answered with the old name.
    assert_eq!(changed.seen()["NAME"], "resized");
    let faas = &changed.seen()["FAAS"];
    for member in ["CPU", "MEMORY", "DISK_SIZE"] {
        assert_eq!(faas[member], larger[member], "{}", changed.text);
    }
    assert_eq!(faas["STATE"], "RUNNING");
    assert_eq!(scene.get(id).is(200).text, changed.text);
    // The same again changes nothing; and it could not leave anything out.
    assert_eq!(scene.put(id, &runtime(&json!({"FAAS": larger}))).is(200).text, changed.text);
    let one = scene.put(id, &runtime(&json!({"FAAS": {"FLAVOUR": "", "CPU": 3}}))).is(200);
    let faas = &one.seen()["FAAS"];
    assert_eq!(
        (&faas["CPU"], &faas["MEMORY"], &faas["FLAVOUR"]),
        (&json!(3), &json!(192), &json!("Function"))
    );
    let client = json!({"GEOGRAPHIC_LOCATION": "Rome"});
    let moved = runtime(
        &json!({"FAAS": {"FLAVOUR": ""}, "SCHEDULING": {"POLICY": "latency"}, "DEVICE_INFO": client}),
    );
    let moved = scene.put(id, &moved).is(200);
    assert_eq!(
        (&moved.seen()["SCHEDULING"]["POLICY"], &moved.seen()["DEVICE_INFO"]),
        (&json!("latency"), &client)
    );
    // It answered 500 for a smaller disk, with the capacity changed already.
    let smaller = json!({"FLAVOUR": "", "CPU": 4, "DISK_SIZE": 10});
    scene.put(id, &runtime(&json!({"FAAS": smaller}))).is(422);
    assert_eq!(scene.get(id).seen()["FAAS"]["CPU"], 3);
    // It answered 200 with the old values when the host did not do it.
    scene.faults("resize_does_nothing");
    let failed =
        scene.put(id, &runtime(&json!({"NAME": "n", "FAAS": {"FLAVOUR": "", "MEMORY": 210}}))).is(500);
    assert_eq!(failed.json["error"], "Failed to resize Serverless Runtime Function VM capacity");
    assert_eq!(
        (&scene.get(id).seen()["NAME"], &scene.get(id).seen()["FAAS"]["MEMORY"]),
        (&json!("resized"), &json!(192))
    );
    scene.faults("resize_refused_quota");
    let refused = scene.put(id, &runtime(&json!({"FAAS": {"FLAVOUR": "", "MEMORY": 220}})));
    assert!([403, 422].contains(&refused.status), "{}", refused.text);
}

#[test]
fn a_boot_that_fails_says_why_and_can_be_tried_again_and_deleted() {
    let scene = ServerlessServer::open(quick());
    scene.faults("boot_fails");
    let id = scene.made(&runtime(&json!({"NAME": "boot-failure", "FAAS": {"FLAVOUR": "Function"}})));
    let failed = scene.until_state(id, "ERROR");
    let why = failed.seen()["FAAS"]["ERROR"].as_str().unwrap();
    // It looked in the wrong place and always said this.
    assert!(!why.is_empty() && why != "No VM Error from Cloud Edge Manager", "{why}");
    let refused = scene.put(id, &runtime(&json!({"FAAS": {"FLAVOUR": "Function", "CPU": 2}}))).is(500);
    let error =
        "Cannot update Serverless Runtime Function VM FAAS on an error state. A recovery was attempted";
    // It sent no message, and hid that only an administrator may recover a machine.
    assert_eq!(refused.json["error"], error);
    assert!(refused.json["message"].as_str().unwrap().contains("Not authorized"), "{}", refused.text);
    let admin = scene.client.outsider(Method::PUT, &format!("{RUNTIMES}/{id}"));
    let admin = admin.basic_auth("oneadmin", Some("opennebula"));
    scene.send(admin.json(&runtime(&json!({"FAAS": {"FLAVOUR": "Function", "CPU": 2}})))).is(500);
    let well = scene.until_state(id, "RUNNING");
    // It kept the old error for ever.
    assert_eq!(well.seen()["FAAS"].get("ERROR"), None, "{}", well.text);
    scene.delete(id).is(204);
    assert_eq!(scene.standing(), NOTHING);
}
