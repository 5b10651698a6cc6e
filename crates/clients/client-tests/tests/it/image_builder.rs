//! Image Builder's client against the sandbox, and against servers that misbehave.

mod errors;
mod failure;
mod lists;
mod malformed;
mod stories;

use std::ops::Deref;

use client_tests::{TIMEOUT, TestSandbox};
use identity::{CallerIdentity, Organisation};
use image_builder::ImageBuilder;
use serde_json::{Value, json};

pub(crate) const API: &str = "/api/image-builder/v1";

/// The sandbox, whose builds are over as soon as they are begun, and the client for it.
pub(crate) struct ImageBuilderFixture {
    pub(crate) sandbox: TestSandbox,
    pub(crate) builder: ImageBuilder,
}

pub(crate) fn who() -> CallerIdentity {
    CallerIdentity::from(&Organisation { org: "org-1".into(), account: Some("13".into()) })
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

impl ImageBuilderFixture {
    pub(crate) async fn new() -> Self {
        let sandbox = TestSandbox::new().await;
        let builder = ImageBuilder::new(&sandbox.url(API), TIMEOUT).unwrap();
        let interval = json!({"pending_ms": 0, "building_ms": 0, "uploading_ms": 0, "registering_ms": 0});
        sandbox.post("/image-builder/pace", &interval).await;
        ImageBuilderFixture { sandbox, builder }
    }

    /// How many builds there are in the world.
    pub(crate) async fn made(&self) -> u64 {
        self.get("/ledger/summary").await["image_builder/compose"]["made"].as_u64().unwrap_or_default()
    }
}

impl Deref for ImageBuilderFixture {
    type Target = TestSandbox;

    fn deref(&self) -> &TestSandbox {
        &self.sandbox
    }
}
