//! The engine loses its own database. OpenNebula keeps the runtimes, so no client notices.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};

use super::{NOTHING, RUNTIMES, ServerlessServer, quick, runtime};

fn listed(scene: &ServerlessServer) -> Value {
    let listed = scene.send(scene.client.ask(Method::GET, RUNTIMES)).is(200).json;
    let mut runtimes = listed["SERVERLESS_RUNTIMES"].as_array().unwrap().clone();
    runtimes.sort_by_key(|runtime| runtime["ID"].as_i64());
    json!(runtimes)
}

#[test]
fn without_its_database_it_still_lists_shows_changes_and_deletes_every_runtime() {
    let scene = ServerlessServer::open(quick());
    let flavours = [
        json!({"FAAS": {"FLAVOUR": "Function"}}),
        json!({"FAAS": {"FLAVOUR": "Function"}, "DAAS": {"FLAVOUR": "Data"}}),
        json!({"NAME": "third", "FAAS": {"FLAVOUR": "Seven"}}),
    ];
    let mut ids = Vec::new();
    for (members, release) in flavours.iter().zip(["6.8", "6.8", "7.4"]) {
        scene.tell("/opennebula/release", &json!({"release": release}));
        ids.push(scene.running(&runtime(members)));
    }
    let before = listed(&scene);
    assert_eq!(before.as_array().unwrap().len(), 3);

    let ServerlessServer { server, sandbox, place, .. } = scene;
    assert_eq!(server.stop().code, Some(0));
    let mut lost = 0;
    for entry in fs::read_dir(place.path("data")).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("engine.db") {
            fs::remove_file(path).unwrap();
            lost += 1;
        }
    }
    assert!(lost > 0, "there was no database to lose");
    let scene = ServerlessServer::at(place, sandbox);
    assert_eq!(scene.operations(), [] as [Value; 0]);
    assert_eq!(listed(&scene), before);
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(*scene.get(*id).is(200).seen(), before[number]);
        let larger = runtime(&json!({"NAME": format!("n{number}"), "FAAS": {"FLAVOUR": "", "CPU": 2}}));
        let changed = scene.put(*id, &larger).is(200);
        assert_eq!(
            (&changed.seen()["NAME"], &changed.seen()["FAAS"]["CPU"]),
            (&json!(format!("n{number}")), &json!(2))
        );
        scene.delete(*id).is(204);
    }
    assert_eq!(scene.standing(), NOTHING);
    assert_eq!(listed(&scene), json!([]));
}
