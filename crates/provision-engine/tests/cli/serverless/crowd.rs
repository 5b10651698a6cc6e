//! Many devices at once, in front of a daemon that takes 15 connections.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::{NOTHING, ServerlessServer, function, quick, runtime};

const DEVICES: usize = 200;
const RUNTIMES: usize = 5;
/// The engine takes about 8 of the 15 unless it is told otherwise; a few may be closing while others are opened.
const CONNECTIONS: u64 = 12;

#[test]
fn two_hundred_devices_at_once_get_what_they_ask_for_over_few_connections() {
    let scene = ServerlessServer::open(quick());
    let ids: Vec<i64> = (0..RUNTIMES).map(|_| scene.made(&function("Function"))).collect();
    for id in &ids {
        scene.until_state(*id, "RUNNING");
    }
    let (client, ids) = (&scene.client, &ids);
    let answers = scene.runtime.block_on(join_all((0..DEVICES).map(|number| async move {
        let id = ids[number % ids.len()];
        match number {
            // One change for each runtime, so that none is in the way of another.
            0..RUNTIMES => {
                let body = runtime(&json!({"FAAS": {"FLAVOUR": "", "CPU": 2}}));
                (200, client.put(id, &body).await)
            }
            RUNTIMES..10 => (201, client.post(&function("Function")).await),
            _ => {
                client.get(id).await.is(200);
                (200, client.get(id).await)
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
    let listed = scene.send(client.ask(Method::GET, path)).is(200).json;
    let listed: Vec<i64> = listed["SERVERLESS_RUNTIMES"]
        .as_array()
        .unwrap()
        .iter()
        .map(|runtime: &Value| runtime["ID"].as_i64().unwrap())
        .collect();
    assert_eq!(listed.len(), 2 * RUNTIMES);
    let gone = scene.runtime.block_on(join_all(listed.iter().map(|id| client.delete(*id))));
    assert!(gone.iter().all(|answer| answer.status == 204), "{gone:?}");
    assert_eq!(scene.standing(), NOTHING);
}
