//! Launches as users see them: created, followed, cancelled.

use ::launch::model::signature;
use axum::http::StatusCode;
use engine::Role;
use engine::secret::SecretString;
use serde_json::{Value, json};

use crate::launch_world::{LaunchFixture, LaunchResponse, launch_world_with};
use crate::world::settings;

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPZPsG8crzYvNzP/Y4oJxlnKPqP3HLQPLhyMGbmJv9vR me";
const SECRET: &str = "0123456789abcdef0123456789abcdef";

pub(crate) async fn world() -> (LaunchFixture, i64) {
    let world =
        launch_world_with(settings(), |api_parts| api_parts.callback_secret = Some(SECRET.into())).await;
    world.engine.start(None).await.unwrap();
    world.turn("/image-builder/pace", &delay_times(40)).await;
    world.put("/aws/pace", &json!({"running_ms": 20, "address_ms": 20, "terminate_ms": 20})).await;
    let key = world.post("/pubkeys", &json!({"name": "me", "body": KEY})).await.is_ok();
    let id = key.json["id"].as_i64().unwrap();
    (world, id)
}

fn delay_times(ms: u64) -> Value {
    json!({"pending_ms": ms, "building_ms": ms, "uploading_ms": ms, "registering_ms": ms})
}

fn build() -> Value {
    let options = json!({"share_with_accounts": ["123456789012"]});
    let upload = json!({"type": "aws", "options": options});
    let request = json!({"architecture": "x86_64", "image_type": "aws", "upload_request": upload});
    json!({"build": {"distribution": "rhel-9", "image_name": "web", "image_requests": [request]}})
}

pub(crate) fn parameters(key: i64) -> Value {
    json!({"source_id": "sandbox", "instance_type": "t3.small", "amount": 2, "pubkey_id": key})
}

/// Looks until it is over, by waiting for something new each time.
pub(crate) async fn ended(world: &LaunchFixture, id: &str) -> LaunchResponse {
    let mut etag = String::new();
    for _ in 0..500 {
        let launch_request =
            world.launch_request("GET", &format!("/launches/{id}?wait=5s")).bearer(world.token(Role::Reader));
        let reply = launch_request.header("if-none-match", &etag).send().await;
        if reply.status == 304 {
            continue;
        }
        let reply = reply.is_ok();
        if reply.json["is_over"] == true {
            return reply;
        }
        reply.header("etag").clone_into(&mut etag);
        assert!(!etag.is_empty());
    }
    panic!("{id} is not over");
}

#[tokio::test]
async fn an_image_is_built_and_launched_and_the_same_key_means_the_same_launch() {
    let (world, key) = world().await;
    let body = json!({"provider": "aws", "image": build(), "parameters": parameters(key)});
    let ask = async |body: &Value| {
        let launch_request = world.launch_request("POST", "/launches").bearer(world.token(Role::Launcher));
        launch_request.header("idempotency-key", "one").json(body).send().await
    };
    let first = ask(&body).await;
    assert_eq!(first.status, 202, "{}", first.text);
    let id = first.json["id"].as_str().unwrap().to_owned();
    assert!(first.header("location").ends_with(&format!("/launches/{id}")));
    let again = ask(&body).await;
    assert_eq!((again.status, again.json["id"].as_str()), (202, Some(id.as_str())));
    let mut other = body.clone();
    other["parameters"]["amount"] = json!(3);
    ask(&other).await.is(409, "idempotency_key_reused");
    let end = ended(&world, &id).await.json;
    assert_eq!(end["state"], "succeeded", "{end}");
    assert_eq!(end["instances"].as_array().unwrap().len(), 2);
    assert!(end["steps"].as_array().unwrap().iter().all(|step| step["state"] == "succeeded"), "{end}");
    let number = end["reservation_id"].as_i64().unwrap();
    let reservation = world.get(&format!("/reservations/{number}")).await.is_ok().json;
    assert_eq!((&reservation["success"], &reservation["provider"]), (&json!(true), &json!(2)));
    let titles = ["Build image", "Ensure public key", "Launch instance(s)", "Fetch instance(s) description"];
    assert_eq!(reservation["step_titles"], json!(titles));
    assert_eq!((&reservation["step"], &reservation["steps"]), (&json!(4), &json!(4)));
    world.get(&format!("/reservations/azure/{number}")).await.is(400, "invalid_parameter");
    let aws = world.get(&format!("/reservations/aws/{number}")).await.is_ok().json;
    assert_eq!(aws["instances"].as_array().unwrap().len(), 2, "{aws}");
    assert_eq!((world.standing("ec2/instance").await, world.standing("ec2/key_pair").await), (2, 1));
}

