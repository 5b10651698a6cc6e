//! What clients of the hosted service rely on without a description: paths in two ways, bodies that may be missing,
//! fields that are always there, and the one sentence that they show.

use ::launch::api::BASE;
use ::launch::api::rights::{Needs, RIGHTS};
use engine::Role;
use serde_json::{Value, json};

use crate::launch_lives::{ended, parameters, world};
use crate::launch_world::{ORG, launch_world};

#[tokio::test]
async fn every_path_answers_with_and_without_a_slash_at_its_end() {
    let world = launch_world().await;
    world.engine.start(None).await.unwrap();
    for right in RIGHTS.iter().filter(|right| right.needs != Needs::Signature) {
        let path = right.path.replace("{ID}", "7").replace("{id}", "7").replace("{PROVIDER}", "aws");
        let path =
            path.replace("{SRV}", "rbac").replace("{FLAG}", "provisioning.x").replace("{name}", "centos-9");
        let ask = async |path: &str| {
            let launch_request =
                world.launch_request(right.method.as_str(), path).bearer(world.token(Role::Launcher));
            let reply = launch_request.header("content-type", "application/json").body("{}").send().await;
            (reply.status, reply.json["code"].clone())
        };
        let (plain, slashed) = (ask(&path).await, ask(&format!("{path}/")).await);
        assert_eq!(plain, slashed, "{} {path}", right.method);
        assert_ne!(plain.0, 405, "{} {path}", right.method);
    }
    let paged = world.get("/pubkeys/?limit=5&offset=0").await.is_ok();
    assert_eq!(paged.json["metadata"]["total"], 0);
    world.get("/nothing/").await.is(404, "not_found");
    // A provider that does not exist is a bad request, with and without a number behind it.
    for path in ["/reservations/ibm", "/reservations/ibm/", "/reservations/ibm/7"] {
        let method = if path.ends_with('7') { "GET" } else { "POST" };
        let reply = world.launch_request(method, path).bearer(world.token(Role::Launcher)).send().await;
        assert_eq!(reply.is(400, "invalid_parameter").json["field"], "type", "{path}");
    }
}

#[tokio::test]
async fn a_launch_of_nothing_needs_no_body() {
    let (world, _) = world().await;
    let made =
        world.launch_request("POST", "/reservations/noop").bearer(world.token(Role::Launcher)).send().await;
    let number = made.is_ok().json["reservation_id"].as_i64().unwrap();
    assert_eq!(ended(&world, &number.to_string()).await.json["state"], "succeeded");
    let shown = world.get(&format!("/reservations/noop/{number}/")).await.is_ok();
    assert_eq!(shown.json, json!({"reservation_id": number}));
}

#[tokio::test]
async fn the_message_of_an_error_says_what_is_wrong_and_what_to_do() {
    let (world, key) = world().await;
    let mut body = json!({"pubkey_id": key, "source_id": "sandbox", "amount": 99,
        "image_id": "ami-0abc0000000000001", "instance_type": "t3.small"});
    let wrong = world.post("/reservations/aws", &body).await.is(400, "invalid_request");
    let msg = wrong.json["msg"].as_str().unwrap();
    assert!(msg.contains("amount") && msg.contains("1 to 45"), "{msg}");
    body["amount"] = json!(1);
    body["source_id"] = json!("nobodys");
    let missing = world.post("/reservations/aws", &body).await.is(404, "not_found");
    let msg = missing.json["msg"].as_str().unwrap();
    assert!(msg.contains("there is no such source") && msg.contains("choose one of your sources"), "{msg}");
    assert_eq!(world.get("/pubkeys/987").await.json["msg"], "there is no such public key");
}

