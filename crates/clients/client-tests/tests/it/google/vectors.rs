//! The client is served what Google Cloud answers, and the answers of the sandbox are held to it.

use std::sync::Arc;

use client_tests::{TestClock, TestServer};
use cloud::{Category, CloudError, Created, InstanceRequest, InstanceState, Page, PartKind, Provider};
use google::{Google, KeySource, Options, ServiceAccountKey};
use serde_json::{Value, json};

use super::fixture::{IMAGE, PROJECT, SandboxedGoogle, ZONE, account, place, request};
use crate::azure::certificates::certificate;
use crate::tap::Tap;
use crate::vector::{self, Vector, replay};

const EMAIL: &str = "provision-engine@sandbox.iam.gserviceaccount.com";
const ZONAL: &str = "/compute/v1/projects/p/zones/z";

fn load(name: &str) -> Vector {
    vector::load("google", name)
}

/// A key that no service account has.
fn own_key() -> KeySource {
    let (_, key) = certificate();
    KeySource::Key(ServiceAccountKey {
        email: EMAIL.to_owned(),
        key_id: "1".to_owned(),
        private_key: key.into(),
    })
}

fn options(url: &str) -> Options {
    let mut options = Options::new();
    options.image_projects.push("sandbox-images".to_owned());
    Options {
        compute: format!("{url}/compute/v1"),
        token: format!("{url}/token"),
        iam_credentials: format!("{url}/v1"),
        resource_manager: format!("{url}/v3"),
        credentials: Some(own_key()),
        ..options
    }
}

fn client(options: &Options) -> Google {
    Google::with_clock(options, Arc::new(TestClock::default())).unwrap()
}

/// A server with a token and the label of the organisation, and these answers besides.
async fn serve(vectors: impl IntoIterator<Item = Vector>) -> (TestServer, Google) {
    let server = replay([load("token"), load("resource_project")].into_iter().chain(vectors).collect()).await;
    let google = client(&options(&server.url));
    (server, google)
}

fn one() -> InstanceRequest {
    InstanceRequest { name: None, ..request("tag", 1) }
}

#[test]
fn every_vector_is_served_to_the_client() {
    vector::assert_all_are_served("google", include_str!("vectors.rs"));
}

#[tokio::test]
async fn an_error_of_google_is_sorted_by_its_reason() {
    use Category::{Duplicate, NotFound, Permission, Quota, Throttle, Upstream};
    let account = account();
    for (name, category, code, after) in [
        ("instance_missing", NotFound, "notFound", None),
        ("image_missing", NotFound, "notFound", None),
        ("forbidden", Permission, "forbidden", None),
        ("service_disabled", Permission, "SERVICE_DISABLED", None),
        ("unauthenticated", Permission, "authError", None),
        ("rate_limited", Throttle, "rateLimitExceeded", Some(60)),
        ("too_many_requests", Throttle, "RATE_LIMIT_EXCEEDED", Some(60)),
        ("quota_exceeded", Quota, "quotaExceeded", None),
        ("exists", Duplicate, "alreadyExists", None),
        ("not_ready", Upstream, "resourceNotReady", None),
    ] {
        let (_server, google) = serve([load(name).at("GET", "/compute/v1/projects/p/zones")]).await;
        let error = google.regions(&place(&account)).await.unwrap_err();
        let found = (error.category, error.code.as_str(), error.after.map(|after| after.as_secs()));
        assert_eq!(found, (category, code, after), "{name}: {error}");
    }
}

#[tokio::test]
async fn tokens_of_google_are_read() {
    let account = account();
    let server = replay(vec![load("token_wrong_signature")]).await;
    let error = client(&options(&server.url)).regions(&place(&account)).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Permission, "invalid_grant"));
    assert!(error.message.contains("clock"), "{error}");
    let server = replay(vec![load("token"), load("impersonated"), load("zones")]).await;
    let template = Some("pe-{org}@sandbox.iam.gserviceaccount.com".to_owned());
    let google = client(&Options { impersonate: template, ..options(&server.url) });
    google.regions(&place(&account)).await.unwrap();
    let asked: Vec<String> = server.arrivals().into_iter().map(|one| one.path).collect();
    assert!(asked[1].contains("pe-default@"), "{asked:?}");
}

#[tokio::test]
async fn the_catalog_of_google_is_read() {
    let account = account();
    let place = place(&account);
    let names = ["zones", "machine_types", "project", "image", "templates"];
    let (_server, google) = serve(names.map(load)).await;
    assert_eq!(google.regions(&place).await.unwrap(), [ZONE]);
    let types = google.instance_types(&place).await.unwrap();
    let read: Vec<_> = types.iter().map(|one| (one.name.as_str(), one.vcpus, one.memory_mib)).collect();
    assert_eq!(read, [("f1-micro", 1, 614), ("n1-standard-1", 1, 3840)]);
    assert_eq!(google.identity(&place).await.unwrap().account_id, PROJECT);
    assert!(google.image(&place, IMAGE).await.unwrap().unwrap().is_available);
    let found = google.templates(&place, &Page { limit: 10, token: None }).await.unwrap();
    assert_eq!(found.items[0].name, "template-1");
}

