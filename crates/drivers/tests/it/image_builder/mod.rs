//! Image Builder's driver against the sandbox, and against far sides that no decent server would be.

mod lists;
mod malformed;
mod stories;
mod trouble;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use drivers::identity::{CallerIdentity, Requester};
use drivers::image_builder::ImageBuilder;
use reqwest::Client;
use sandbox::Sandbox;
use serde_json::{Value, json};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// The sandbox, whose builds are over as soon as they are begun, and the driver for it.
pub(crate) struct House {
    pub(crate) sandbox: Sandbox,
    pub(crate) builder: ImageBuilder,
    client: Client,
}

pub(crate) fn who() -> CallerIdentity {
    CallerIdentity::from(&Requester { org: "org-1".into(), account: Some("13".into()) })
}

pub(crate) fn request(description: &str) -> Value {
    json!({
        "distribution": "rhel-9",
        "image_name": "web",
        "image_description": description,
        "image_requests": [{
            "architecture": "aarch64",
            "image_type": "aws",
            "upload_request": {"type": "aws", "options": {"share_with_sources": ["1"]}},
        }],
    })
}

impl House {
    pub(crate) async fn new() -> Self {
        let sandbox = Sandbox::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        let builder = ImageBuilder::new(&builder_url(&sandbox), TIMEOUT).unwrap();
        let house = House { sandbox, builder, client: Client::builder().no_proxy().build().unwrap() };
        let pace = json!({"pending_ms": 0, "building_ms": 0, "uploading_ms": 0, "registering_ms": 0});
        house.turn("/image-builder/pace", pace).await;
        house
    }

    pub(crate) async fn turn(&self, path: &str, body: Value) {
        let sent =
            self.client.post(format!("{}{path}", self.sandbox.url())).json(&body).send().await.unwrap();
        assert!(sent.status().is_success(), "{path}: {}", sent.text().await.unwrap());
    }

    pub(crate) async fn arm(&self, mut fault: Value) {
        fault["system"] = json!("image_builder");
        self.turn("/faults", fault).await;
    }

    pub(crate) async fn look(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.sandbox.url());
        self.client.get(url).send().await.unwrap().json().await.unwrap()
    }

    /// How many builds there are in the world.
    pub(crate) async fn made(&self) -> u64 {
        self.look("/ledger/summary").await["image_builder/compose"]["made"].as_u64().unwrap_or_default()
    }
}

pub(crate) fn builder_url(sandbox: &Sandbox) -> String {
    format!("{}/api/image-builder/v1", sandbox.url())
}

/// A far side that has one answer to everything. Returns its URL.
pub(crate) async fn answering(status: u16, body: impl Into<String>) -> String {
    let (status, body) = (StatusCode::from_u16(status).unwrap(), body.into());
    let router = Router::new().fallback(move || async move { (status, body).into_response() });
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}