#[tokio::test]
async fn fields_that_clients_read_are_there_when_they_are_empty() {
    let (world, key) = world().await;
    let sources = world.get("/sources").await.is_ok().json;
    assert_eq!(sources["data"][0]["source_type_id"], "1");
    let templates =
        world.get("/sources/sandbox/launch_templates?region=us-east-1&limit=1").await.is_ok().json;
    assert_eq!(templates["metadata"]["links"]["previous"], "");
    let body = json!({"pubkey_id": key, "source_id": "sandbox", "amount": 1,
        "image_id": "ami-0abc0000000000001", "instance_type": "t3.small"});
    let made = world.post("/reservations/aws", &body).await.is_ok().json;
    let number = made["reservation_id"].as_i64().unwrap();
    let expected = json!({
        "reservation_id": number, "pubkey_id": key, "source_id": "sandbox", "amount": 1,
        "image_id": "ami-0abc0000000000001", "instance_type": "t3.small", "region": "us-east-1",
        "name": "", "launch_template_id": "", "poweroff": false,
    });
    assert_eq!(made, expected);
    ended(&world, &number.to_string()).await;
    let shown = world.get(&format!("/reservations/aws/{number}")).await.is_ok().json;
    assert_eq!(shown["launch_template_id"], "");
    assert!(shown["aws_reservation_id"].is_string(), "{shown}");
    assert_eq!(shown["instances"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn reservations_at_azure_and_google_have_the_words_of_their_cloud() {
    let (world, key) = world().await;
    let image = "/subscriptions/4b9d213f-712f-4d17-a483-8a10bbe9df3a/resourceGroups/images/providers/\
                 Microsoft.Compute/images/web";
    let azure = json!({"pubkey_id": key, "source_id": "sandbox-azure", "amount": 1, "image_id": image,
        "instance_size": "Standard_B2s", "location": "westeurope", "resource_group": "images", "name": "web",
        "poweroff": false});
    let google = json!({"pubkey_id": key, "source_id": "sandbox-gcp", "amount": 1,
        "image_id": "projects/rhel-cloud/global/images/rhel-9-v20260101", "machine_type": "e2-medium",
        "zone": "us-central1-a", "name_pattern": "web", "launch_template_id": "", "poweroff": false});
    for (cloud, body, titles) in [
        ("azure", azure, ["Prepare resource group", "Launch instance(s)"]),
        ("gcp", google, ["Launch instance(s)", "Fetch instance(s) description"]),
    ] {
        let made = world.post(&format!("/reservations/{cloud}"), &body).await.is_ok().json;
        let number = made["reservation_id"].as_i64().unwrap();
        let mut expected = body;
        expected["reservation_id"] = json!(number);
        assert_eq!(made, expected);
        let shown = world.get(&format!("/reservations/{number}")).await.is_ok().json;
        assert_eq!((&shown["step_titles"], &shown["steps"]), (&json!(titles), &json!(2)));
    }
}

#[tokio::test]
async fn accounts_at_azure_and_google_say_where_images_go_and_what_they_forbid() {
    const SUBSCRIPTION: &str = "4b9d213f-712f-4d17-a483-8a10bbe9df3a";
    const TENANT: &str = "c0570000-0000-4000-8000-000000000001";
    let (world, _) = world().await;
    world.put("/azure/delegations", &json!({"subscription": SUBSCRIPTION, "orgs": [ORG]})).await;
    let project = json!({"labels": {"provision-engine-org": ORG}});
    world.put("/gcp/projects/sandbox-project-7", &project).await;
    let info = world.get("/sources/sandbox-azure/upload_info").await.is_ok().json;
    let account =
        json!({"tenant_id": TENANT, "subscription_id": SUBSCRIPTION, "resource_groups": ["images"]});
    let options = json!({"tenant_id": TENANT, "subscription_id": SUBSCRIPTION, "resource_group": "images"});
    assert_eq!((&info["azure"], &info["upload_options"]), (&account, &options));
    for cloud in ["azure", "gcp"] {
        let found = world.get(&format!("/sources/sandbox-{cloud}/validate_permissions")).await.is_ok().json;
        assert_eq!((&found["valid"], &found["missing_entities"]), (&json!(true), &json!([])), "{found}");
    }
    let actions = json!({"subscription": SUBSCRIPTION, "orgs": [ORG], "actions": ["*/read"]});
    world.put("/azure/delegations", &actions).await;
    let project = json!({"labels": {"provision-engine-org": ORG}, "denied": ["compute.instances.delete"]});
    world.put("/gcp/projects/sandbox-project-7", &project).await;
    for (cloud, missing) in
        [("azure", "Microsoft.Compute/virtualMachines/delete"), ("gcp", "compute.instances.delete")]
    {
        let found = world.get(&format!("/sources/sandbox-{cloud}/validate_permissions")).await.is_ok().json;
        let all = found["missing_entities"].as_array().unwrap();
        assert!(found["valid"] == false && all.contains(&json!(missing)), "{found}");
        assert!(!all.iter().any(|one| one.as_str().unwrap().ends_with("/read")), "{found}");
    }
    // Another organisation's account tells nothing.
    world.put("/azure/delegations", &json!({"subscription": SUBSCRIPTION, "orgs": ["other"]})).await;
    world.put("/gcp/projects/sandbox-project-7", &json!({"labels": {"provision-engine-org": "other"}})).await;
    let found = world.get("/sources/sandbox-azure/validate_permissions").await.is_ok().json;
    assert_eq!(found["missing_entities"], json!(["Microsoft.Resources/subscriptions/read"]));
}

#[tokio::test]
async fn an_image_for_google_must_be_shared_with_us_before_it_is_built() {
    let (world, key) = world().await;
    let us = "serviceAccount:provision-engine@sandbox.iam.gserviceaccount.com";
    let body = |members: Value| {
        json!({
            "provider": "gcp",
            "image": {"build": {"distribution": "rhel-9", "image_requests": [{
                "architecture": "x86_64", "image_type": "gcp",
                "upload_request": {"type": "gcp", "options": {"share_with_accounts": members}},
            }]}},
            "parameters": {"source_id": "sandbox-gcp", "instance_type": "e2-medium", "amount": 1, "pubkey_id": key},
        })
    };
    for (members, field) in [
        (json!([]), "build.image_requests[0].upload_request.options"),
        (json!(["ada"]), "build.image_requests[0].upload_request.options.share_with_accounts"),
        (json!(["user:ada@example.org"]), "source_id"),
    ] {
        let answer = world.post("/launches", &body(members)).await;
        assert_eq!((answer.status, &answer.json["field"]), (400, &json!(field)), "{}", answer.text);
    }
    for members in [json!([us]), json!(["user:ada@example.org", us]), json!(["domain:example.org"])] {
        // Six launches in a row may be more than a second allows.
        let answer = loop {
            let answer = world.post("/launches", &body(members.clone())).await;
            if answer.json["code"] != "too_fast" {
                break answer;
            }
        };
        assert_eq!(answer.status, 202, "{}", answer.text);
    }
}

#[tokio::test]
async fn the_root_has_a_ping_and_the_description_for_all() {
    let world = launch_world().await;
    for slash in ["", "/"] {
        let ping = world.at_root(&format!("/ping{slash}")).await;
        assert_eq!((ping.status, ping.text.as_str()), (200, ""));
        let document = world.at_root(&format!("/docs/openapi.json{slash}")).await;
        assert_eq!(document.json, serde_json::to_value(::launch::api::openapi()).unwrap());
    }
    assert!(world.at_root("/docs").await.text.contains("docs/launch"));
    let moved = world.at_root("/docs/").await;
    assert_eq!((moved.status, moved.header("location")), (308, "/docs"));
    let page = world.at_root("/docs/launch").await;
    assert!(page.header("content-type").starts_with("text/html"), "{:?}", page.headers);
    assert!(page.text.contains(&format!("{BASE}/reservations/aws")), "{}", page.text);
    assert!(!page.text.contains("<script") && !page.text.contains("src="), "it loads nothing: {}", page.text);
}

#[tokio::test]
async fn pages_have_bounds_and_their_links_follow_them() {
    let (world, key) = world().await;
    let image = json!({"id": "ami-0abc0000000000001"});
    let body = json!({"provider": "aws", "image": image, "parameters": parameters(key)});
    for _ in 0..2 {
        let launch = world.post("/launches", &body).await.json["id"].as_str().unwrap().to_owned();
        ended(&world, &launch).await;
    }
    for (query, limit) in [("limit=100000", 100), ("limit=0", 100), ("limit=-3", 100), ("limit=1", 1)] {
        let page = world.get(&format!("/inventory?{query}")).await.is_ok().json;
        let next = page["next"].as_str().unwrap();
        assert!(next.is_empty() || next.contains(&format!("limit={limit}")), "{query}: {next}");
        assert_eq!(next.is_empty(), limit == 100, "{query}: {next}");
    }
    let only = async |provider: &str| {
        world.get(&format!("/inventory?provider={provider}&limit=1")).await.is_ok().json
    };
    let aws = only("aws").await;
    assert_eq!(aws["data"].as_array().unwrap().len(), 2);
    assert!(aws["next"].as_str().unwrap().ends_with("&provider=aws"), "{aws}");
    assert_eq!(only("gcp").await["data"], json!([]));
    let wrong = world.get("/inventory?provider=ibm").await.is(400, "invalid_parameter");
    assert_eq!(wrong.json["field"], "provider");
    let api = serde_json::to_value(::launch::api::openapi()).unwrap();
    let mut bounded = 0;
    for (path, item) in api["paths"].as_object().unwrap() {
        for parameter in item["get"]["parameters"].as_array().into_iter().flatten() {
            if [json!("limit"), json!("offset")].contains(&parameter["name"]) {
                let schema = &parameter["schema"];
                let has_bounds = schema["minimum"].is_number() && schema["maximum"].is_number();
                assert!(has_bounds, "{path} {parameter}");
                bounded += 1;
            }
        }
    }
    assert!(bounded >= 10, "{bounded}");
}

#[tokio::test]
async fn a_key_may_be_called_what_people_are_called() {
    let world = launch_world().await;
    let name = "Zoë 鍵 🔑 ".to_owned() + &"ü".repeat(247);
    assert_eq!(name.chars().count(), 255);
    let body = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPPEx6w7/lJ+pCpC+1KebnLCSkUBdxig0C67vVby4Vi6";
    let keep = async |name: &str| world.post("/pubkeys", &json!({"name": name, "body": body})).await;
    for bad in [format!("{name}ü"), "a\u{7}b".to_owned(), "  ".to_owned(), String::new()] {
        assert_eq!(keep(&bad).await.is(400, "invalid_request").json["field"], "name");
    }
    let kept = keep(&name).await.is_ok().json;
    let shown: Value = world.get(&format!("/pubkeys/{}", kept["id"])).await.is_ok().json;
    assert_eq!(shown["name"], name.as_str());
}
