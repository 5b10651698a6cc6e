//! Launches from the beginning to the end, and what is lost on the way.

use cloud::{Category, InstanceRequest, InstanceState, Page, Provider};
use google::{Google, Options};
use serde_json::json;

use super::fixture::{IMAGE, SandboxedGoogle, account, ids, place, request};

#[tokio::test]
async fn a_launch_from_the_identity_to_the_end() {
    let fixture = SandboxedGoogle::new().await;
    let (account, google) = (account(), &fixture.google);
    let place = place(&account);
    let identity = google.identity(&place).await.unwrap();
    assert_eq!(identity.account_id, "sandbox-project-7");
    assert_eq!(identity.name, "provision-engine@sandbox.iam.gserviceaccount.com");
    assert!(google.image(&place, IMAGE).await.unwrap().unwrap().is_available);
    assert!(google.templates(&place, &Page { limit: 10, token: None }).await.unwrap().items.is_empty());
    let request = request("tag-1", 3);
    google.dry_run(&place, &request).await.unwrap();
    google.dry_run(&place, &InstanceRequest { image: None, ..request.clone() }).await.unwrap();
    assert_eq!(google.prepare(&place, &request).await.unwrap(), None);

    let first = google.create(&place, &request, "key").await.unwrap();
    assert!(first.again.is_some() && first.reservation.is_some() && first.instances.is_empty(), "{first:?}");
    let created = fixture.created(&account, &request, "key").await.unwrap();
    assert_eq!((created.instances.len(), &created.reservation), (3, &first.reservation));
    let found = google.find(&place, &request).await.unwrap();
    assert!(
        found.iter().all(|one| one.state == InstanceState::Running && one.public_ipv4.is_some()),
        "{found:?}"
    );
    assert!(found.iter().all(|one| one.private_ipv4.is_some() && one.id.parse::<u64>().is_ok()));
    assert_eq!(ids(&found), ids(&created.instances));
    assert_eq!(ids(&google.describe(&place, &ids(&found)).await.unwrap()), ids(&found));
    let unknown = ["4".to_owned()];
    assert_eq!(google.describe(&place, &unknown).await.unwrap(), []);
    google.delete(&place, &unknown).await.unwrap();
    fixture.assert_standing(3).await;

    fixture.take_back(&account, &request).await;
    fixture.assert_standing(0).await;
    assert_eq!(google.describe(&place, &ids(&found)).await.unwrap(), []);
}

#[tokio::test]
async fn an_instance_has_what_was_asked_for_and_answers() {
    let fixture = SandboxedGoogle::new().await;
    let account = account();
    fixture.created(&account, &request("tag-1", 1), "key").await.unwrap();
    let instance = fixture.instances().await.remove(0);
    assert_eq!(instance["labels"]["provision-engine-launch"], "tag-1");
    assert_eq!(instance["labels"]["rh-org"], "org-7");
    let metadata = |key: &str| {
        let items = instance["metadata"]["items"].as_array().unwrap();
        items.iter().find(|item| item["key"] == key).unwrap()["value"].as_str().unwrap().to_owned()
    };
    assert_eq!(metadata("ssh-keys"), "gcp-user:ssh-ed25519 AAAAC3Nza");
    assert!(metadata("startup-script").contains("base64 -d"));
    let disk = &fixture.world.get("/gcp/disks").await["disks"][0];
    assert_eq!(disk["labels"]["provision-engine-launch"], "tag-1");
    let address = instance["networkInterfaces"][0]["accessConfigs"][0]["natIP"].as_str().unwrap();
    let url = format!("http://{address}:8000/");
    let mut answer = fixture.world.client.get(&url).send().await;
    for _ in 0..100 {
        if answer.is_ok() {
            break;
        }
        tokio::task::yield_now().await;
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        answer = fixture.world.client.get(&url).send().await;
    }
    let guest: serde_json::Value = answer.unwrap().json().await.unwrap();
    assert_eq!(
        (&guest["guest"]["name"], &guest["guest"]["region"]),
        (&instance["name"], &json!("us-central1-a"))
    );
    let newest = fixture.world.get("/gcp/calls").await["newest"].clone();
    for call in newest.as_array().unwrap() {
        assert_eq!(
            (&call["user_project"], &call["request_reason"]),
            (&json!("sandbox-project-7"), &json!("launch-1"))
        );
    }
}

/// So often a launch is asked for in vain.
const TRIES_MAX: usize = 100;

/// Whatever is lost, on the way there or on the way back: asking again with the same key makes what was asked for.
#[tokio::test]
async fn every_answer_may_be_lost_once() {
    let fixture = SandboxedGoogle::new().await;
    let account = account();
    for kind in ["drop_after", "drop_before"] {
        for after in 0.. {
            let request = request(&format!("{}-{after}", kind.replace('_', "-")), 2);
            // A client of its own, which has proved nothing yet.
            let google = Google::new(&Options::beside(&fixture.world.sandbox.url())).unwrap();
            fixture.world.arm("gce", json!({ "kind": kind, "after": after })).await;
            let (mut lost, mut created) = (0, None);
            for _ in 0..TRIES_MAX {
                match google.create(&place(&account), &request, "key").await {
                    Ok(answer) if answer.again.is_none() => {
                        created = Some(answer.instances);
                        break;
                    }
                    Ok(_) => {}
                    Err(error) => {
                        assert!(error.is(Category::Network) && error.may_have_happened(), "{error}");
                        lost += 1;
                    }
                }
                fixture.pass(20).await;
            }
            assert_eq!(created.unwrap().len(), 2);
            fixture.assert_standing(2).await;
            fixture.world.client.delete(fixture.world.url("/faults")).send().await.unwrap();
            fixture.take_back(&account, &request).await;
            fixture.assert_standing(0).await;
            assert!(lost <= 1, "{lost}");
            if lost == 0 {
                assert!(after > 5, "{after}");
                break;
            }
        }
    }
    let (made, _) = fixture.counts("instance").await;
    let bulks = fixture.calls("instances.bulkInsert").await;
    assert!(made % 2 == 0 && bulks >= made / 2, "{made} instances in {bulks} calls");
}

