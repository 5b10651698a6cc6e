//! Instances as users see them: listed, shown and terminated.

use engine::{AccessStore, Role};
use serde_json::{Value, json};

use crate::launch_lives::{ended, parameters, world};
use crate::launch_world::{LaunchFixture, LaunchResponse, ORG};

async fn delete(world: &LaunchFixture, id: &str) -> LaunchResponse {
    world
        .launch_request("DELETE", &format!("/inventory/{id}"))
        .bearer(world.token(Role::Launcher))
        .send()
        .await
}

/// Looks until the end of a machine is no longer under way.
async fn gone(world: &LaunchFixture, id: &str) -> Value {
    for _ in 0..2000 {
        let seen = world.get(&format!("/inventory/{id}")).await.is_ok().json;
        if seen["termination"]["state"] != "terminating" {
            return seen;
        }
        tokio::task::yield_now().await;
    }
    panic!("{id} does not end");
}

#[tokio::test]
async fn machines_of_a_launch_that_is_over_are_terminated_by_who_may() {
    let (world, key) = world().await;
    let image = json!({"id": "ami-0abc0000000000001"});
    let mut body = json!({"provider": "aws", "image": image, "parameters": parameters(key)});
    body["parameters"]["amount"] = json!(3);
    let launch = world.post("/launches", &body).await.json["id"].as_str().unwrap().to_owned();
    let end = ended(&world, &launch).await.json;
    let ids: Vec<&str> =
        end["instances"].as_array().unwrap().iter().map(|one| one["instance_id"].as_str().unwrap()).collect();
    let path = format!("/inventory/{}", ids[0]);
    let seen = world.get(&path).await.is_ok().json;
    assert_eq!((&seen["state"], &seen["termination"]), (&json!("running"), &Value::Null), "{seen}");

    world.rbac.grant("ann", &["provisioning:*:*"]);
    world.rbac.grant("ben", &["provisioning:reservation:control", "provisioning:reservation.gcp:control"]);
    world.rbac.grant("cem", &["provisioning:*:read"]);
    for user in ["ben", "cem"] {
        world.launch_request("DELETE", &path).as_user(ORG, user).send().await.is(403, "forbidden");
    }
    let unknown = world
        .launch_request("DELETE", "/inventory/i-0")
        .as_user("77", "ann")
        .send()
        .await
        .is(404, "not_found");
    for method in ["DELETE", "GET"] {
        let foreign =
            world.launch_request(method, &path).as_user("77", "ann").send().await.is(404, "not_found");
        assert_eq!(foreign.json["error"], unknown.json["error"]);
    }
    let terminate = format!("/launches/{launch}/terminate");
    world.launch_request("POST", &terminate).as_user("77", "ann").send().await.is(404, "not_found");
    assert_eq!(world.standing("ec2/instance").await, 3);

    let asked = delete(&world, ids[0]).await;
    assert_eq!((asked.status, &asked.json["state"]), (202, &json!("terminating")), "{}", asked.text);
    let over = gone(&world, ids[0]).await;
    assert_eq!((&over["state"], &over["termination"]["state"]), (&json!("terminated"), &json!("terminated")));
    assert_eq!(delete(&world, ids[0]).await.json["state"], "terminated");
    assert_eq!(world.standing("ec2/instance").await, 2);

    let rest = world.post(&terminate, &json!({})).await;
    let states: Vec<&Value> = rest.json["data"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!((rest.status, states.len()), (202, 3), "{}", rest.text);
    for id in &ids[1..] {
        gone(&world, id).await;
    }
    assert_eq!(world.standing("ec2/instance").await, 0);
    let shown = world.get(&format!("/launches/{launch}")).await.is_ok().json;
    assert_eq!((&shown["state"], &shown["steps"]), (&end["state"], &end["steps"]), "nothing else is lost");
    assert!(shown["instances"].as_array().unwrap().iter().all(|one| one["state"] == "terminated"));
    let rows = world.store.audit_log(100).await.unwrap();
    let told = |action: &str| rows.iter().filter(|row| row.action == action).count();
    assert_eq!((told("instance.terminate"), told("launch.terminate")), (6, 2));
}

#[tokio::test]
async fn a_table_of_the_inventory_says_where_it_goes_on() {
    let (world, key) = world().await;
    let image = json!({"id": "ami-0abc0000000000001"});
    let body = json!({"provider": "aws", "image": image, "parameters": parameters(key)});
    for _ in 0..2 {
        let launch = world.post("/launches", &body).await.json["id"].as_str().unwrap().to_owned();
        ended(&world, &launch).await;
    }
    let first = world.get("/inventory?format=csv&limit=1").await.is_ok();
    assert_eq!(first.text.lines().count(), 3, "{}", first.text);
    let link = first.header("link").strip_suffix(">; rel=\"next\"").unwrap().to_owned();
    let next = link.strip_prefix(&format!("<{}", ::launch::api::BASE)).unwrap();
    let second = world.get(next).await.is_ok();
    assert_eq!(second.text.lines().count(), 3, "{}", second.text);
    assert_ne!(first.text, second.text);
    let all = world.get("/inventory?format=csv").await.is_ok();
    assert_eq!((all.text.lines().count(), all.header("link")), (5, ""));
}

#[tokio::test]
async fn newest_first_every_instance_comes_once_while_others_are_launched() {
    let (world, key) = world().await;
    let image = json!({"id": "ami-0abc0000000000001"});
    let mut parameters = parameters(key);
    parameters["amount"] = json!(1);
    let body = json!({"provider": "aws", "image": image, "parameters": parameters});
    let mut launches = Vec::new();
    for _ in 0..4 {
        let launch = world.post("/launches", &body).await.json["id"].as_str().unwrap().to_owned();
        ended(&world, &launch).await;
        launches.insert(0, launch);
    }
    let of = |page: &Value| -> Vec<String> {
        page["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["launch_id"].as_str().unwrap().to_owned())
            .collect()
    };
    let mut page = world.get("/inventory?limit=2").await.is_ok().json;
    let mut seen = of(&page);
    ended(&world, world.post("/launches", &body).await.json["id"].as_str().unwrap()).await;
    while let Some(next) = page["next"].as_str().and_then(|next| next.strip_prefix(::launch::api::BASE)) {
        page = world.get(next).await.is_ok().json;
        seen.extend(of(&page));
    }
    assert_eq!(seen, launches);
    launches.reverse();
    let oldest = world.get("/inventory?sort=launched_at&limit=2").await.is_ok().json;
    assert_eq!(of(&oldest), launches[..2]);
    // A link of an older release has no order.
    let after = oldest["data"][1]["reservation_id"].as_i64().unwrap();
    let rest = world.get(&format!("/inventory?after={after}&limit=2")).await.is_ok().json;
    assert_eq!(of(&rest), launches[2..]);
    world.get("/inventory?after=x").await.is(400, "invalid_parameter");
    world.get("/inventory?sort=name").await.is(400, "invalid_parameter");
}
