//! The command line against our own broker: what a person types from the catalog to the deletion.

use serde_json::{Value, json};

use super::{AZURE, CREATE, RuntimesCli, quick};
use crate::stage::{DataDirectory, Ran};

fn scene() -> RuntimesCli {
    RuntimesCli::open(quick().env("PROVISION_ENGINE_OSB__RETRY_AFTER", "1s"))
}

fn json_of(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

fn create<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&CREATE[..], more].concat()
}

#[test]
fn an_instance_lives_its_life_on_the_command_line() {
    let scene = scene();
    let place = &scene.place;
    let table = place.expect(0, &["catalog"]).out;
    assert!(table.contains("kymaruntime") && table.contains("azure") && table.contains(AZURE), "{table}");
    let takes = place.expect(0, &["catalog", "--plan", "azure"]).out;
    assert!(takes.contains("autoScalerMax") && takes.contains("region"), "{takes}");
    assert_eq!(place.json(&["catalog"])["services"][0]["name"], "kymaruntime");

    let made = place.expect(0, &create(&["--wait"]));
    let id = made.out.strip_suffix('\n').unwrap();
    assert!(!id.is_empty() && !id.contains(char::is_whitespace), "{made:?}");
    assert!(made.err.contains(&format!("instance {id} is created")), "{made:?}");
    assert_eq!(scene.runtimes(id), (1, 1));
    // The same id with the same parameters is the same instance.
    let again = place.expect(0, &create(&[id, "--wait"]));
    assert_eq!(again.out.trim(), id);
    assert_eq!(scene.runtimes(id), (1, 1));

    assert_eq!(place.expect(0, &["instances", "list", "-o", "name"]).out.trim(), id);
    assert_eq!(place.json(&["instances", "list"])["items"][0]["instanceID"], id);
    let shown = place.json(&["instances", "show", id]);
    assert_eq!((&shown["id"], &shown["plan"]), (&json!(id), &json!("azure")), "{shown}");
    assert_eq!(shown["last_operation"]["state"], "succeeded", "{shown}");
    assert_eq!(shown["parameters"]["name"], "first", "{shown}");

    let update = ["instances", "update", id, "--param", "autoScalerMax=12", "--wait"];
    assert!(place.expect(0, &update).err.contains("is updated"));
    assert_eq!(place.json(&["instances", "show", id])["parameters"]["autoScalerMax"], 12);
    assert_eq!(place.json(&update)["state"], "succeeded", "nothing is left to change");

    bind_and_unbind(&scene, id);

    let deleted = place.expect(0, &["instances", "delete", id, "--wait", "--yes"]);
    assert!(deleted.err.contains("is deleted"), "{deleted:?}");
    assert_eq!(scene.runtimes(id), (1, 0));
    assert_eq!(scene.standing(), [] as [Value; 0]);
    assert_eq!(place.expect(0, &["instances", "list", "-o", "name"]).out, "");
    let gone = place.run(&["instances", "delete", id, "--wait", "--yes", "--plan", "azure"]);
    assert_eq!(gone.code, Some(0), "what is gone is deleted: {gone:?}");
}

fn bind_and_unbind(scene: &RuntimesCli, id: &str) {
    let place = &scene.place;
    let file = place.path("kubeconfig.yaml");
    let bound = place.expect(0, &["instances", "bind", id, "b1", "--kubeconfig", file.to_str().unwrap()]);
    let kubeconfig = std::fs::read_to_string(&file).unwrap();
    assert!(kubeconfig.contains("kind: Config") && kubeconfig.contains("token:"), "{kubeconfig}");
    assert!(!bound.out.contains("token:") && !bound.err.contains("token:"), "{bound:?}");
    let refused = place.expect(1, &["instances", "delete", id, "--yes"]);
    assert!(refused.err.contains("unbind"), "{refused:?}");
    let unbound = place.expect(0, &["instances", "unbind", id, "b1", "--wait"]);
    assert!(unbound.err.contains("is unbound"), "{unbound:?}");
}

#[test]
fn the_exit_code_says_how_it_ended() {
    let scene = scene();
    let place = &scene.place;
    scene.fail(&json!({"operation": "Provision", "kind": "operation", "message": "no machines are left"}));
    let failed = place.expect(3, &create(&["i1", "--wait"]));
    assert!(failed.err.contains("no machines are left"), "{failed:?}");
    assert!(failed.err.contains("instances delete i1"), "it says what to do: {failed:?}");
    scene.fail(&json!({"operation": "Provision", "kind": "operation", "message": "no machines are left"}));
    let failed = place.expect(3, &create(&["i2", "--wait", "-o", "json"]));
    assert_eq!(json_of(&failed)["state"], "failed", "{failed:?}");
    assert_eq!(place.expect(0, &["instances", "show", "i2"]).code, Some(0));

    scene.hold(true);
    let late = place.expect(4, &create(&["i3", "--wait", "--timeout", "1s"]));
    assert!(late.err.contains("instances show i3 --wait"), "it says how to come back: {late:?}");
    let going = json_of(&place.expect(0, &create(&["i3", "-o", "json"])));
    assert_eq!(going["state"], "in progress", "{going}");
    scene.hold(false);
    place.expect(0, &["instances", "show", "i3", "--wait"]);

    for (code, arguments, part) in [
        (1, create(&["--param", "machineType=huge"]), "machineType"),
        (5, create(&["i3", "--param", "autoScalerMax=9"]), "other attributes"),
        (1, vec!["instances", "show", "unknown"], "has no instance unknown"),
        (
            1,
            vec!["instances", "update", "unknown", "--plan", "azure", "--param", "name=x"],
            "has no instance unknown",
        ),
    ] {
        let refused = place.expect(code, &arguments);
        assert!(refused.err.contains(part), "{arguments:?}: {refused:?}");
        assert!(refused.out.is_empty(), "{arguments:?}: {refused:?}");
    }
    for id in ["i1", "i2", "i3"] {
        place.expect(0, &["instances", "delete", id, "--plan", "azure", "--wait", "--yes"]);
    }
    assert_eq!(scene.standing(), [] as [Value; 0]);
    let away = DataDirectory::new().expect(1, &["instances", "list", "--broker-url", "http://127.0.0.1:1"]);
    assert!(away.err.contains("cannot reach"), "{away:?}");
}
