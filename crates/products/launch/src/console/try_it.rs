//! A launch in the sandbox, to see how it looks.

use crate::api::types::Launch;
use serde_json::json;

use super::LAUNCH;
use console::{PageError, SignedIn};

/// What the sandbox has.
const SOURCE: &str = "sandbox";
const ACCOUNT: &str = "123456789012";
/// Its private half does not exist.
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBC8QPJY09eKBK/w7uJRgWh7xwuD+N9RTq6n0JLjkOpX";

pub(super) async fn start(signed_in: &SignedIn, name: String) -> Result<String, PageError> {
    let build = json!({
        "distribution": "rhel-9", "image_name": name,
        "image_requests": [{
            "architecture": "x86_64", "image_type": "aws",
            "upload_request": {"type": "aws", "options": {"share_with_accounts": [ACCOUNT]}},
        }],
    });
    let body = json!({
        "provider": "aws", "image": {"build": build},
        "parameters": {
            "source_id": SOURCE, "instance_type": "t3.small", "amount": 2, "name": name,
            "pubkey": {"name": "try", "body": KEY},
        },
    });
    let launch: Launch = signed_in.api.post(&format!("{LAUNCH}/launches"), &body).await?.json()?;
    Ok(format!("/console/launches/{}", launch.id))
}
