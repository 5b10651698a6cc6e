//! RBAC: who may do what.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::caller::{HostedClient, error_text, identity, json_of};

async fn permissions(caller: &HostedClient, user: &str, query: &str) -> Vec<String> {
    let path = format!("/api/rbac/v1/access/?application=provisioning{query}");
    let call = caller.request(Method::GET, &path).header("x-rh-identity", identity("org-1", user));
    let body = json_of(call.send().await.unwrap()).await;
    let text = |one: &Value| one["permission"].as_str().unwrap().to_owned();
    body["data"].as_array().unwrap().iter().map(text).collect()
}

#[tokio::test]
async fn everyone_may_do_everything_until_someone_says_otherwise() {
    let caller = HostedClient::new().await;
    assert_eq!(permissions(&caller, "ada", "").await, ["provisioning:*:*"]);
    let rights =
        json!({"permissions": ["provisioning:pubkey:read", "inventory:*:*", "provisioning:source:read"]});
    let set = caller.request(Method::PUT, "/rbac/users/ada").json(&rights).send().await.unwrap();
    assert_eq!(set.status(), StatusCode::NO_CONTENT);
    assert_eq!(
        permissions(&caller, "ada", "").await,
        ["provisioning:pubkey:read", "provisioning:source:read"]
    );
    assert_eq!(permissions(&caller, "ada", "&limit=1&offset=1").await, ["provisioning:source:read"]);
    assert_eq!(permissions(&caller, "bob", "").await, ["provisioning:*:*"]);
    let shown = &caller.look("/rbac/users").await["users"]["ada"];
    assert_eq!((&shown["permissions"], &shown["limited"]), (&rights["permissions"], &json!([])));
    caller.request(Method::DELETE, "/rbac/users/ada").send().await.unwrap();
    assert_eq!(permissions(&caller, "ada", "").await, ["provisioning:*:*"]);
}

#[tokio::test]
async fn a_question_must_say_who_asks_and_about_what() {
    let caller = HostedClient::new().await;
    let path = "/api/rbac/v1/access/";
    assert_eq!(
        error_text(caller.request(Method::GET, &format!("{path}?application=provisioning"))).await.0,
        400
    );
    assert_eq!(error_text(caller.call(Method::GET, path)).await.0, 400);
    let status = caller.call(Method::GET, "/api/rbac/v1/status/").send().await.unwrap();
    assert_eq!(status.status(), StatusCode::OK);
}
