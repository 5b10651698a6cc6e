//! What launches are asked for with. The drivers alone get the same.

use ::launch::api::BASE;
use anyhow::{Result, ensure};
use futures_util::{StreamExt, TryStreamExt, stream};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use provision_engine::platform::Platform;

/// No process has the private half.
pub(super) const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBB9z8Vq+S+CoRWe1ILTrZkrULzqFEyHCgt/NPB8Trbs";
/// The account behind the source that the sandbox brings.
pub(super) const ACCOUNT: &str = "123456789012";
pub(super) const REGION: &str = "us-east-1";
pub(super) const DISTRIBUTION: &str = "rhel-9";
pub(super) const INSTANCE_TYPE: &str = "t3.small";
/// So many that no organisation comes faster than it may.
const ORGANISATIONS: usize = 500;

pub(super) fn organisation(number: usize) -> String {
    format!("bench-{}", number % ORGANISATIONS)
}

/// A request to the Image Builder.
pub(super) fn build(name: &str) -> Value {
    json!({
        "distribution": DISTRIBUTION, "image_name": name,
        "image_requests": [{
            "architecture": "x86_64", "image_type": "aws",
            "upload_request": {"type": "aws", "options": {"share_with_accounts": [ACCOUNT]}},
        }],
    })
}

/// Asks for the launch of a new image. Without a profile it is the one that is configured.
pub(super) async fn ask(platform: &Platform, number: usize, name: &str, profile: Option<&str>) -> Result<()> {
    let body = json!({
        "provider": "aws", "image": {"build": build(name)}, "profile": profile,
        "parameters": {
            "source_id": "sandbox", "region": REGION, "instance_type": INSTANCE_TYPE, "name": name,
            "pubkey": {"name": "bench", "body": KEY},
        },
    });
    let request = platform.request(Method::POST, &format!("{BASE}/launches"));
    let answer = request.header("X-Org-Id", organisation(number)).json(&body).send().await?;
    let (status, text) = (answer.status(), answer.text().await?);
    ensure!(status == StatusCode::ACCEPTED, "the API answers {status}: {text}");
    Ok(())
}

/// Does something for all numbers, for so many of them at once.
pub(super) async fn each<F>(at_once: usize, count: usize, work: impl Fn(usize) -> F) -> Result<()>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let tasks = stream::iter(0..count).map(|number| tokio::spawn(work(number))).buffer_unordered(at_once);
    tasks.map(|joined| anyhow::Ok(joined??)).try_collect().await
}
