//! What the client sends, and what it makes of answers that no sandbox gives.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use azure::{Azure, Credential, Options};
use client_tests::{Arrival, TestServer, answering};
use cloud::{Category, CloudAccount, Provider};
use serde_json::{Value, json};

use super::fixture::{AzureFixture, SUBSCRIPTION, account, request};
use crate::vector;

const VM: &str = "/subscriptions/4b9d213f-712f-4d17-a483-8a10bbe9df3a/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/asotest-vm";

fn client(url: &str) -> Azure {
    let options = Options {
        arm: url.to_owned(),
        authority: format!("{url}/login"),
        tenant: "tenant".to_owned(),
        client_id: "client".to_owned(),
        credential: Some(Credential::Secret("hunter2".into())),
        timeout: Duration::from_secs(5),
        poll: Duration::from_millis(10),
        ..Options::new()
    };
    Azure::new(&options).unwrap()
}

fn token() -> Response {
    axum::Json(vector::load("azure", "token").response.body).into_response()
}

fn is_token(arrival: &Arrival) -> bool {
    arrival.path.starts_with("/login/")
}

#[tokio::test]
async fn a_call_has_the_headers_of_the_resource_manager() {
    let server =
        TestServer::start(
            |arrival| if is_token(arrival) { token() } else { axum::Json(json!({})).into_response() },
        )
        .await;
    let account = account("default", SUBSCRIPTION);
    let session = "0192f0c1-0000-7000-8000-000000000001";
    let place = CloudAccount { account: &account, region: "eastus", session };
    drop(client(&server.url).describe(&place, &[VM.to_owned()]).await);
    let arrivals = server.arrivals();
    let login = &arrivals[0];
    assert_eq!(login.path, "/login/tenant/oauth2/v2.0/token");
    assert_eq!(
        String::from_utf8_lossy(&login.body),
        "client_id=client&grant_type=client_credentials&scope=https%3A%2F%2Fmanagement.azure.com%2F.default\
         &client_secret=hunter2"
    );
    let call = &arrivals[1];
    assert_eq!(call.path, format!("{VM}?api-version=2024-07-01&%24expand=instanceView"));
    assert_eq!(call.headers["authorization"], "Bearer t0ken");
    assert_eq!(call.headers["x-ms-correlation-request-id"], session);
    assert!(call.headers.contains_key("x-ms-client-request-id"));
}

/// The call carries our token, so a list never leads to another host.
#[tokio::test]
async fn a_next_page_on_another_host_is_not_followed() {
    let elsewhere = answering(200, r#"{"value":[]}"#).await;
    let link = format!("{elsewhere}/subscriptions/{SUBSCRIPTION}/locations?page=2");
    let page =
        json!({"value": [{"name": "eastus", "metadata": {"regionType": "Physical"}}], "nextLink": link});
    let server =
        TestServer::start(
            move |arrival| {
                if is_token(arrival) { token() } else { axum::Json(page.clone()).into_response() }
            },
        );
    let account = account("default", SUBSCRIPTION);
    let place = CloudAccount { account: &account, region: "eastus", session: "s" };
    let error = client(&server.await.url).regions(&place).await.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (Category::Upstream, "ForeignLink"));
}

#[tokio::test]
async fn answers_that_are_none_are_errors_without_what_they_say() {
    let account = account("default", SUBSCRIPTION);
    let place = CloudAccount { account: &account, region: "eastus", session: "s" };
    for (status, body, category) in [
        (200, "<html>hunter2", Category::Upstream),
        (502, "<html>hunter2", Category::Upstream),
        (401, r#"{"error":{"code":"InvalidAuthenticationToken","message":"ended"}}"#, Category::Permission),
        (429, "", Category::Throttle),
    ] {
        let body = body.to_owned();
        let server = TestServer::start(move |arrival| {
            if is_token(arrival) {
                return token();
            }
            (StatusCode::from_u16(status).unwrap(), body.clone()).into_response()
        });
        let error = client(&server.await.url).regions(&place).await.unwrap_err();
        assert!(error.is(category) && !error.to_string().contains("hunter2"), "{status} {error}");
    }
    let error = client("http://127.0.0.1:9").regions(&place).await.unwrap_err();
    assert!(error.is(Category::Network), "{error}");
}

#[test]
fn a_secret_is_not_sent_in_the_clear_to_another_machine() {
    let options = Options { arm: "http://management.example".to_owned(), ..Options::new() };
    assert!(Azure::new(&options).is_err());
    let options = Options { authority: "http://login.example".to_owned(), ..Options::new() };
    assert!(Azure::new(&options).is_err());
    assert!(!format!("{:?}", Options::beside("http://127.0.0.1:1")).contains("sandbox-secret"));
}

#[tokio::test]
async fn lists_are_read_page_by_page() {
    let fixture = AzureFixture::new().await;
    fixture.shared.put("/azure/pages", &json!({"items": 2})).await;
    assert_eq!(fixture.azure.regions(&fixture.place()).await.unwrap().len(), 7);
    assert_eq!(fixture.azure.instance_types(&fixture.place()).await.unwrap().len(), 6);
}

/// User data may hold secrets: it goes where no reader of the subscription sees it again.
#[tokio::test]
async fn the_body_of_an_instance_has_what_a_launch_needs() {
    let fixture = AzureFixture::new().await;
    fixture.launched(&request("tag", 1)).await;
    let world = fixture.shared.get("/azure/world").await;
    let resources = world["resources"].as_array().unwrap();
    let vm = resources.iter().find(|one| one["kind"] == "vm").unwrap();
    let at = |pointer: &str| vm.pointer(pointer).cloned().unwrap_or(Value::Null);
    assert_eq!(at("/properties/osProfile/adminUsername"), "azureuser");
    assert_eq!(at("/properties/osProfile/linuxConfiguration/disablePasswordAuthentication"), true);
    assert_eq!(at("/has_custom_data"), true);
    assert!(!world.to_string().contains("I2Nsb3VkLWNvbmZpZwo"), "the text can be read back");
    assert_eq!(at("/properties/storageProfile/osDisk/deleteOption"), "Delete");
    assert_eq!(at("/properties/networkProfile/networkInterfaces/0/properties/deleteOption"), "Delete");
    assert_eq!(at("/tags/provision-engine-launch"), "tag");
    assert_eq!(at("/tags/rh-rid"), "r-1");
    let ip = resources.iter().find(|one| one["kind"] == "public_ip").unwrap();
    assert_eq!(
        (ip["sku"]["name"].clone(), ip["tags"]["rh-org"].clone()),
        (json!("Standard"), json!("default"))
    );
}
