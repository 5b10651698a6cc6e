//! What Image Builder says no to, and that it then makes nothing.

use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::caller::{HostedClient, error_text, header, request};

/// A request with one thing changed, by the path to it; null takes it away.
fn with(pointer: &str, value: Value) -> Value {
    let mut request = request();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = request.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    if value.is_null() {
        parent.remove(name);
    } else {
        parent.insert(name.to_owned(), value);
    }
    request
}

fn upload(image_type: &str, target: &str, options: Value) -> Value {
    let mut request = request();
    request["image_requests"][0]["image_type"] = json!(image_type);
    request["image_requests"][0]["upload_request"] = json!({"type": target});
    request["image_requests"][0]["upload_request"]["options"] = options;
    request
}

#[tokio::test]
async fn requests_that_break_a_rule_make_nothing() {
    let caller = HostedClient::in_a_hurry().await;
    let image = "/image_requests/0";
    let options = "/image_requests/0/upload_request/options";
    let id = "4b9d213f-712f-4d17-a483-8a10bbe9df3a";
    let azure = |tenant: &str| json!({"resource_group": "g", "subscription_id": id, "tenant_id": tenant});
    let gib = 1024_u64 * 1024 * 1024;
    let cases = [
        (json!([]), "must be an object"),
        (with("/colour", json!("red")), "no field \"colour\""),
        (with("/image_name", json!("x".repeat(101))), "image_name must be"),
        (with("/image_description", json!("x".repeat(251))), "image_description must be"),
        (with("/client_id", json!("me")), "client_id must be"),
        (with("/customizations", json!([])), "customizations must be"),
        (with("/image_requests", json!([])), "exactly one entry"),
        (with("/image_requests", json!([1, 2])), "exactly one entry"),
        (with("/distribution", Value::Null), "exactly one of distribution"),
        (with("/bootc", json!({"reference": "registry.redhat.io/rhel9/rhel-bootc"})), "exactly one of"),
        (with("/distribution", json!("plan-9")), "distribution not available"),
        (with(&format!("{image}/colour"), json!(1)), "no field \"colour\""),
        (with(&format!("{image}/architecture"), Value::Null), "architecture is required"),
        (with(&format!("{image}/architecture"), json!("sparc")), "\"sparc\" is not an architecture"),
        (with(&format!("{image}/image_type"), json!("floppy")), "\"floppy\" is not an image type"),
        (with(&format!("{image}/image_type"), json!("azure")), "is uploaded to azure"),
        (with(&format!("{image}/upload_request"), Value::Null), "upload_request is required"),
        (with(&format!("{image}/upload_request"), json!({"type": "aws"})), "needs a type and options"),
        (with(options, json!({})), "an account or a source"),
        (with(options, json!({"share_with_accounts": ["12"]})), "12 digits"),
        (with(options, json!({"share_with_accounts": "123456789012"})), "must be a list"),
        (with(options, json!({"share_with_accounts": [7]})), "list of texts"),
        (with(options, json!({"share_with_sources": ["77"]})), "does not lead to an account"),
        (with(options, json!({"share_with_sources": ["2"]})), "does not lead to an account"),
        (with(&format!("{image}/size"), json!(64 * gib + 1)), "at most 68719476736 bytes"),
        (with(&format!("{image}/size"), json!("big")), "a number of bytes"),
        (upload("azure", "azure", azure("me")), "tenant_id that is a UUID"),
        (upload("vhd", "azure", json!({"tenant_id": id, "subscription_id": id})), "resource_group"),
        (upload("gcp", "gcp", json!({"share_with_accounts": ["ada"]})), "\"ada\" is no account"),
    ];
    for (request, words) in cases {
        let (status, detail) = error_text(caller.builder(Method::POST, "/compose").json(&request)).await;
        assert!(detail.contains(words), "{detail:?} does not contain {words:?}");
        assert_eq!(status, 400, "{detail}");
    }
    let mut both = with("/image_requests/0/snapshot_date", json!("2026-01-01"));
    both["image_requests"][0]["content_template"] = json!(id);
    let (status, detail) = error_text(caller.builder(Method::POST, "/compose").json(&both)).await;
    assert!(status == 400 && detail.contains("exclude each other"), "{detail}");
    for restricted in ["rhel-9-nightly", "fedora-43"] {
        let request = with("/distribution", json!(restricted));
        let (status, detail) = error_text(caller.builder(Method::POST, "/compose").json(&request)).await;
        assert_eq!((status, detail.contains("not authorized to build")), (403, true), "{detail}");
    }
    assert_eq!(caller.look("/ledger").await, json!({"effects": []}));
}

