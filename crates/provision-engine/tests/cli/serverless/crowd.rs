//! Many devices at once, in front of a daemon that takes 15 connections.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::{NOTHING, Scene, function, quick, runtime};

const DEVICES: usize = 200;
const RUNTIMES: usize = 5;
/// The engine takes about 8 of the 15 unless it is told otherwise; a few may be closing while others are opened.
const CONNECTIONS: u64 = 12;

#[test]
fn two_hundred_devices_at_once_get_what_they_ask_for_over_few_connections() {
    let scene = Scene::open(quick());
    let ids: Vec<i64> = (0..RUNTIMES).map(|_| scene.made(&function("Function"))).collect();
    for id in &ids {
        scene.until_state(*id, "RUNNING");
    }
    let (device, ids) = (&scene.device, &ids);
    let answers = scene.runtime.block_on(join_all((0..DEVICES).map(|number| async move {
        let id = ids[number % ids.len()];
        match number {
            // One change for each runtime, so that none is in the way of another.
            0..RUNTIMES => {
                let body = runtime(&json!({"FAAS": {"FLAVOUR": "", "CPU": 2}}));
                (200, device.put(id, &body).await)
            }
            RUNTIMES..10 => (201, device.post(&function("Function")).await),
            _ => {
                device.get(id).await.is(200);
                (200, device.get(id).await)
            }
        }
    })));
    for (status, answer) in answers {
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    let counts = scene.look("/opennebula/connections");
    let peak = counts["peak"].as_u64().unwrap();
    assert!(peak > 1 && peak <= CONNECTIONS, "{counts}");
    let path = super::RUNTIMES;
    let listed = scene.send(device.ask(Method::GET, path)).is(200).json;
    let listed: Vec<i64> = listed["SERVERLESS_RUNTIMES"]
        .as_array()
        .unwrap()
        .iter()
        .map(|runtime: &Value| runtime["ID"].as_i64().unwrap())
        .collect();
    assert_eq!(listed.len(), 2 * RUNTIMES);
    let gone = scene.runtime.block_on(join_all(listed.iter().map(|id| device.delete(*id))));
    assert!(gone.iter().all(|answer| answer.status == 204), "{gone:?}");
    assert_eq!(scene.standing(), NOTHING);
}
