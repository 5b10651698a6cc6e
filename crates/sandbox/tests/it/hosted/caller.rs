//! A client of all hosted services, and a request that Image Builder accepts.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use sandbox::Sandbox;
use serde_json::{Value, json};

/// For what happens by itself, sooner or later.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct HostedClient {
    client: Client,
    pub(crate) sandbox: Sandbox,
}

/// Of an organisation with a subscription of RHEL.
pub(crate) fn identity(org: &str, user: &str) -> String {
    header(&json!({
        "identity": {"type": "User", "org_id": org, "user": {"username": user}},
        "entitlements": {"rhel": {"is_entitled": true, "is_trial": false}},
    }))
}

pub(crate) fn header(document: &Value) -> String {
    STANDARD.encode(document.to_string())
}

/// For AWS, shared with one account.
pub(crate) fn request() -> Value {
    json!({
        "distribution": "rhel-9",
        "image_name": "web",
        "image_description": "launch 0190",
        "image_requests": [{
            "architecture": "x86_64",
            "image_type": "aws",
            "upload_request": {"type": "aws", "options": {"share_with_accounts": ["123456789012"]}},
        }],
    })
}

impl HostedClient {
    pub(crate) async fn new() -> Self {
        let sandbox = Sandbox::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        HostedClient { client: Client::builder().no_proxy().build().unwrap(), sandbox }
    }

    /// With builds that are over as soon as they are begun.
    pub(crate) async fn in_a_hurry() -> Self {
        let caller = HostedClient::new().await;
        caller.delay_times(0, 0, 0, 0).await;
        caller
    }

    pub(crate) async fn delay_times(&self, pending: u64, building: u64, uploading: u64, registering: u64) {
        let delay_times = json!({
            "pending_ms": pending, "building_ms": building,
            "uploading_ms": uploading, "registering_ms": registering,
        });
        self.turn("/image-builder/pace", delay_times, StatusCode::OK).await;
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.sandbox.url()))
    }

    /// A call of a user in organisation `org-1`.
    pub(crate) fn call(&self, method: Method, path: &str) -> RequestBuilder {
        self.request(method, path).header("x-rh-identity", identity("org-1", "ada"))
    }

    /// The API of Image Builder.
    pub(crate) fn builder(&self, method: Method, path: &str) -> RequestBuilder {
        self.call(method, &format!("/api/image-builder/v1{path}"))
    }

    pub(crate) async fn turn(&self, path: &str, body: Value, expect: StatusCode) {
        let response = self.request(Method::POST, path).json(&body).send().await.unwrap();
        assert_eq!(response.status(), expect, "{path}: {}", response.text().await.unwrap());
    }

    pub(crate) async fn look(&self, path: &str) -> Value {
        json_of(self.request(Method::GET, path).send().await.unwrap()).await
    }

    pub(crate) async fn submit(&self, request: &Value) -> String {
        let response = self.builder(Method::POST, "/compose").json(request).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::CREATED);
        let body: Value = response.json().await.unwrap();
        body["id"].as_str().unwrap().to_owned()
    }

    /// The status of the image, and all that is said about it.
    pub(crate) async fn status(&self, id: &str) -> Value {
        let response = self.builder(Method::GET, &format!("/composes/{id}")).send().await.unwrap();
        let mut body = json_of(response).await;
        body["image_status"].take()
    }

    /// Turns the clock of the external systems.
    pub(crate) async fn advance(&self, ms: u64) {
        self.turn("/clock", json!({"advance_ms": ms}), StatusCode::OK).await;
    }

    /// Looks again until it sees what it looks for.
    pub(crate) async fn until(&self, path: &str, is_there: impl Fn(&Value) -> bool) -> Value {
        let seen = async {
            loop {
                let seen = self.look(path).await;
                if is_there(&seen) {
                    return seen;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, seen).await.unwrap()
    }
}

pub(crate) async fn json_of(response: Response) -> Value {
    let status = response.status();
    let text = response.text().await.unwrap();
    assert_eq!(status, StatusCode::OK, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// The status and the words of a call that was not carried out.
pub(crate) async fn error_text(request: RequestBuilder) -> (u16, String) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["errors"][0]["title"], status.to_string(), "{body}");
    (status, body["errors"][0]["detail"].as_str().unwrap().to_owned())
}
