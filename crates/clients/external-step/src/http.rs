//! External steps over HTTP.

use std::fmt;
use std::time::Duration;

use engine::Timestamp;
use engine::secret::SecretString;
use http_client::{DriverError, ExternalSystem, NoAnswer, client_builder, shorten};
use reqwest::{Client, StatusCode, Url};
use serde::Deserialize;

use crate::post::{ANSWER_BYTES_MAX, Post};
use crate::types::{StepRequest, StepResponse};

/// One service that does a step.
#[derive(Clone)]
pub struct ExternalService {
    system: ExternalSystem,
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
struct StepErrorBody {
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
        let system = ExternalSystem(name);
        let url = system.safe_url(url)?;
        let client = system.client(client_builder(timeout).timeout(timeout))?;
        Ok(ExternalService { system, client, url, secret })
    }

    /// Asks once. After any error but a refusal the service may have done its work: ask again with the same token.
    pub async fn call(&self, call: &StepRequest<'_>, now: Timestamp) -> Result<StepResponse, DriverError> {
        let body = serde_json::to_vec(call).map_err(|_| self.system.refused("the call cannot be written"))?;
        let post = Post {
            system: self.system,
            url: &self.url,
            secret: &self.secret,
            idempotency_key: self.system.header("token", call.operation.token)?,
            traceparent: None,
            timeout: None,
            body,
        };
        let answer = post.send(&self.client, now, ANSWER_BYTES_MAX).await.map_err(|error| match error {
            NoAnswer::Lost(error) => self.system.unreachable(error),
            NoAnswer::TooLong { bytes_max } => {
                self.system.broken(format!("the answer is longer than {bytes_max} bytes"))
            }
        })?;
        if answer.status != StatusCode::OK {
            return Err(Self::error(&answer));
        }
        StepResponse::read(&answer.body)
            .map_err(|why| self.system.broken(format!("the answer is not right: {why}")))
    }

    /// Only for an answer other than 200.
    fn error(answer: &http_client::Answer) -> DriverError {
        let status = answer.status;
        answer.error(match error_body(&answer.body) {
            Some(reason) => format!("{status}: {}", shorten(&reason)),
            None => status.to_string(),
        })
    }
}

/// What an answer other than 200 gives as its reason.
pub(crate) fn error_body(body: &[u8]) -> Option<String> {
    serde_json::from_slice::<StepErrorBody>(body).ok().map(|error_body| error_body.reason)
}
