//! External steps over HTTP.

use std::fmt;
use std::time::Duration;

use engine::Timestamp;
use engine::secret::SecretString;
use http_client::{DriverError, System, client_builder, shorten, signature};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, StatusCode, Url};
use serde::Deserialize;

use super::types::{Answer, Call};

/// What an answer is remembered as goes into one line of the journal.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// One service that does a step.
#[derive(Clone)]
pub struct ExternalService {
    system: System,
    client: Client,
    url: Url,
    secret: SecretString,
}

impl fmt::Debug for ExternalService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalService").field("system", &self.system).finish_non_exhaustive()
    }
}

/// What an answer other than 200 may say. Anything else in it stays out of logs: it may repeat what was sent.
#[derive(Deserialize)]
struct Complaint {
    reason: String,
}

impl ExternalService {
    /// `name` stands in front of every error. A whole call ends after `timeout`.
    pub fn new(
        name: &'static str,
        url: &str,
        secret: SecretString,
        timeout: Duration,
    ) -> Result<ExternalService, DriverError> {
        let system = System(name);
        let url = system.safe_url(url)?;
        let client = system.client(client_builder(timeout).timeout(timeout))?;
        Ok(ExternalService { system, client, url, secret })
    }

    /// Asks once. After any error but a refusal the service may have done its work: ask again with the same token.
    pub async fn call(&self, call: &Call<'_>, now: Timestamp) -> Result<Answer, DriverError> {
        let body = serde_json::to_vec(call).map_err(|_| self.system.refused("the call cannot be written"))?;
        let unix_seconds = now.millis().div_euclid(1000);
        let request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("Provision-Engine-Timestamp", unix_seconds)
            .header("Provision-Engine-Signature", signature(&self.secret, unix_seconds, &body))
            .header("Idempotency-Key", self.system.header("token", call.operation.token)?)
            .body(body);
        let answer = http_client::Answer::to(self.system, request).await?;
        if answer.status != StatusCode::OK {
            return Err(Self::error(&answer));
        }
        if answer.body.len() > ANSWER_BYTES_MAX {
            return Err(self.system.broken(format!("the answer is longer than {ANSWER_BYTES_MAX} bytes")));
        }
        Answer::read(&answer.body)
            .map_err(|why| self.system.broken(format!("the answer is not right: {why}")))
    }

    /// Only for an answer other than 200.
    fn error(answer: &http_client::Answer) -> DriverError {
        let status = answer.status;
        answer.error(match serde_json::from_slice::<Complaint>(&answer.body) {
            Ok(complaint) => format!("{status}: {}", shorten(&complaint.reason)),
            Err(_) => status.to_string(),
        })
    }
}