#[tokio::test]
async fn parameters_come_later_and_the_first_valid_ones_count() {
    let (world, key) = world().await;
    let waiting = world.post("/launches", &json!({"provider": "aws", "image": build()})).await;
    let id = waiting.json["id"].as_str().unwrap().to_owned();
    let path = format!("/launches/{id}/parameters");
    let bad = json!({"source_id": "unknown", "amount": 0, "instance_type": "huge", "pubkey_id": 999});
    let refused = world.post(&path, &bad).await.is(422, "invalid_request").json;
    let fields: Vec<&str> = refused["flaws"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|field_error| field_error["field"].as_str())
        .collect();
    for field in ["source_id", "amount", "instance_type", "pubkey_id"] {
        assert!(fields.contains(&field), "{refused}");
    }
    world.post(&path, &parameters(key)).await.is_ok();
    world.post(&path, &parameters(key)).await.is_ok();
    let other = json!({"source_id": "sandbox", "instance_type": "t3.large", "pubkey_id": key});
    world.post(&path, &other).await.is(409, "parameters_given");
    let end = ended(&world, &id).await.json;
    assert_eq!(
        (&end["state"], &end["parameters"]["instance_type"]),
        (&json!("succeeded"), &json!("t3.small"))
    );
}

#[tokio::test]
async fn older_clients_launch_what_is_still_building_and_get_what_they_know() {
    let (world, key) = world().await;
    world.turn("/image-builder/pace", &delay_times(150)).await;
    let built = world.post("/launches", &json!({"provider": "aws", "image": build()})).await.json;
    let id = built["id"].as_str().unwrap().to_owned();
    let mut compose = Value::Null;
    for _ in 0..500 {
        compose = world.get(&format!("/launches/{id}")).await.json["build"]["compose"].clone();
        if compose.is_string() {
            break;
        }
        tokio::task::yield_now().await;
    }
    let old = json!({"source_id": "sandbox", "pubkey_id": key, "image_id": compose, "amount": 1,
        "instance_type": "t3.small", "region": "us-east-1", "name": "old", "unknown": {"is": "ignored"}});
    let made = world.post("/reservations/aws", &old).await.is_ok().json;
    let number = made["reservation_id"].as_i64().unwrap();
    assert_eq!(ended(&world, &number.to_string()).await.json["state"], "succeeded");
    let nothing = world.post("/reservations/noop", &json!({})).await.is_ok().json;
    assert_eq!(nothing, json!({"reservation_id": nothing["reservation_id"]}));
    let noop = nothing["reservation_id"].as_i64().unwrap();
    ended(&world, &noop.to_string()).await;
    let shown = world.get(&format!("/reservations/{noop}")).await.json;
    assert_eq!((&shown["step_titles"], &shown["provider"]), (&json!(["A test step"]), &json!(1)));
    let list = world.get("/reservations").await.is_ok().json;
    let numbers = |list: &Value| -> Vec<i64> {
        list["data"].as_array().unwrap().iter().map(|one| one["id"].as_i64().unwrap()).collect()
    };
    assert!(numbers(&list).is_sorted(), "{list}");
    let mut newest = numbers(&world.get("/reservations?sort=-id").await.is_ok().json);
    newest.reverse();
    assert_eq!(newest, numbers(&list));
    world.post("/reservations/ibm", &json!({})).await.is(400, "invalid_parameter");
    let none = json!({"source_id": "sandbox", "pubkey_id": key, "image_id": "ami-0abc1", "instance_type": "t3.small"});
    let refused = world.post("/reservations/aws", &none).await;
    assert_eq!((refused.status, refused.json["field"].as_str()), (400, Some("amount")), "{}", refused.text);
}

#[tokio::test]
async fn a_launch_that_fails_is_undone_and_one_that_is_given_up_too() {
    let (world, key) = world().await;
    let failing = json!({"action": "RunInstances", "code": "VcpuLimitExceeded", "times": 1});
    world.turn("/aws/faults/fail", &failing).await;
    let body =
        json!({"provider": "aws", "image": {"id": "ami-0abc0000000000001"}, "parameters": parameters(key)});
    let failed = world.post("/launches", &body).await.json;
    let end = ended(&world, failed["id"].as_str().unwrap()).await.json;
    assert_eq!((&end["state"], &end["error"]["category"]), (&json!("failed"), &json!("quota")), "{end}");
    assert!(end["error"]["hint"].is_string(), "{end}");
    assert_eq!((world.standing("ec2/instance").await, world.standing("ec2/key_pair").await), (0, 0));
    let id = failed["id"].as_str().unwrap();
    let control =
        |path: String| world.launch_request("POST", &path).bearer(world.token(Role::Operator)).send();
    control(format!("/launches/{id}/cleanup")).await.is(409, "not_now");
    assert_eq!(control(format!("/launches/{id}/retry")).await.status, 202);
    let again = ended(&world, id).await.json;
    assert_eq!(again["state"], "succeeded", "{again}");
    for query in ["", "?terminate=true"] {
        let refused = control(format!("/launches/{id}/cancel{query}")).await;
        assert!(refused.json["hint"].as_str().unwrap().contains("/terminate"), "{}", refused.text);
        refused.is(409, "not_now");
    }
    world.turn("/image-builder/faults/hold", &json!({})).await;
    let slow = world.post("/launches", &json!({"provider": "aws", "image": build()})).await.json;
    let slow = slow["id"].as_str().unwrap();
    assert_eq!(control(format!("/launches/{slow}/cancel")).await.status, 202);
    assert_eq!(ended(&world, slow).await.json["state"], "cancelled");
    control(format!("/launches/{slow}/cancel")).await.is(409, "not_now");
}