#[tokio::test]
async fn rhel_needs_an_account_number_or_an_entitlement() {
    let caller = HostedClient::in_a_hurry().await;
    let who = |account: &str| json!({"type": "User", "org_id": "org-1", "account_number": account});
    let rhel = |is_entitled: bool| json!({"rhel": {"is_entitled": is_entitled}});
    for (identity, entitlements, may_have_rhel) in [
        (who("13"), Value::Null, true),
        (who("13"), json!({}), true),
        (who(""), rhel(true), true),
        (who(""), Value::Null, false),
        (who(""), rhel(false), false),
        (who("13"), rhel(false), false),
    ] {
        let document = json!({"identity": identity, "entitlements": entitlements});
        let call = |method: Method, path: &str| {
            let request = caller.request(method, &format!("/api/image-builder/v1{path}"));
            request.header("x-rh-identity", header(&document))
        };
        for name in ["rhel-9", "rhel-9.6", "rhel-8.10", "rhel-10.0"] {
            let compose = call(Method::POST, "/compose").json(&with("/distribution", json!(name)));
            let architectures = call(Method::GET, &format!("/architectures/{name}"));
            if may_have_rhel {
                assert_eq!(compose.send().await.unwrap().status(), 201, "{name} {document}");
                assert_eq!(architectures.send().await.unwrap().status(), 200, "{name} {document}");
            } else {
                let refused = (400, "distribution not available".to_owned());
                assert_eq!(error_text(compose).await, refused, "{name} {document}");
                assert_eq!(error_text(architectures).await, refused, "{name} {document}");
            }
        }
        let centos = call(Method::POST, "/compose").json(&with("/distribution", json!("centos-9")));
        assert_eq!(centos.send().await.unwrap().status(), 201, "{document}");
        let listed: Value = call(Method::GET, "/distributions").send().await.unwrap().json().await.unwrap();
        let names: Vec<&str> =
            listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(names.contains(&"rhel-9.6"), may_have_rhel, "{document}");
        assert!(names.contains(&"centos-9") && !names.contains(&"fedora-43"), "{names:?}");
    }
}

#[tokio::test]
async fn partitions_count_for_the_size() {
    let caller = HostedClient::in_a_hurry().await;
    let gib = 1024_u64 * 1024 * 1024;
    let disk = |mountpoint: &str, size: u64| json!({"mountpoint": mountpoint, "min_size": size});
    let request =
        |size| with("/customizations", json!({"filesystem": [disk("/", 40 * gib), disk("/var", size)]}));
    caller.submit(&request(24 * gib)).await;
    let (status, detail) =
        error_text(caller.builder(Method::POST, "/compose").json(&request(24 * gib + 1))).await;
    assert!(status == 400 && detail.contains("at most"), "{detail}");
}

#[tokio::test]
async fn requests_for_every_target_are_accepted() {
    let caller = HostedClient::in_a_hurry().await;
    let id = "4b9d213f-712f-4d17-a483-8a10bbe9df3a";
    let azure = json!({"resource_group": "g", "tenant_id": id, "subscription_id": id, "image_name": "mine"});
    let cases = [
        (upload("ami", "aws", json!({"share_with_sources": ["1"]})), "ami"),
        (upload("vhd", "azure", azure), "image_name"),
        (upload("gcp", "gcp", json!({"share_with_accounts": ["user:ada@example"]})), "project_id"),
        (upload("guest-image", "aws.s3", json!({})), "url"),
        (upload("oci", "oci.objectstorage", json!({})), "url"),
    ];
    for (request, option) in cases {
        let id = caller.submit(&request).await;
        let upload = caller.status(&id).await["upload_status"].take();
        assert_eq!(upload["type"], request["image_requests"][0]["upload_request"]["type"]);
        assert!(!upload["options"][option].as_str().unwrap().is_empty(), "{upload}");
    }
    // What was built for Azure is in the group that the request names.
    let images = caller.request(Method::GET, "/azure/images").send().await.unwrap();
    let images: Value = images.json().await.unwrap();
    let image = format!("/subscriptions/{id}/resourceGroups/g/providers/Microsoft.Compute/images/mine");
    assert_eq!(images["images"][0]["id"], image);
    let mut bootc = with("/distribution", Value::Null);
    bootc["bootc"] = json!({"reference": "registry.redhat.io/rhel9/rhel-bootc:9.6"});
    caller.submit(&bootc).await;
}

#[tokio::test]
async fn only_json_is_read() {
    let caller = HostedClient::in_a_hurry().await;
    let post = || caller.builder(Method::POST, "/compose");
    let text = post().header(CONTENT_TYPE, "text/plain").body(request().to_string());
    assert_eq!(error_text(text).await.0, 415);
    let broken = post().header(CONTENT_TYPE, "application/json").body("{");
    let (status, detail) = error_text(broken).await;
    assert!(status == 400 && detail.contains("not JSON"), "{detail}");
    let with_charset =
        post().header(CONTENT_TYPE, "application/json; charset=utf-8").body(request().to_string());
    assert_eq!(with_charset.send().await.unwrap().status(), StatusCode::CREATED);
}