/// What a launch needs, as the client asks for it.
async fn needed() -> Value {
    let account = account();
    let (server, google) = serve([load("permissions_none")]).await;
    let error = google.dry_run(&place(&account), &one()).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Permission, "MissingPermissions"));
    let asked = server.arrivals().into_iter().find(|one| one.path.ends_with(":testIamPermissions")).unwrap();
    serde_json::from_slice(&asked.body).unwrap()
}

#[tokio::test]
async fn permissions_and_quotas_are_read() {
    let account = account();
    let (_server, google) = serve([load("permissions")]).await;
    let error = google.dry_run(&place(&account), &one()).await.unwrap_err();
    assert!(error.message.contains("compute.instances.delete"), "{error}");
    assert!(!error.message.contains("compute.instances.create"), "{error}");
    let needed = needed().await;
    let rehearse = async |region: Vector| {
        let image = json!({"permissions": ["compute.images.useReadOnly"]});
        let vectors = [
            load("permissions").with(|body| *body = needed.clone()),
            load("permissions")
                .with(|body| *body = image)
                .at("POST", "/compute/v1/projects/p/global/images/i/testIamPermissions"),
            load("zones").with(|body| *body = body["items"][0].clone()).at("GET", ZONAL),
            load("resource_project").at("GET", "/compute/v1/projects/p/global/networks/n"),
            load("machine_types")
                .with(|body| *body = body["items"][1].clone())
                .at("GET", &format!("{ZONAL}/machineTypes/m")),
            load("project"),
            region,
        ];
        let (_server, google) = serve(vectors).await;
        google.dry_run(&place(&account), &one()).await
    };
    rehearse(load("region")).await.unwrap();
    let full = load("region").with(|body| body["quotas"][0]["usage"] = body["quotas"][0]["limit"].clone());
    let error = rehearse(full).await.unwrap_err();
    assert!(error.is(Category::Quota) && error.message.contains("CPUS"), "{error}");
}

/// Begins a bulk call, and looks again when its operation is this one.
async fn created(operation: &str, looks: Vec<Vector>) -> Result<Created, CloudError> {
    let account = account();
    let begin = [load("operations"), load("instance_missing"), load("bulk_insert")];
    let (server, google) = serve(begin).await;
    let begun = google.create(&place(&account), &one(), "key").await.unwrap();
    assert_eq!((begun.reservation.as_deref(), begun.instances.len()), (Some("operation-1"), 0));
    assert!(begun.again.is_some());
    let arrivals = server.arrivals();
    let posted = arrivals.iter().find(|one| one.method == "POST" && one.path.contains("bulkInsert")).unwrap();
    let request_id = posted.path.split_once("requestId=").unwrap().1.to_owned();
    let operation = load(operation).response.body;
    let list = load("operations").with(|body| {
        body["items"] = json!([operation]);
        body["items"][0]["clientOperationId"] = request_id.into();
    });
    let none = load("disks").with(|body| drop(body.as_object_mut().unwrap().remove("items")));
    let (_server, google) = serve([list, none].into_iter().chain(looks)).await;
    google.create(&place(&account), &one(), "key").await
}

#[tokio::test]
async fn an_operation_ends_as_it_says() {
    for name in ["operation_pending", "operation_rolling_back", "bulk_insert"] {
        let made = created(name, vec![load("instance_missing")]).await.unwrap();
        assert!(made.again.is_some() && made.instances.is_empty(), "{name}: {made:?}");
    }
    for name in ["operation_done", "operation_exists"] {
        let made = created(name, vec![load("instance")]).await.unwrap();
        assert_eq!((made.again, made.instances[0].state), (None, InstanceState::Running), "{name}");
    }
    for (name, category, code) in [
        ("operation_no_capacity", Category::Capacity, "ZONE_RESOURCE_POOL_EXHAUSTED"),
        ("operation_quota_exceeded", Category::Quota, "QUOTA_EXCEEDED"),
    ] {
        let error = created(name, vec![load("instance_missing")]).await.unwrap_err();
        assert_eq!((error.category, error.code.as_str()), (category, code), "{error}");
    }
}

#[tokio::test]
async fn instances_and_disks_of_google_are_read() {
    let account = account();
    let place = place(&account);
    let (_server, google) = serve([load("instance"), load("instances")]).await;
    let found = google.describe(&place, &["web-00".to_owned()]).await.unwrap();
    assert_eq!((found[0].id.as_str(), found[0].state), ("7000000000000000007", InstanceState::Running));
    assert_eq!(found[0].public_ipv4.as_deref(), Some("192.0.2.7"));
    assert_eq!(found[0].private_ipv4.as_deref(), Some("10.128.0.7"));
    let deleting = load("operation_done").at("DELETE", &format!("{ZONAL}/disks/d"));
    let (_server, google) = serve([load("disks"), deleting]).await;
    let left = google.sweep(&place, &one()).await.unwrap();
    assert_eq!(left.iter().map(|part| part.kind).collect::<Vec<_>>(), [PartKind::Disk]);
    // A list that names one instance of the launch is enough.
    let (_server, google) = serve([load("instances"), load("operations"), load("instance")]).await;
    assert_eq!(google.find(&place, &one()).await.unwrap().len(), 2);
}

