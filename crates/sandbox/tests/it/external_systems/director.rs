//! The Director: it finds runtimes by their labels and knows how they are.

use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::caller::{HttpClient, config, only_error};

const RUNTIME: &str = "query($id: ID!) { result: runtime(id: $id) { id name labels status { condition } } }";
const RUNTIMES: &str = "query($filter: [LabelFilter!], $first: Int, $after: PageCursor) {
    result: runtimes(filter: $filter, first: $first, after: $after) {
        data { id } pageInfo { endCursor hasNextPage } totalCount } }";
const SET_LABEL: &str = "mutation($id: ID!, $key: String!, $value: Any!) {
    result: setRuntimeLabel(runtimeID: $id, key: $key, value: $value) { key value } }";

fn question(caller: &HttpClient, tenant: &str, query: &str, variables: &Value) -> RequestBuilder {
    let body = json!({"query": query, "variables": variables});
    caller.request(Method::POST, "/director/graphql").header("tenant", tenant).json(&body)
}

async fn ask(caller: &HttpClient, query: &str, variables: Value) -> Value {
    let response = question(caller, "ga-1", query, &variables).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    response.json().await.unwrap()
}

async fn runtime(caller: &HttpClient, id: &Value) -> Value {
    ask(caller, RUNTIME, json!({"id": id})).await["data"]["result"].take()
}

/// The ids that have this label, by what is written in the filter.
async fn found(caller: &HttpClient, key: &str, query: &str) -> Vec<Value> {
    let variables = json!({"filter": [{"key": key, "query": query}]});
    let body = ask(caller, RUNTIMES, variables).await;
    let data = body["data"]["result"]["data"].as_array().unwrap();
    data.iter().map(|runtime| runtime["id"].clone()).collect()
}

#[tokio::test]
async fn a_runtime_is_registered_then_connected_then_gone() {
    let caller = HttpClient::new().await;
    caller.script(json!({"provision_ms": 60_000, "deprovision_ms": 60_000})).await;
    let id = caller.provision(&config("i-1")).await["runtimeID"].take();
    let labels = json!({"broker_instance_id": "i-1", "global_subaccount_id": "sa-1"});
    let expected =
        json!({"id": id, "name": "name of i-1", "labels": labels, "status": {"condition": "PROVISIONING"}});
    assert_eq!(runtime(&caller, &id).await, expected);
    caller.advance(60).await;
    let connected = runtime(&caller, &id).await;
    let url = format!("https://console.{}.sandbox.local", id.as_str().unwrap());
    assert_eq!(connected["status"]["condition"], "CONNECTED");
    assert_eq!(connected["labels"]["runtime_consoleUrl"], url);
    caller.deprovision(id.as_str().unwrap()).await;
    assert_eq!(runtime(&caller, &id).await, connected);
    caller.advance(60).await;
    assert_eq!(runtime(&caller, &id).await, json!(null));
    assert_eq!(found(&caller, "broker_instance_id", "\"i-1\"").await, [json!(null); 0]);
}

#[tokio::test]
async fn the_console_has_the_name_of_the_shoot_and_a_failed_runtime_has_none() {
    let caller = HttpClient::new().await;
    let mut named = config("i-1");
    named["clusterConfig"]["gardenerConfig"]["name"] = json!("c-12345");
    let id = caller.provision(&named).await["runtimeID"].take();
    let labels = runtime(&caller, &id).await["labels"].take();
    assert_eq!(labels["runtime_consoleUrl"], "https://console.c-12345.sandbox.local");
    caller.fail(json!({"operation": "Provision", "kind": "operation"})).await;
    let id = caller.provision(&named).await["runtimeID"].take();
    let failed = runtime(&caller, &id).await;
    assert_eq!(failed["status"]["condition"], "FAILED");
    assert_eq!(failed["labels"].get("runtime_consoleUrl"), None);
}

#[tokio::test]
async fn runtimes_are_found_by_the_text_of_a_label() {
    let caller = HttpClient::new().await;
    let mut listed = config("i-2");
    listed["runtimeInput"]["labels"]["teams"] = json!(["red", "blue"]);
    let one = caller.provision(&config("i-1")).await["runtimeID"].take();
    let two = caller.provision(&listed).await["runtimeID"].take();
    let cases: [(&str, &str, &[&Value]); 7] = [
        ("broker_instance_id", "\"i-1\"", &[&one]),
        ("broker_instance_id", "i-2", &[&two]),
        ("broker_instance_id", "\"i-3\"", &[]),
        ("broker_instance_id", "", &[]),
        ("global_subaccount_id", "\"sa-1\"", &[&one, &two]),
        ("teams", "\"blue\"", &[&two]),
        ("nothing", "\"i-1\"", &[]),
    ];
    for (key, query, expected) in cases {
        assert_eq!(found(&caller, key, query).await.iter().collect::<Vec<_>>(), expected, "{key} {query}");
    }
    let with_key = ask(&caller, RUNTIMES, json!({"filter": [{"key": "teams"}]})).await;
    assert_eq!(with_key["data"]["result"]["data"], json!([{"id": two}]));
    let both = json!([{"key": "global_subaccount_id", "query": "sa-1"}, {"key": "teams", "query": "red"}]);
    assert_eq!(ask(&caller, RUNTIMES, json!({"filter": both})).await["data"]["result"]["totalCount"], 1);
}