#[tokio::test]
async fn a_request_id_that_was_forgotten_makes_nothing_twice() {
    let fixture = SandboxedGoogle::new().await;
    let account = account();
    let request = request("tag-1", 2);
    let first = fixture.created(&account, &request, "key").await.unwrap();
    fixture.world.put("/gcp/pace", &json!({ "operation_ms": 1 })).await;
    fixture.pass(2 * 3_600_000).await;
    fixture.world.get("/gcp/instances").await;
    fixture.world.put("/gcp/pace", &json!({ "operation_ms": 3_600_000 })).await;
    let again = fixture.created(&account, &request, "key").await.unwrap();
    assert_eq!(ids(&again.instances), ids(&first.instances));
    assert_eq!(fixture.counts("instance").await, (2, 2));
}

#[tokio::test]
async fn lists_that_lag_and_pages_that_are_empty_change_nothing() {
    let fixture = SandboxedGoogle::new().await;
    let account = account();
    let request = request("tag-1", 3);
    fixture.world.put("/gcp/pages", &json!({ "items": 1, "begins_empty": true })).await;
    fixture.world.put("/gcp/pace", &json!({ "visible_ms": 60_000 })).await;
    let created = fixture.created(&account, &request, "key").await.unwrap();
    let found = fixture.google.find(&place(&account), &request).await.unwrap();
    assert_eq!((created.instances.len(), ids(&found)), (3, ids(&created.instances)));
    assert_eq!(fixture.counts("instance").await, (3, 3));
    fixture.pass(60_000).await;
    assert_eq!(ids(&fixture.google.find(&place(&account), &request).await.unwrap()), ids(&found));
}

#[tokio::test]
async fn a_token_that_is_no_longer_good_is_renewed_once() {
    let fixture = SandboxedGoogle::new().await;
    let account = account();
    fixture.google.identity(&place(&account)).await.unwrap();
    fixture.world.post("/gcp/tokens/revoke", &json!({})).await;
    fixture.google.identity(&place(&account)).await.unwrap();
    fixture.pass(3_600_000).await;
    fixture.google.regions(&place(&account)).await.unwrap();
    fixture.world.arm("gce", json!({ "kind": "error", "status": 401, "times": 0 })).await;
    let before = fixture.calls("projects.get").await;
    let error = fixture.google.identity(&place(&account)).await.unwrap_err();
    assert!(error.is(Category::Permission), "{error}");
    assert_eq!(fixture.calls("projects.get").await, before);
}

#[tokio::test]
async fn a_template_brings_what_is_not_said() {
    let fixture = SandboxedGoogle::new().await;
    let account = account();
    let properties = json!({
        "machineType": "n1-standard-1",
        "disks": [{"boot": true, "autoDelete": true, "initializeParams": {"sourceImage": IMAGE}}],
        "networkInterfaces": [{"network": "global/networks/default"}],
        "metadata": {"items": [{"key": "theirs", "value": "1"}, {"key": "ssh-keys", "value": "old"}]},
    });
    for (name, region) in [("global-one", None), ("region-one", Some("us-central1"))] {
        let body =
            json!({"project": "sandbox-project-7", "region": region, "name": name, "properties": properties});
        fixture.world.post("/gcp/templates", &body).await;
    }
    let mut page = Page { limit: 1, token: None };
    let mut found = Vec::new();
    loop {
        let templates = fixture.google.templates(&place(&account), &page).await.unwrap();
        found.extend(templates.items);
        match templates.next {
            Some(next) => page.token = Some(next),
            None => break,
        }
    }
    assert_eq!(found.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["global-one", "region-one"]);
    for (number, template) in found.into_iter().enumerate() {
        let request = InstanceRequest {
            image: None,
            instance_type: None,
            template: Some(template.id),
            ..request(&format!("tag-{number}"), 1)
        };
        fixture.google.dry_run(&place(&account), &request).await.unwrap();
        fixture.created(&account, &request, "key").await.unwrap();
    }
    for instance in fixture.instances().await {
        assert!(instance["machineType"].as_str().unwrap().ends_with("n1-standard-1"));
        assert_eq!(instance["networkInterfaces"][0].get("accessConfigs"), None);
        let items = instance["metadata"]["items"].as_array().unwrap();
        let keys: Vec<&str> = items.iter().map(|item| item["key"].as_str().unwrap()).collect();
        assert_eq!(keys, ["ssh-keys", "startup-script", "theirs"]);
    }
    let unknown = InstanceRequest { template: Some("none".to_owned()), ..request("tag-9", 1) };
    let error = fixture.google.dry_run(&place(&account), &unknown).await.unwrap_err();
    assert!(error.is(Category::NotFound), "{error}");
}
