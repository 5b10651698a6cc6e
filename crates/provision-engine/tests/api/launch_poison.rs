//! What stands in the way of a request and must not: a record that cannot be read, and clouds that are slow.

use std::time::Duration;

use engine::Role;
use engine::store::{Expect, RecordUpdate};
use serde_json::json;
use server::ServerSettings;

use crate::launch_lives::{parameters, world};
use crate::launch_world::{ORG, launch_world_with};
use crate::world::settings;

#[tokio::test]
async fn lists_show_the_launches_that_can_be_read() {
    let (world, key) = world().await;
    let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    // Three that are older than the launch, and three that are newer: a list begins with either.
    let unreadable = async |number: u8| {
        let record_update = RecordUpdate {
            kind: "launch".into(),
            record: "{}".into(),
            labels: vec![label("provider", "aws"), label("state", "active")],
            gone_at: None,
            due_at: None,
        };
        let (name, tenant) = (format!("launch:{number:032}"), format!("org:{ORG}"));
        assert!(
            world.engine.write_resource(&name, &tenant, Expect::Absent, Some(record_update)).await.unwrap()
        );
    };
    for number in 0..3 {
        unreadable(number).await;
    }
    let image = json!({"id": "ami-0abc0000000000001"});
    let body = json!({"provider": "aws", "image": image, "parameters": parameters(key)});
    let asked = world.post("/launches", &body).await;
    assert_eq!(asked.status, 202, "{}", asked.text);
    for number in 3..6 {
        unreadable(number).await;
    }
    for path in ["/launches", "/reservations", "/reservations?sort=-id"] {
        let listed = world.get(path).await.is_ok().json;
        assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{path}: {listed}");
    }
}

#[tokio::test]
async fn a_key_is_forgotten_at_once_however_long_its_key_pairs_take() {
    // No node works here: the operation waits.
    let settings = ServerSettings { request_timeout: Duration::from_secs(2), ..settings() };
    let world = launch_world_with(settings, |_| {}).await;
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPZPsG8crzYvNzP/Y4oJxlnKPqP3HLQPLhyMGbmJv9vR me";
    let id = world.post("/pubkeys", &json!({"name": "me", "body": key})).await.is_ok().json["id"].clone();
    let path = format!("/pubkeys/{id}");
    let gone = world.launch_request("DELETE", &path).bearer(world.token(Role::Launcher)).send().await;
    assert_eq!(gone.status, 202, "{}", gone.text);
    assert!(gone.json["warnings"][0].as_str().unwrap().contains("still deleting"), "{}", gone.text);
    world.get(&path).await.is(404, "not_found");
}