#[tokio::test]
async fn long_lists_come_in_pages() {
    let caller = HttpClient::new().await;
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(caller.provision(&config(&format!("i-{number}"))).await["runtimeID"].take());
    }
    let (mut seen, mut after) = (Vec::new(), json!(null));
    for expected in [2, 2, 1] {
        let page = ask(&caller, RUNTIMES, json!({"first": 2, "after": after})).await["data"]["result"].take();
        let data = page["data"].as_array().unwrap();
        assert_eq!((data.len(), &page["totalCount"]), (expected, &json!(5)));
        seen.extend(data.iter().map(|runtime| runtime["id"].clone()));
        assert_eq!(page["pageInfo"]["hasNextPage"], seen.len() < 5);
        after = page["pageInfo"]["endCursor"].clone();
    }
    assert_eq!(seen, ids);
    let body = ask(&caller, RUNTIMES, json!({"first": 0})).await;
    assert_eq!(only_error(&body).1, 400);
}

#[tokio::test]
async fn labels_can_be_set_and_changed() {
    let caller = HttpClient::new().await;
    let id = caller.provision(&config("i-1")).await["runtimeID"].take();
    for value in ["one", "two"] {
        let set = ask(&caller, SET_LABEL, json!({"id": id, "key": "k", "value": value})).await;
        assert_eq!(set["data"]["result"], json!({"key": "k", "value": value}));
    }
    assert_eq!(found(&caller, "k", "\"two\"").await, std::slice::from_ref(&id));
    assert_eq!(found(&caller, "k", "\"one\"").await, [json!(null); 0]);
    for number in 0..197 {
        ask(&caller, SET_LABEL, json!({"id": id, "key": format!("k{number}"), "value": {"any": 1}})).await;
    }
    let full = ask(&caller, SET_LABEL, json!({"id": id, "key": "one more", "value": 1})).await;
    assert_eq!(only_error(&full).1, 400);
    let unknown = ask(&caller, SET_LABEL, json!({"id": "unknown", "key": "k", "value": "v"})).await;
    assert_eq!(only_error(&unknown).1, 404);
}

#[tokio::test]
async fn tenants_do_not_see_each_other_and_must_say_who_they_are() {
    let caller = HttpClient::new().await;
    let id = caller.provision(&config("i-1")).await["runtimeID"].take();
    let other = |query, variables: Value| question(&caller, "ga-2", query, &variables);
    let body: Value = other(RUNTIME, json!({"id": id})).send().await.unwrap().json().await.unwrap();
    assert_eq!(body, json!({"data": {"result": null}}));
    let body: Value = other(RUNTIMES, json!({})).send().await.unwrap().json().await.unwrap();
    assert_eq!(body["data"]["result"]["totalCount"], 0);
    let set = json!({"id": id, "key": "k", "value": "v"});
    let body: Value = other(SET_LABEL, set).send().await.unwrap().json().await.unwrap();
    assert_eq!(only_error(&body).1, 404);
    let unknown = question(&caller, "", RUNTIME, &json!({"id": id})).send().await.unwrap();
    let error = only_error(&unknown.json().await.unwrap());
    assert_eq!(error, ("tenant header is empty".into(), json!(400)));
}

#[tokio::test]
async fn a_token_must_be_good_if_there_is_one_and_can_be_made_mandatory() {
    let caller = HttpClient::new().await;
    let token = |path| {
        let form = "grant_type=client_credentials&client_id=c&client_secret=sandbox-secret";
        let request = caller.request(Method::POST, path).body(form);
        request.header("content-type", "application/x-www-form-urlencoded")
    };
    let issued: Value = token("/identity/token").send().await.unwrap().json().await.unwrap();
    let good = format!("Bearer {}", issued["access_token"].as_str().unwrap());
    let status = async |authorization: Option<&str>| {
        let request = question(&caller, "ga-1", RUNTIMES, &json!({}));
        let request = authorization.into_iter().fold(request, |r, value| r.header("authorization", value));
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(status(None).await, 200);
    assert_eq!(status(Some(&good)).await, 200);
    for bad in
        ["Bearer nonsense", "Basic Yzpz", "Bearer", &format!("{good}x"), &good.replace("Bearer", "Token")]
    {
        assert_eq!(status(Some(bad)).await, 401, "{bad}");
    }
    caller.send(Method::PUT, "/director/script", json!({"require_token": true})).await;
    assert_eq!(status(None).await, 401);
    assert_eq!(status(Some(&good)).await, 200);
    caller.advance(3601).await;
    assert_eq!(status(Some(&good)).await, 401);
    let issued: Value = token("/identity/token").send().await.unwrap().json().await.unwrap();
    let good = format!("Bearer {}", issued["access_token"].as_str().unwrap());
    assert_eq!(status(Some(&good)).await, 200);
    caller.send(Method::POST, "/identity/rotate", json!(null)).await;
    assert_eq!(status(Some(&good)).await, 401);
}

#[tokio::test]
async fn faults_hit_the_director_alone() {
    let caller = HttpClient::new().await;
    caller.arm(json!({"system": "director", "kind": "error", "status": 502})).await;
    let id = json!(caller.runtime("i-1").await);
    let response = question(&caller, "ga-1", RUNTIME, &json!({"id": id})).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
    assert_eq!(runtime(&caller, &id).await["id"], id);
}
