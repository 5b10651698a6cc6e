//! Builds as their owner sees them.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::caller::{HostedClient, error_text, identity, json_of, request};

#[tokio::test]
async fn a_build_walks_through_its_statuses_by_the_clock() {
    let caller = HostedClient::new().await;
    caller.delay_times(1_000_000, 7_000_000, 1_000_000, 1_000_000).await;
    let id = caller.submit(&request()).await;
    let mut seen = Vec::new();
    for ms in [0, 1_000_000, 3_000_000, 4_000_000, 1_000_000, 1_000_000] {
        caller.advance(ms).await;
        let status = caller.status(&id).await;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        seen.push((
            text(&status["status"]).unwrap(),
            status["progress"]["done"].as_u64(),
            text(&status["upload_status"]["status"]).unwrap(),
            text(&status["upload_status"]["options"]["ami"]).unwrap().len(),
        ));
    }
    let expected = [
        ("pending", None, "pending", 0),
        ("building", Some(1), "pending", 0),
        ("building", Some(4), "pending", 0),
        ("uploading", None, "running", 0),
        ("registering", None, "running", 0),
        ("success", None, "success", "ami-".len() + 17),
    ];
    let expected: Vec<_> =
        expected.map(|(status, done, upload, ami)| (status.to_owned(), done, upload.to_owned(), ami)).into();
    assert_eq!(seen, expected);
    let status = caller.status(&id).await;
    assert_eq!(status["upload_status"]["options"]["region"], "us-east-1");
    assert_eq!(status["error"], Value::Null);
}

#[tokio::test]
async fn the_same_request_twice_makes_two_builds() {
    let caller = HostedClient::in_a_hurry().await;
    let (first, second) = (caller.submit(&request()).await, caller.submit(&request()).await);
    assert_ne!(first, second);
    let summary = caller.look("/ledger/summary").await;
    let expected = json!({"made": 2, "taken_back": 0, "standing": 2, "repeats": 0});
    assert_eq!(summary["image_builder/compose"], expected);
}

#[tokio::test]
async fn builds_of_others_are_unknown() {
    let caller = HostedClient::in_a_hurry().await;
    let id = caller.submit(&request()).await;
    for method in [Method::GET, Method::DELETE] {
        let path = format!("/api/image-builder/v1/composes/{id}");
        let call = caller.request(method, &path).header("x-rh-identity", identity("org-2", "eve"));
        assert_eq!(error_text(call).await.0, 404);
    }
    let path = "/api/image-builder/v1/composes";
    let call = caller.request(Method::GET, path).header("x-rh-identity", identity("org-2", "eve"));
    assert_eq!(json_of(call.send().await.unwrap()).await["meta"]["count"], 0);
    assert_eq!(caller.status(&id).await["status"], "success");
    let unknown = caller.builder(Method::GET, "/composes/0190a1b2-0000-7000-8000-000000000000");
    assert_eq!(error_text(unknown).await.0, 404);
    assert_eq!(error_text(caller.builder(Method::GET, "/composes/seven")).await.0, 400);
}

#[tokio::test]
async fn a_hidden_build_is_gone_for_its_owner_and_still_counts() {
    let caller = HostedClient::in_a_hurry().await;
    caller.turn("/image-builder/quota", json!({"builds": 1}), StatusCode::NO_CONTENT).await;
    let id = caller.submit(&request()).await;
    let path = format!("/composes/{id}");
    let hidden = caller.builder(Method::DELETE, &path).send().await.unwrap();
    assert_eq!((hidden.status(), hidden.text().await.unwrap().as_str()), (StatusCode::OK, ""));
    assert_eq!(error_text(caller.builder(Method::DELETE, &path)).await.0, 404);
    assert_eq!(error_text(caller.builder(Method::GET, &path)).await.0, 404);
    let summary = caller.look("/ledger/summary").await;
    assert_eq!(summary["image_builder/compose"]["taken_back"], 1);
    let refused = error_text(caller.builder(Method::POST, "/compose").json(&request())).await;
    assert!(refused.0 == 403 && refused.1.contains("quota"), "{refused:?}");
    caller.advance(14 * 24 * 3600 * 1000).await;
    caller.submit(&request()).await;
}

