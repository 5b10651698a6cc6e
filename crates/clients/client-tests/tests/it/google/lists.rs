//! Lists and single things, as Compute Engine writes them.

use axum::response::IntoResponse;
use client_tests::{TestSandbox, TestServer};
use cloud::{Architecture, Category, CloudImage, InstanceRequest, InstanceState, Provider};
use google::{Google, Options};
use serde_json::{Value, json};

use super::fixture::{SandboxedGoogle, account, place};

/// A cloud that gives a key and a token and proves the project, and answers everything else with this.
async fn answering(answer: Value) -> (TestServer, Google) {
    let key = TestSandbox::new().await.get("/gcp/key").await;
    let server = TestServer::start(move |arrival| {
        let body = match arrival.path.as_str() {
            "/gcp/key" => key.clone(),
            "/gcp/token" => json!({"access_token": "ya29.t", "expires_in": "3599", "token_type": "Bearer"}),
            path if path.starts_with("/gcp/cloudresourcemanager") => {
                json!({"labels": {"provision-engine-org": "default"}})
            }
            _ => answer.clone(),
        };
        axum::Json(body).into_response()
    })
    .await;
    let google = Google::new(&Options::beside(&server.url)).unwrap();
    (server, google)
}

#[tokio::test]
async fn zones_and_machine_types_are_read_page_by_page() {
    let fixture = SandboxedGoogle::new().await;
    let account = account();
    let place = place(&account);
    let all = fixture.google.instance_types(&place).await.unwrap();
    fixture.world.put("/gcp/pages", &json!({ "items": 2, "begins_empty": true })).await;
    assert_eq!(fixture.google.instance_types(&place).await.unwrap(), all);
    assert!(fixture.google.regions(&place).await.unwrap().contains(&"europe-west1-b".to_owned()));
    let find = |name: &str| all.iter().find(|one| one.name == name);
    assert!(find("f1-micro").is_none(), "it is on its way out");
    let small = find("e2-small").unwrap();
    assert_eq!((small.vcpus, small.cores, small.memory_mib), (2, 2, 2048));
    let plain = find("n1-standard-1").unwrap();
    assert_eq!((plain.cores, plain.architecture), (1, Architecture::X86_64));
    assert_eq!(find("n2-standard-4").unwrap().cores, 2);
    assert_eq!(find("t2a-standard-1").unwrap().architecture, Architecture::Arm64);
}

/// As the real one answers, with everything that we do not read.
#[tokio::test]
async fn an_instance_is_read_as_it_comes() {
    let site = "https://www.googleapis.com/compute/v1/projects/sandbox-project-7/zones/us-central1-a";
    let instance = |status: &str| {
        json!({
            "kind": "compute#instance", "id": "4006034190819017667", "name": "node-name", "status": status,
            "creationTimestamp": "2026-02-13T10:45:23.351-08:00", "canIpForward": false, "cpuPlatform": "Intel Skylake",
            "machineType": format!("{site}/machineTypes/n1-standard-1"), "zone": site,
            "labelFingerprint": "42WmSpB8rSM=", "labels": {"provision-engine-launch": "tag-1"},
            "metadata": {"fingerprint": "42WmSpB8rSM=", "kind": "compute#metadata"},
            "disks": [{"boot": true, "index": 0, "source": format!("{site}/disks/node-name"), "type": "PERSISTENT"}],
            "networkInterfaces": [{
                "name": "nic0", "networkIP": "10.240.72.75", "ipv6Address": "fd20::1",
                "accessConfigs": [{"kind": "compute#accessConfig", "name": "External NAT", "natIP": "23.236.58.15",
                                   "type": "ONE_TO_ONE_NAT"}]}],
            "scheduling": {"automaticRestart": true, "onHostMaintenance": "MIGRATE"},
            "tags": {"fingerprint": "42WmSpB8rSM="}, "selfLink": format!("{site}/instances/node-name"),
        })
    };
    let account = account();
    for (status, state) in [
        ("PENDING", InstanceState::Pending),
        ("PROVISIONING", InstanceState::Pending),
        ("STAGING", InstanceState::Pending),
        ("RUNNING", InstanceState::Running),
        ("REPAIRING", InstanceState::Running),
        ("PENDING_STOP", InstanceState::Stopping),
        ("STOPPING", InstanceState::Stopping),
        ("SUSPENDING", InstanceState::Stopping),
        ("DEPROVISIONING", InstanceState::ShuttingDown),
        ("TERMINATED", InstanceState::Stopped),
        ("STOPPED", InstanceState::Stopped),
        ("SUSPENDED", InstanceState::Stopped),
    ] {
        let (_, google) = answering(instance(status)).await;
        let id = "4006034190819017667".to_owned();
        let found = google.describe(&place(&account), std::slice::from_ref(&id)).await.unwrap().remove(0);
        assert_eq!((found.id, found.state), (id, state), "{status}");
        assert_eq!(found.public_ipv4.as_deref(), Some("23.236.58.15"));
        assert_eq!(found.private_ipv4.as_deref(), Some("10.240.72.75"));
        assert_eq!(found.private_ipv6.as_deref(), Some("fd20::1"));
    }
    let (_, google) = answering(instance("DREAMING")).await;
    let error = google.describe(&place(&account), &["7".to_owned()]).await.unwrap_err();
    assert!(error.is(Category::Upstream) && error.message.contains("DREAMING"), "{error}");
}

