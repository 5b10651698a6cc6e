//! Webhooks: messages that a user's HTTP service asked for, signed so that it can tell that they are ours.

use std::fmt;
use std::time::Duration;

use engine::Timestamp;
use engine::secret::SecretString;
use http_client::{Answer, DriverError, ExternalSystem, client_builder, signature};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Url};

const SYSTEM: ExternalSystem = ExternalSystem("webhook");
/// No caller expects a longer one, and most services refuse it.
const BODY_BYTES_MAX: usize = 1_000_000;

/// One service that is told what happened.
#[derive(Clone)]
pub struct Webhook {
    client: Client,
    url: Url,
    secret: Option<SecretString>,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("is_signed", &self.secret.is_some()).finish_non_exhaustive()
    }
}

impl Webhook {
    /// Without a secret messages are not signed. A whole call ends after `timeout`.
    pub fn new(url: &str, secret: Option<SecretString>, timeout: Duration) -> Result<Webhook, DriverError> {
        let url = SYSTEM.safe_url(url)?;
        let client = SYSTEM.client(client_builder(timeout).timeout(timeout))?;
        Ok(Webhook { client, url, secret })
    }

    /// Sends one JSON document. After any error but a refusal it may have arrived: send it again with the same id, by
    /// which the receiver knows it.
    pub async fn send(&self, id: &str, body: &str, now: Timestamp) -> Result<(), DriverError> {
        if body.len() > BODY_BYTES_MAX {
            let bytes = body.len();
            return Err(
                SYSTEM.refused(format!("the message has {bytes} bytes, and {BODY_BYTES_MAX} are allowed"))
            );
        }
        let unix_seconds = now.millis().div_euclid(1000);
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("Idempotency-Key", SYSTEM.header("id", id)?)
            .header("Provision-Engine-Timestamp", unix_seconds);
        if let Some(secret) = &self.secret {
            let signed = signature(secret, unix_seconds, body.as_bytes());
            request = request.header("Provision-Engine-Signature", signed);
        }
        let answer = Answer::to(SYSTEM, request.body(body.to_owned())).await?;
        if answer.status.is_success() { Ok(()) } else { Err(error(&answer)) }
    }
}

/// What the answer says stays out of it: it may repeat what was sent.
fn error(answer: &Answer) -> DriverError {
    let status = answer.status;
    if status.is_redirection() {
        return SYSTEM
            .refused(format!("{status}: redirects are not followed; set its url to where this one leads"));
    }
    answer.error(status.to_string())
}
