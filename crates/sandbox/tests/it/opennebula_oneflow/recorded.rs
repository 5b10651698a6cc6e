//! The answers have the shape of those that a real OneFlow 6.8.3 gave to the same calls.

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::caller::{OneFlowClient, log};

const INSTANTIATE: &str = include_str!("data/instantiate_request.json");
const STARTED: &str = include_str!("data/service_started.json");
const NETS: &str = include_str!("data/service_nets.json");
const RUNNING: &str = include_str!("data/service_running.json");
const FAILED: &str = include_str!("data/service_failed.json");
const TEMPLATES: &str = include_str!("data/service_templates.json");

/// Names of members and kinds of values; a list is the shapes of its entries.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let shaped = members.iter().map(|(name, value)| (name.clone(), shape(value)));
            Value::Object(shaped.collect::<Map<_, _>>())
        }
        Value::Array(entries) => Value::Array(entries.iter().map(shape).collect()),
        Value::String(_) => json!("text"),
        Value::Number(_) => json!("number"),
        Value::Bool(_) => json!("flag"),
        Value::Null => json!("null"),
    }
}

#[track_caller]
fn check(answer: &Value, recorded: &str) {
    let recorded: Value = serde_json::from_str(recorded).unwrap();
    assert_eq!(shape(answer), shape(&recorded));
}

#[tokio::test]
async fn a_service_has_the_recorded_shapes_on_its_way_to_running() {
    let caller = OneFlowClient::new().await;
    caller.delay_times(json!({"nets_ms": 60_000})).await;
    let request: Value = serde_json::from_str(INSTANTIATE).unwrap();
    let path = "/service_template/1/action";
    let started = caller.flow(Method::POST, path, Some(&request)).await;
    assert_eq!(started.status, 201);
    check(&started.json(), STARTED);
    let path = format!("/service/{}", started.json()["DOCUMENT"]["ID"].as_str().unwrap());
    check(&caller.get(&path).await.json(), NETS);
    caller.advance(120_000).await;
    let running = caller.get(&path).await.json();
    check(&running, RUNNING);
    let body = &running["DOCUMENT"]["TEMPLATE"]["BODY"];
    let states = ["I New state: DEPLOYING_NETS", "I New state: DEPLOYING", "I New state: RUNNING"];
    assert_eq!(log(body), states);
    let contents = &request["action"]["params"]["merge_template"]["roles"][0]["vm_template_contents"];
    assert_eq!(&body["roles"][0]["vm_template_contents"], contents);
}

#[tokio::test]
async fn a_service_whose_text_cannot_be_parsed_fails_as_recorded() {
    let caller = OneFlowClient::new().await;
    let contents = "CPU=1\nSCHED_REQUIREMENTS=\"ARCH=\"X86_64\"\"\nFLAVOURS=\"0\"";
    let id = caller
        .start("Function", json!({"roles": [{"name": "FAAS", "vm_template_contents": contents}]}))
        .await;
    let body = caller.until(id, 7).await;
    check(&caller.get(&format!("/service/{id}")).await.json(), FAILED);
    let log = log(&body);
    assert_eq!((&*log[0], &*log[2]), ("I New state: DEPLOYING_NETS", "I New state: FAILED_DEPLOYING"));
    let why = "E Role FAAS : Instantiate failed for template 0; [one.template.instantiate] Parse error: ";
    assert!(log[1].starts_with(why), "{}", log[1]);
}

#[tokio::test]
async fn the_templates_are_listed_newest_first_in_the_recorded_shape() {
    let caller = OneFlowClient::new().await;
    let mut pool = caller.get("/service_template").await.json();
    let all = pool["DOCUMENT_POOL"]["DOCUMENT"].as_array_mut().unwrap();
    let ids: Vec<i32> = all.iter().map(|one| one["ID"].as_str().unwrap().parse().unwrap()).collect();
    assert!(ids.is_sorted_by(|newer, older| newer > older), "{ids:?}");
    all.retain(|one| one["NAME"] == "Function" || one["NAME"] == "Function-Data");
    let first = all[0].clone();
    check(&pool, TEMPLATES);
    let one = caller.get("/service_template/1").await.json();
    assert_eq!(one, json!({"DOCUMENT": first}));
}