#[tokio::test]
async fn an_image_is_ready_or_it_is_not() {
    let account = account();
    let id = "projects/sandbox-images/global/images/composer-api-1";
    for (status, is_available) in
        [("READY", true), ("PENDING", false), ("FAILED", false), ("DELETING", false)]
    {
        let shown = json!({"kind": "compute#image", "id": "1", "name": "composer-api-1", "status": status});
        let (_, google) = answering(shown).await;
        let found = google.image(&place(&account), id).await.unwrap();
        let (architecture, region, generation) = (None, None, None);
        assert_eq!(
            found,
            Some(CloudImage { id: id.to_owned(), architecture, is_available, region, generation })
        );
    }
}

#[tokio::test]
async fn a_list_that_never_ends_is_given_up() {
    let (_, google) = answering(json!({"items": [], "nextPageToken": "again"})).await;
    let error = google.regions(&place(&account())).await.unwrap_err();
    assert!(error.is(Category::Upstream) && error.message.contains("100 pages"), "{error}");
}

#[tokio::test]
async fn what_cannot_be_read_is_the_fault_of_the_cloud() {
    for answer in [json!([]), json!({"id": "x", "name": "n", "status": "RUNNING"}), json!("<html>")] {
        let (_, google) = answering(answer).await;
        let error = google.describe(&place(&account()), &["7".to_owned()]).await.unwrap_err();
        assert!(error.is(Category::Upstream), "{error}");
    }
}

/// What a tenant names never becomes a path that leads elsewhere.
#[tokio::test]
async fn no_name_leads_elsewhere() {
    let (server, google) = answering(json!({})).await;
    let account = account();
    let place = place(&account);
    let odd = ["../../other", "a?b", "a#b", "a/b", "", "ä"];
    for text in odd {
        assert!(google.describe(&place, &[text.to_owned()]).await.is_err(), "{text}");
        assert!(google.delete(&place, &[text.to_owned()]).await.is_err(), "{text}");
        assert!(google.image(&place, &format!("projects/x/global/images/{text}")).await.is_err(), "{text}");
        assert!(google.image(&place, &format!("projects/{text}/global/images/x")).await.is_err(), "{text}");
        let request = InstanceRequest { template: Some(text.to_owned()), ..InstanceRequest::new("tag") };
        assert!(google.create(&place, &request, "key").await.is_err(), "{text}");
        let elsewhere = super::fixture::account_of("default", text);
        assert!(google.regions(&super::fixture::place(&elsewhere)).await.is_err(), "{text}");
    }
    let paths: Vec<String> = server.arrivals().into_iter().map(|arrival| arrival.path).collect();
    assert!(
        !paths.iter().any(|path| path.contains("other") || path.contains("..") || path.contains('#')),
        "{paths:?}"
    );
}