#[tokio::test]
async fn what_belongs_to_others_is_not_found() {
    let (world, key) = world().await;
    let body =
        json!({"provider": "aws", "image": {"id": "ami-0abc0000000000001"}, "parameters": parameters(key)});
    let made = world.post("/launches", &body).await.json;
    let (id, number) = (made["id"].as_str().unwrap(), made["reservation_id"].as_i64().unwrap());
    ended(&world, id).await;
    world.rbac.grant("eve", &["provisioning:*:*"]);
    world.rbac.grant("gus", &["provisioning:reservation:*", "provisioning:reservation.gcp:*"]);
    for (method, path) in [
        ("GET", format!("/launches/{id}")),
        ("GET", format!("/launches/{number}")),
        ("GET", format!("/launches/{id}/events")),
        ("GET", format!("/reservations/{number}")),
        ("GET", format!("/reservations/aws/{number}")),
        ("POST", format!("/launches/{id}/cancel?terminate=true")),
        ("POST", format!("/launches/{id}/retry")),
        ("POST", format!("/launches/{id}/cleanup")),
        ("POST", format!("/launches/{id}/detach")),
    ] {
        world.launch_request(method, &path).as_user("another", "eve").send().await.is(404, "not_found");
        // The same organisation, but only launches of another cloud.
        let gus = world.launch_request(method, &path).as_user(crate::launch_world::ORG, "gus").send().await;
        assert_eq!(gus.status, 403, "{method} {path}: {}", gus.text);
    }
    let foreign =
        world.launch_request("POST", &format!("/launches/{id}/parameters")).as_user("another", "eve");
    foreign.json(&parameters(key)).send().await.is(404, "not_found");
    for path in ["/launches", "/reservations", "/inventory"] {
        let list = world.launch_request("GET", path).as_user("another", "eve").send().await.is_ok();
        assert_eq!(list.json["data"], json!([]), "{path}");
        assert_ne!(world.get(path).await.is_ok().json["data"], json!([]), "{path}");
    }
}

#[tokio::test]
async fn a_callback_needs_a_fresh_signature_and_only_makes_the_launch_look() {
    let (world, key) = world().await;
    world.turn("/image-builder/faults/hold", &json!({})).await;
    let body =
        json!({"provider": "aws", "profile": "images", "image": build(), "parameters": parameters(key)});
    let made = world.post("/launches", &body).await.json;
    let id = made["id"].as_str().unwrap().to_owned();
    let now = engine::Clock::now(&*world.clock).millis() / 1000;
    let call = async |path: &str, seconds: i64, secret: &str, body: &str| {
        let signed = signature(&SecretString::from(secret), seconds, body.as_bytes());
        let launch_request =
            world.launch_request("POST", path).header("provision-engine-timestamp", seconds.to_string());
        let launch_request = launch_request.header("provision-engine-signature", signed);
        launch_request.header("content-type", "application/json").body(body.to_owned()).send().await
    };
    let path = format!("/launches/{id}/image-ready");
    let named = |launch: &str| json!({"launch_id": launch}).to_string();
    call(&path, now, "another secret of thirty-two chars", &named(&id)).await.is(401, "bad_signature");
    call(&path, now - 301, SECRET, &named(&id)).await.is(401, "bad_signature");
    // What was signed for one launch, or for a build, is of no use for another launch.
    let other = "00000000-0000-7000-8000-000000000000";
    for (body, code) in [(named(other), "invalid_parameter"), ("{}".to_owned(), "invalid_body")] {
        assert_eq!(call(&path, now, SECRET, &body).await.is(400, code).status, 400);
    }
    world.launch_request("POST", &path).send().await.is(401, "bad_signature");
    // Early, twice, and about a launch that does not exist: the answer tells nothing, and nothing happens.
    for launch in [id.as_str(), &id, other] {
        let early = call(&format!("/launches/{launch}/image-ready"), now, SECRET, &named(launch)).await;
        assert_eq!(early.status, StatusCode::ACCEPTED.as_u16());
    }
    let mut state = Value::Null;
    for _ in 0..5000 {
        state = world.get(&format!("/launches/{id}")).await.json["state"].clone();
        if state == "building" {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(state, "building");
    let mut compose = Value::Null;
    for _ in 0..5000 {
        compose = world.get(&format!("/launches/{id}")).await.json["build"]["compose"].clone();
        if compose.is_string() {
            break;
        }
        tokio::task::yield_now().await;
    }
    world.turn(&format!("/image-builder/composes/{}/release", compose.as_str().unwrap()), &json!({})).await;
    let said = json!({"compose_id": compose}).to_string();
    // This profile does not poll, so it takes a callback after the build is over.
    for _ in 0..5000 {
        assert_eq!(call("/image-ready", now, SECRET, &said).await.status, 202);
        if world.get(&format!("/launches/{id}")).await.json["state"] != "building" {
            break;
        }
    }
    assert_eq!(ended(&world, &id).await.json["state"], "succeeded");
    assert_eq!(world.standing("ec2/instance").await, 2);
}