#[tokio::test]
async fn the_list_is_newest_first_in_pages_and_forgets_after_two_weeks() {
    let caller = HostedClient::in_a_hurry().await;
    let mut ids = Vec::new();
    for number in 0..3 {
        let mut request = request();
        request["image_name"] = json!(format!("image {number}"));
        ids.push(caller.submit(&request).await);
        caller.advance(24 * 3600 * 1000).await;
    }
    ids.reverse();
    let list = async |query: &str| {
        let call = caller.builder(Method::GET, &format!("/composes{query}"));
        json_of(call.send().await.unwrap()).await
    };
    let ids_of = |body: &Value| -> Vec<String> {
        let id = |one: &Value| one["id"].as_str().unwrap().to_owned();
        body["data"].as_array().unwrap().iter().map(id).collect()
    };
    let all = list("").await;
    assert_eq!(ids_of(&all), ids);
    assert_eq!((&all["meta"]["count"], &all["data"][0]["image_name"]), (&json!(3), &json!("image 2")));
    assert_eq!(all["data"][0]["request"]["image_description"], "launch 0190");
    let page = list("?limit=2&offset=2").await;
    assert_eq!((ids_of(&page), &page["meta"]["count"]), (ids[2..].to_vec(), &json!(3)));
    assert_eq!(ids_of(&list("?ignoreImageTypes=guest-image,aws").await).len(), 0);
    caller.advance(11 * 24 * 3600 * 1000).await;
    assert_eq!(ids_of(&list("").await), ids[..2]);
    for query in ["?limit=0", "?limit=101", "?limit=x", "?offset=-1"] {
        assert_eq!(
            error_text(caller.builder(Method::GET, &format!("/composes{query}"))).await.0,
            400,
            "{query}"
        );
    }
}

#[tokio::test]
async fn passwords_do_not_come_back() {
    let caller = HostedClient::in_a_hurry().await;
    let mut request = request();
    request["customizations"] =
        json!({"users": [{"name": "ada", "password": "hunter2", "ssh_key": "ssh-rsa A"}]});
    let id = caller.submit(&request).await;
    for path in [format!("/composes/{id}"), "/composes".to_owned()] {
        let text = caller.builder(Method::GET, &path).send().await.unwrap().text().await.unwrap();
        assert!(text.contains("ssh-rsa A") && !text.contains("hunter2"), "{text}");
    }
}

#[tokio::test]
async fn the_rest_of_the_api_answers_on_both_paths() {
    let caller = HostedClient::new().await;
    for base in ["/api/image-builder/v1", "/api/image-builder/v1.0"] {
        let get = async |path: &str| {
            let call = caller.call(Method::GET, &format!("{base}{path}"));
            json_of(call.send().await.unwrap()).await
        };
        assert_eq!(get("/ready").await, json!({"readiness": "ready"}));
        assert_eq!(get("/version").await["version"], "1.0");
        let names = get("/distributions").await;
        let has = |name: &str| names.as_array().unwrap().iter().any(|one| one["name"] == name);
        assert!(has("rhel-9") && !has("rhel-9-nightly"));
        let architectures = get("/architectures/rhel-9").await;
        assert_eq!(architectures[1]["arch"], "aarch64");
        assert!(architectures[1]["image_types"].as_array().unwrap().contains(&json!("aws")));
    }
    assert_eq!(error_text(caller.builder(Method::GET, "/architectures/rhel-9-nightly")).await.0, 403);
    assert_eq!(error_text(caller.builder(Method::GET, "/architectures/plan-9")).await.0, 400);
    assert_eq!(error_text(caller.request(Method::GET, "/api/image-builder/v1/composes")).await.0, 400);
    let calls = caller.look("/image-builder/calls").await;
    let counts = |route: &str| calls["calls"][route].as_u64();
    assert_eq!((counts("GET /ready"), counts("GET /architectures/{distribution}")), (Some(2), Some(4)));
}

#[tokio::test]
async fn a_finished_image_is_known_in_the_cloud_to_those_it_is_shared_with() {
    let caller = HostedClient::in_a_hurry().await;
    caller.turn("/image-builder/region", json!({"region": "eu-west-1"}), StatusCode::NO_CONTENT).await;
    caller.turn("/image-builder/faults/fail", json!({"at": "registering"}), StatusCode::CREATED).await;
    let mut request = request();
    request["image_requests"][0]["architecture"] = json!("aarch64");
    let options = json!({"share_with_accounts": ["210987654321"], "share_with_sources": ["1"]});
    request["image_requests"][0]["upload_request"]["options"] = options;
    let failed = caller.submit(&request).await;
    assert_eq!(caller.status(&failed).await["status"], "failure");
    let id = caller.submit(&request).await;
    let upload = caller.status(&id).await["upload_status"]["options"].take();
    let images = caller.look("/aws/images").await;
    let images = images["images"].as_array().unwrap();
    assert_eq!(images.len(), 1, "{images:?}");
    assert_eq!((&images[0]["ami"], &images[0]["region"]), (&upload["ami"], &json!("eu-west-1")));
    assert_eq!(images[0]["architecture"], "arm64");
    assert_eq!(images[0]["accounts"], json!(["210987654321", "123456789012"]));
}