/// A launch, and everything that can go wrong with it, through a tap.
async fn exchange_with_the_sandbox() -> Tap {
    let mut fixture = SandboxedGoogle::new().await;
    let tap = Tap::start(&fixture.world.sandbox.url()).await;
    let account = account();
    let place = place(&account);
    let wrong = Options { credentials: Some(own_key()), ..Options::beside(&tap.url) };
    drop(Google::new(&wrong).unwrap().regions(&place).await);
    fixture.google = Google::new(&Options::beside(&tap.url)).unwrap();
    let template = Some("pe-{org}@sandbox.iam.gserviceaccount.com".to_owned());
    let acting = Google::new(&Options { impersonate: template, ..Options::beside(&tap.url) }).unwrap();
    acting.regions(&place).await.unwrap();
    let google = &fixture.google;
    let properties = json!({
        "canIpForward": false, "machineType": "n1-standard-1", "metadata": {"kind": "compute#metadata",
            "fingerprint": "42WmSpB8rSM=", "items": [{"key": "a", "value": "b"}]},
    });
    let template = json!({"project": PROJECT, "name": "template-1", "properties": properties});
    fixture.world.post("/gcp/templates", &template).await;
    google.identity(&place).await.unwrap();
    google.instance_types(&place).await.unwrap();
    google.templates(&place, &Page { limit: 10, token: None }).await.unwrap();
    google.image(&place, IMAGE).await.unwrap();
    google.image(&place, "projects/rhel-cloud/global/images/none").await.unwrap();
    google.dry_run(&place, &one()).await.unwrap();
    fixture.fault("fail_inside", json!({"code": "ZONE_RESOURCE_POOL_EXHAUSTED"})).await;
    fixture.created(&account, &request("tag-0", 1), "key").await.unwrap_err();
    for (tag, code) in [("tag-3", "QUOTA_EXCEEDED"), ("tag-4", "RESOURCE_ALREADY_EXISTS")] {
        fixture.fault("fail_inside", json!({"code": code})).await;
        drop(fixture.created(&account, &request(tag, 1), "key").await);
    }
    let zonal = format!("/gcp/compute/v1/projects/{PROJECT}/zones/{ZONE}");
    let begun = google.create(&place, &request("tag-1", 2), "key").await.unwrap();
    tap.call("GET", &format!("{zonal}/operations/{}", begun.reservation.unwrap()), None).await;
    fixture.created(&account, &request("tag-1", 2), "key").await.unwrap();
    let names = fixture.instances().await;
    let name = names[0]["name"].as_str().unwrap();
    google.describe(&place, &[name.to_owned()]).await.unwrap();
    google.find(&place, &request("tag-1", 2)).await.unwrap();
    tap.call("GET", &format!("{zonal}/disks"), None).await;
    tap.call("GET", &format!("{zonal}/operations"), None).await;
    let operations = tap.exchanges().pop().unwrap().body;
    for operation in operations["items"].as_array().unwrap() {
        let name = operation["name"].as_str().unwrap();
        tap.call("GET", &format!("{zonal}/operations/{name}"), None).await;
    }
    let project = format!("/gcp/cloudresourcemanager/v3/projects/{PROJECT}:testIamPermissions");
    tap.call("POST", &project, Some(&json!({"permissions": []}))).await;
    for (status, code) in [(403, "quotaExceeded"), (409, "alreadyExists")] {
        fixture
            .fault("fail", json!({"action": "instances.bulkInsert", "status": status, "code": code}))
            .await;
        drop(google.create(&place, &request("tag-2", 1), "key").await);
    }
    fixture.world.put("/gcp/rate", &json!({"changes": 1500, "reads": 0, "bulks": 10})).await;
    drop(google.describe(&place, &[name.to_owned()]).await);
    fixture.world.put("/gcp/rate", &json!({"changes": 1500, "reads": 1500, "bulks": 10})).await;
    fixture.pass(60_000).await;
    let labels = json!({"provision-engine-org": "default"});
    for project in [
        json!({"labels": labels, "denied": ["compute.instances.get"]}),
        json!({"labels": labels, "api_off": true}),
    ] {
        fixture.world.put(&format!("/gcp/projects/{PROJECT}"), &project).await;
        drop(google.describe(&place, &[name.to_owned()]).await);
    }
    fixture.world.put(&format!("/gcp/projects/{PROJECT}"), &json!({"labels": labels})).await;
    fixture.take_back(&account, &request("tag-1", 2)).await;
    tap.call_as("Bearer none", &format!("{zonal}/instances/{name}")).await;
    tap
}

#[tokio::test]
async fn the_sandbox_answers_as_google_does() {
    let exchanges = exchange_with_the_sandbox().await.exchanges();
    let differences: Vec<String> =
        vector::all("google").iter().flat_map(|one| one.differences(&exchanges)).collect();
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}
