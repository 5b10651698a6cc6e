//! Sources: who has which accounts.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::caller::{HostedClient, error_text, identity, json_of, request};

async fn get(caller: &HostedClient, path: &str) -> Value {
    let call = caller.call(Method::GET, &format!("/api/sources/v3.1{path}"));
    json_of(call.send().await.unwrap()).await
}

fn ids(body: &Value) -> Vec<&str> {
    body["data"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn every_organisation_has_an_account_in_each_cloud() {
    let caller = HostedClient::new().await;
    let types = get(&caller, "/application_types").await;
    let ours =
        types["data"].as_array().unwrap().iter().find(|one| one["name"] == "/insights/platform/provisioning");
    let path = format!("/application_types/{}/sources", ours.unwrap()["id"].as_str().unwrap());
    let all = get(&caller, &path).await;
    assert_eq!((ids(&all), &all["meta"]["count"]), (vec!["1", "2", "3"], &json!(3)));
    let google = get(&caller, &format!("{path}?filter[source_type][name]=google")).await;
    assert_eq!(ids(&google), ["3"]);
    let page = get(&caller, &format!("{path}?limit=1&offset=1")).await;
    assert_eq!((ids(&page), &page["meta"]["count"]), (vec!["2"], &json!(3)));
    let names = get(&caller, "/source_types").await;
    assert_eq!((&names["data"][0]["name"], &names["data"][2]["name"]), (&json!("amazon"), &json!("google")));
    for (id, authtype) in [
        ("1", "provisioning-arn"),
        ("2", "provisioning_lighthouse_subscription_id"),
        ("3", "provisioning_project_id"),
    ] {
        let all = get(&caller, &format!("/sources/{id}/authentications")).await;
        assert_eq!(all["data"][1]["authtype"], authtype);
        assert_eq!(all["data"][1]["resource_type"], "Application");
    }
}

#[tokio::test]
async fn more_sources_come_and_go_and_belong_to_someone() {
    let caller = HostedClient::new().await;
    let known = json!({
        "id": "8", "name": "eight", "provider": "aws", "org": "org-2", "external_id": "x",
        "account": "arn:aws:iam::210987654321:role/other",
    });
    caller.turn("/sources/known", known, StatusCode::CREATED).await;
    let path = "/api/sources/v3.1/sources/8/authentications";
    assert_eq!(error_text(caller.call(Method::GET, path)).await.0, 404);
    let theirs = caller.request(Method::GET, path).header("x-rh-identity", identity("org-2", "eve"));
    let body = json_of(theirs.send().await.unwrap()).await;
    assert_eq!(body["data"][1]["extra"]["external_id"], "x");
    let removed = caller.request(Method::DELETE, "/sources/known/1").send().await.unwrap();
    assert_eq!(removed.status(), StatusCode::NO_CONTENT);
    let mut shared = request();
    shared["image_requests"][0]["upload_request"]["options"] = json!({"share_with_sources": ["1"]});
    assert_eq!(error_text(caller.builder(Method::POST, "/compose").json(&shared)).await.0, 400);
    caller.request(Method::DELETE, "/sources/known").send().await.unwrap();
    caller.submit(&shared).await;
    assert_eq!(caller.look("/sources/known").await["sources"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn no_one_is_answered_without_an_identity() {
    let caller = HostedClient::new().await;
    for path in
        ["/application_types", "/source_types", "/application_types/5/sources", "/sources/1/authentications"]
    {
        let call = caller.request(Method::GET, &format!("/api/sources/v3.1{path}"));
        assert_eq!(error_text(call).await.0, 400, "{path}");
    }
    assert_eq!(
        error_text(caller.call(Method::GET, "/api/sources/v3.1/application_types/77/sources")).await.0,
        404
    );
}