#[tokio::test]
async fn errors_are_plain_text_with_the_recorded_codes() {
    let caller = OneFlowClient::new().await;
    let missing = "[one.document.info] Error getting document [999999].";
    let another = "[DocumentInfo] Error getting document [0].";
    let cases = [
        (Method::GET, "/service/999999", None, 404, missing),
        (Method::DELETE, "/service/999999", None, 404, missing),
        (Method::GET, "/service_template/999999", None, 404, missing),
        (Method::GET, "/service/abc", None, 500, another),
        (Method::GET, "/service/0", None, 500, another),
        (
            Method::POST,
            "/service_template/999999/action",
            Some(json!({"action": {"perform": "instantiate"}})),
            404,
            missing,
        ),
        (
            Method::POST,
            "/service_template/0/action",
            Some(json!({"action": {"perform": "explode"}})),
            200,
            "",
        ),
        (
            Method::POST,
            "/service/0/action",
            Some(json!({"action": {"perform": "explode"}})),
            500,
            "Action explode not supported",
        ),
        (Method::POST, "/service_template", Some(json!({"name": "x"})), 400, "KEY: 'roles' is required;"),
    ];
    for (method, path, body, status, text) in cases {
        let answer = caller.flow(method.clone(), path, body.as_ref()).await;
        assert!(answer.is(status, text), "{method} {path}: {} {}", answer.status, answer.text);
        assert_eq!(answer.headers["content-type"], "text/html;charset=utf-8");
        assert_eq!(answer.headers["server"], "thin");
        assert_eq!(answer.headers["connection"], "close");
    }
}

#[tokio::test]
async fn what_is_not_json_is_an_error_here_and_a_crash_there() {
    let caller = OneFlowClient::new().await;
    let send = |path: &str| {
        let url = format!("{}{path}", caller.sandbox.oneflow_url());
        caller.client.post(url).basic_auth("cognit", Some("cognitpass")).body("{nope").send()
    };
    let refused = send("/service_template").await.unwrap();
    assert_eq!(refused.status(), 400);
    assert_eq!(refused.text().await.unwrap(), "859: unexpected token at '{nope'");
    let crashed = send("/service_template/0/action").await.unwrap();
    assert_eq!(
        (crashed.status().as_u16(), &crashed.headers()["content-type"]),
        (500, &"text/html".parse().unwrap())
    );
    let page = crashed.text().await.unwrap();
    assert!(page.contains("JSON::ParserError at /service_template/0/action"));
    assert!(page.len() >= 100_000, "{}", page.len());
    for path in ["/service_template/0/action", "/service/0/action"] {
        let crashed = caller.flow(Method::POST, path, Some(&json!({}))).await;
        assert_eq!(
            (crashed.status.as_u16(), &crashed.headers["content-type"]),
            (500, &"text/html".parse().unwrap())
        );
        assert!(crashed.text.contains("NoMethodError at "), "{path}");
    }
}

#[tokio::test]
async fn everyone_must_log_in_and_sees_only_what_is_open_to_him() {
    let caller = OneFlowClient::new().await;
    let url = format!("{}/service", caller.sandbox.oneflow_url());
    let outsider = caller.client.get(url).send().await.unwrap();
    assert_eq!(outsider.status(), 401);
    assert_eq!(outsider.text().await.unwrap(), "A username and password must be provided");
    let ask = |who: (&'static str, &'static str), path: String| {
        let caller = &caller;
        async move { caller.flow_as(who, Method::GET, &path, None).await }
    };
    assert!(ask(("cognit", "nope"), "/service".into()).await.is(401, "Invalid credentials"));
    assert!(ask(("cognit", "nope"), "/nowhere".into()).await.is(401, "Invalid credentials"));
    let empty = ("empty", "emptypass");
    for path in ["/service", "/service_template"] {
        assert_eq!(ask(empty, path.into()).await.json(), json!({"DOCUMENT_POOL": {}}));
    }
    let id = caller.start("Function", json!({})).await;
    let call_error = format!("[one.document.info] User [3] : Not authorized to perform USE DOCUMENT [{id}].");
    assert!(ask(("other", "otherpass"), format!("/service/{id}")).await.is(401, &call_error));
    let denied =
        caller.flow_as(("other", "otherpass"), Method::DELETE, &format!("/service/{id}"), None).await;
    assert!(denied.is(401, &call_error), "{}", denied.text);
    assert_eq!(ask(("other", "otherpass"), "/service".into()).await.json(), json!({"DOCUMENT_POOL": {}}));
    let seen = ask(("oneadmin", "opennebula"), "/service".into()).await.json();
    assert_eq!(seen["DOCUMENT_POOL"]["DOCUMENT"][0]["ID"], id.to_string());
}
