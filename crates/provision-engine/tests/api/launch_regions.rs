//! Launches that name no region: each goes where its image is.

use engine::Role;
use serde_json::{Value, json};

use crate::launch_lives::world;
use crate::launch_world::{LaunchFixture, ORG};

const SUBSCRIPTION: &str = "4b9d213f-712f-4d17-a483-8a10bbe9df3a";

fn image(group: &str, name: &str) -> String {
    format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/{group}/providers/Microsoft.Compute/images/{name}")
}

/// An account at Azure, whose group `images-eu` has an image in the west of Europe.
async fn world_with_images() -> (LaunchFixture, i64) {
    let (world, key) = world().await;
    world.put("/azure/delegations", &json!({"subscription": SUBSCRIPTION, "orgs": [ORG]})).await;
    let there = json!({"id": image("images-eu", "web"), "location": "westeurope", "generation": "V2"});
    world.turn("/azure/images", &there).await;
    (world, key)
}

fn body(image: &Value, key: i64) -> Value {
    let parameters = json!({
        "source_id": "sandbox-azure", "instance_type": "Standard_B2s", "amount": 1, "pubkey_id": key,
    });
    json!({"provider": "azure", "image": image, "parameters": parameters})
}

#[tokio::test]
async fn a_launch_at_azure_without_a_region_goes_where_its_image_is() {
    let (world, key) = world_with_images().await;
    let build = json!({"build": {"distribution": "rhel-9", "image_requests": [{
        "architecture": "x86_64", "image_type": "azure",
        "upload_request": {"type": "azure", "options": {
            "tenant_id": "c0570000-0000-4000-8000-000000000001", "subscription_id": SUBSCRIPTION,
            "resource_group": "images-eu",
        }},
    }]}});
    let cases = [
        (json!({"id": image("images-eu", "web")}), "westeurope"),
        (json!({"id": image("images", "rhel-9")}), "eastus"),
        (build, "westeurope"),
    ];
    for (image, region) in cases {
        let made = world.post("/launches", &body(&image, key)).await;
        assert_eq!(made.status, 202, "{}", made.text);
        assert_eq!(made.json["parameters"]["region"], region, "{image}");
    }
    // The original's path, which calls it a location.
    let reservation = json!({"pubkey_id": key, "source_id": "sandbox-azure", "amount": 1,
        "image_id": image("images-eu", "web"), "instance_size": "Standard_B2s"});
    let made = world.post("/reservations/azure", &reservation).await.is_ok().json;
    let shown = world.get(&format!("/launches/{}", made["reservation_id"])).await.is_ok().json;
    assert_eq!(shown["parameters"]["region"], "westeurope");
}

#[tokio::test]
async fn the_same_request_without_a_region_is_the_same_launch() {
    let (world, key) = world_with_images().await;
    let body = body(&json!({"id": image("images-eu", "web")}), key);
    let ask = async || {
        let request = world.launch_request("POST", "/launches").bearer(world.token(Role::Launcher));
        request.header("idempotency-key", "once").json(&body).send().await
    };
    let (first, again) = (ask().await, ask().await);
    assert_eq!((first.status, again.status), (202, 202), "{}", again.text);
    assert_eq!(first.json["id"], again.json["id"]);
}

#[tokio::test]
async fn a_region_that_cannot_be_looked_up_is_asked_for_and_not_guessed() {
    let (world, key) = world_with_images().await;
    let wanted = body(&json!({"id": image("images-eu", "web")}), key);
    world.put("/azure/delegations", &json!({"subscription": SUBSCRIPTION, "orgs": ["other"]})).await;
    let refused = world.post("/launches", &wanted).await;
    assert_eq!((refused.status, &refused.json["field"]), (400, &json!("region")), "{}", refused.text);
    assert!(refused.text.contains("name the region of the image"), "{}", refused.text);
    let mut named = wanted;
    named["parameters"]["region"] = json!("westeurope");
    assert_eq!(world.post("/launches", &named).await.status, 202);
}

#[tokio::test]
async fn an_account_says_where_an_image_is_and_where_images_go() {
    let (world, _) = world_with_images().await;
    let region = async |query: &str| {
        let info = world.get(&format!("/sources/sandbox-azure/upload_info{query}")).await.is_ok().json;
        info["region"].clone()
    };
    assert_eq!(region("").await, "eastus", "the group `images` is the first");
    assert_eq!(region(&format!("?image_id={}", image("images-eu", "web"))).await, "westeurope");
    assert_eq!(region(&format!("?image_id={}", image("images-eu", "unbuilt"))).await, "westeurope");
    let other = image("images", "web").replace("4b9d213f", "5b9d213f");
    let refused = world.get(&format!("/sources/sandbox-azure/upload_info?image_id={other}")).await;
    assert!((400..500).contains(&refused.status), "{}", refused.text);
    let aws = world.get("/sources/sandbox/upload_info?image_id=ami-0abc0000000000001").await.is_ok().json;
    assert_eq!(aws.get("region"), None);
}
