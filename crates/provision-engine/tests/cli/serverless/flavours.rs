//! What a flavour stands for: both languages of OneFlow, roles in any order, and a mapping to numbers.

use ::opennebula::OpenNebulaOptions;
use serde_json::{Value, json};

use super::{NOTHING, ServerlessServer, function, quick, runtime};
use crate::stage::Sandbox;

fn both(flavour: &str) -> Value {
    runtime(&json!({
        "FAAS": {"FLAVOUR": flavour, "CPU": 2, "MEMORY": 200, "DISK_SIZE": 1100},
        "DAAS": {"FLAVOUR": "Data", "CPU": 3, "MEMORY": 300, "DISK_SIZE": 1300},
    }))
}

/// It could make nothing with OneFlow 7, and swapped the machines where the roles came in another order.
#[test]
fn every_machine_gets_what_its_role_asked_for_in_both_languages_and_any_order() {
    let scene = ServerlessServer::open(quick());
    for flavour in ["Function", "Swapped", "Straight", "Seven"] {
        let release = if flavour == "Seven" { "7.4" } else { "6.8" };
        scene.tell("/opennebula/release", &json!({"release": release}));
        let made = scene.post(&both(flavour)).is(201);
        let id = made.id();
        let running = scene.until_state(id, "RUNNING");
        for (role, vm_template, cpu, memory, disk) in
            [("FAAS", "0", 2, 200, 1100), ("DAAS", "1", 3, 300, 1300)]
        {
            let seen = &running.seen()[role];
            let amounts = ["CPU", "MEMORY", "DISK_SIZE"].map(|name| &seen[name]);
            assert_eq!(amounts, [&json!(cpu), &json!(memory), &json!(disk)], "{flavour}: {}", running.text);
            let machine = scene.machine(seen);
            assert_eq!(machine.template.get("TEMPLATE_ID"), Some(vm_template), "{flavour} {role}");
            assert_eq!(machine.user_template.get("ROLE_NAME"), Some(role), "{flavour}");
            let nic = machine.template.vectors("NIC").find_map(|nic| nic.get("IP"));
            assert_eq!(nic, seen["ENDPOINT"].as_str(), "{flavour} {role}");
        }
        let larger =
            scene.put(id, &runtime(&json!({"FAAS": {"FLAVOUR": ""}, "DAAS": {"FLAVOUR": "Data", "CPU": 5}})));
        let larger = larger.is(200);
        assert_eq!((&larger.seen()["FAAS"]["CPU"], &larger.seen()["DAAS"]["CPU"]), (&json!(2), &json!(5)));
        scene.delete(id).is(204);
        assert_eq!(scene.standing(), NOTHING, "{flavour}");
    }
}

#[test]
fn templates_with_disks_and_contexts_of_their_own_lose_nothing() {
    let scene = ServerlessServer::open(quick());
    let sized = scene.post(&runtime(&json!({"FAAS": {"FLAVOUR": "SizedDisk", "DISK_SIZE": 3000}}))).is(201);
    // It ignored the size that was asked for.
    assert_eq!(sized.seen()["FAAS"]["DISK_SIZE"], 3000);
    let machine = |answer: &super::EngineOutput| scene.machine(&answer.seen()["FAAS"]);
    // It took one of the two away.
    let two = scene.post(&function("TwoDisks")).is(201);
    assert_eq!(machine(&two).template.vectors("DISK").count(), 2);
    let ready = scene.post(&function("NotReady")).is(201);
    let context = machine(&ready);
    let context = context.template.vectors("CONTEXT").next().unwrap();
    assert_eq!((context.get("REPORT_READY"), context.get("TOKEN")), (Some("YES"), Some("YES")));
    let bare = scene.post(&function("NoNet")).is(201);
    assert_eq!(bare.seen()["FAAS"]["ENDPOINT"], "");
    for answer in [sized, two, ready, bare] {
        scene.delete(answer.id()).is(204);
    }
    assert_eq!(scene.standing(), NOTHING);
}

#[test]
fn a_mapping_says_which_template_stands_for_which_flavours() {
    let place = quick();
    // The numbers of the templates Function and Function-Data.
    let sandbox = Sandbox::start(&place);
    let OpenNebulaOptions { oned, oneflow, .. } = OpenNebulaOptions::beside(&sandbox.url);
    let mapping = ":mapping:\n  :nature: 0\n  :nature-s3: 1\n";
    place.write("engine.conf", &format!(":one_xmlrpc: {oned}\n:oneflow_server: {oneflow}\n{mapping}"));
    let arguments = ["--sandbox-url", &sandbox.url, "--engine-conf", "engine.conf", "--log-level", "error"];
    let server = place.serve(&arguments);
    let scene = ServerlessServer::around(place, sandbox, server);
    let flavours = |answer: &super::EngineOutput| {
        let machine = scene.machine(&answer.seen()["FAAS"]);
        machine.user_template.get("FLAVOURS").map(str::to_owned)
    };
    let one = scene.post(&function("nature")).is(201);
    assert_eq!(flavours(&one).as_deref(), Some("0"));
    let two = json!({"FAAS": {"FLAVOUR": "nature"}, "DAAS": {"FLAVOUR": "s3"}});
    let two = scene.post(&runtime(&two)).is(201);
    assert_eq!(flavours(&two).as_deref(), Some("1"));
    // There is a template with this name, and the mapping does not have it.
    scene.post(&function("Function")).is(422);
    for answer in [one, two] {
        scene.delete(answer.id()).is(204);
    }
    assert_eq!(scene.standing(), NOTHING);
}
