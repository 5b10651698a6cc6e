//! Answers that get lost, at every call that makes something.

use cloud::{Category, InstanceRequest};
use serde_json::{Value, json};

use super::fixture::{AzureFixture, in_named_group, request};

/// What a launch of two makes, and how often each.
const PUTS: [(&str, u32); 6] =
    [("group", 1), ("nsg", 1), ("network", 1), ("public_ip", 2), ("nic", 2), ("vm", 2)];

/// Carries on after every error whose outcome is unknown, as a step does.
async fn launched(fixture: &AzureFixture, request: &InstanceRequest) -> usize {
    for _ in 0..20 {
        let result = match fixture.prepared(request).await {
            Ok(()) => fixture.created(request).await,
            Err(error) => Err(error),
        };
        match result {
            Ok(instances) => return instances.len(),
            Err(error) => assert!(error.may_have_happened(), "{error}"),
        }
    }
    panic!("the launch does not end")
}

#[tokio::test]
async fn an_answer_that_gets_lost_at_any_call_leads_to_exactly_two() {
    let fixture = AzureFixture::new().await;
    let mut launches = 0;
    for (kind, times) in PUTS {
        for after in 0..times {
            for fault in ["lose", "drop_before"] {
                launches += 1;
                let request = request(&format!("{kind}-{after}-{fault}"), 2);
                let body = json!({"method": "PUT", "resource": kind, "after": after});
                if fault == "lose" {
                    fixture.fault("lose", body).await;
                } else {
                    let about = path_word(kind);
                    let body =
                        json!({"kind": "drop_before", "method": "PUT", "about": about, "after": after});
                    fixture.shared.arm("arm", body).await;
                }
                assert_eq!(launched(&fixture, &request).await, 2, "{kind} {after} {fault}");
            }
        }
    }
    for (kind, each) in [("vm", 2), ("nic", 2), ("public_ip", 2), ("disk", 2), ("group", 1)] {
        assert_eq!(fixture.made(kind).await, each * launches, "{kind}");
    }
}

/// A word of the path of such a resource.
fn path_word(kind: &str) -> &'static str {
    match kind {
        "group" => "resourceGroups",
        "nsg" => "networkSecurityGroups",
        "network" => "virtualNetworks",
        "public_ip" => "publicIPAddresses",
        "nic" => "networkInterfaces",
        _ => "virtualMachines",
    }
}

/// A reader cannot tell a lost call from one that is late: after both, the same call again is right.
#[tokio::test]
async fn an_answer_that_gets_lost_while_looking_is_asked_again() {
    let fixture = AzureFixture::new().await;
    let request = in_named_group("tag", 2);
    for kind in ["nsg", "network", "public_ip", "nic", "vm", "group"] {
        fixture.fault("lose", json!({"method": "GET", "resource": kind, "times": 2})).await;
    }
    assert_eq!(launched(&fixture, &request).await, 2);
    assert_eq!(fixture.made("vm").await, 2);
}

/// The tag decides whose it is, and not the name alone.
#[tokio::test]
async fn a_resource_of_another_launch_under_the_same_name_is_a_duplicate() {
    for kind in ["virtualMachines", "networkInterfaces", "publicIPAddresses", "virtualNetworks"] {
        let fixture = AzureFixture::new().await;
        let request = in_named_group("tag", 2);
        // The parts are there and the instances are not.
        let refused =
            json!({"method": "PUT", "resource": "vm", "code": "InvalidParameter", "status": 400, "times": 2});
        if kind != "virtualMachines" {
            fixture.fault("fail", refused).await;
        }
        fixture.prepared(&request).await.unwrap();
        drop(fixture.created(&request).await);
        retag(&fixture, kind, "another").await;
        let result = match fixture.prepared(&request).await {
            Ok(()) => fixture.created(&request).await.map(drop),
            Err(error) => Err(error),
        };
        let error = result.unwrap_err();
        assert!(error.is(Category::Duplicate), "{kind}: {error}");
        let before = fixture.shared.get("/azure/world").await;
        fixture.swept(&request).await;
        fixture.pass(1000).await;
        let has = |world: &Value| world["resources"].as_array().unwrap().iter().any(|one| is_of(one, kind));
        assert!(
            has(&before) && has(&fixture.shared.get("/azure/world").await),
            "{kind} is not ours to delete"
        );
    }
}

fn is_of(resource: &Value, kind: &str) -> bool {
    resource["type"].as_str().unwrap().ends_with(kind)
}

/// Puts another launch tag on all resources of a kind, as their owner can.
async fn retag(fixture: &AzureFixture, kind: &str, tag: &str) {
    let token = token(fixture).await;
    let world = fixture.shared.get("/azure/world").await;
    for resource in world["resources"].as_array().unwrap() {
        if !is_of(resource, kind) {
            continue;
        }
        let mut body = resource.clone();
        body["tags"] = json!({"provision-engine-launch": tag});
        let url = format!(
            "{}/azure{}?api-version=1",
            fixture.shared.sandbox.url(),
            resource["id"].as_str().unwrap()
        );
        let answer = fixture.shared.client.put(url).bearer_auth(&token).json(&body).send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    }
    fixture.pass(1000).await;
}

async fn token(fixture: &AzureFixture) -> String {
    let body = "client_id=5a9db0c4-0000-4000-8000-000000000002&client_secret=sandbox-secret\
                &grant_type=client_credentials&scope=https%3A%2F%2Fmanagement.azure.com%2F.default";
    let url = fixture.shared.url("/azure/login/5a9db0c4-0000-4000-8000-000000000001/oauth2/v2.0/token");
    let request = fixture.shared.client.post(url).header("content-type", "application/x-www-form-urlencoded");
    let answer: Value = request.body(body).send().await.unwrap().json().await.unwrap();
    answer["access_token"].as_str().unwrap().to_owned()
}
