//! One signed call: the same headers for both versions of the contract.

use std::time::Duration;

use engine::Timestamp;
use engine::secret::SecretString;
use http_client::{Answer, ExternalSystem, NoAnswer, signature};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Url};

/// What an answer is remembered as goes into one line of the journal.
pub const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// A call that is ready to be sent.
pub(crate) struct Post<'a> {
    pub(crate) system: ExternalSystem,
    pub(crate) url: &'a Url,
    pub(crate) secret: &'a SecretString,
    pub(crate) idempotency_key: HeaderValue,
    /// Which trace the service continues.
    pub(crate) traceparent: Option<String>,
    /// Where the client has no limit of its own.
    pub(crate) timeout: Option<Duration>,
    pub(crate) body: Vec<u8>,
}

impl Post<'_> {
    pub(crate) async fn send(
        self,
        client: &Client,
        now: Timestamp,
        bytes_max: usize,
    ) -> Result<Answer, NoAnswer> {
        let unix_seconds = now.millis().div_euclid(1000);
        let mut request = client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("Provision-Engine-Timestamp", unix_seconds)
            .header("Provision-Engine-Signature", signature(self.secret, unix_seconds, &self.body))
            .header("Idempotency-Key", self.idempotency_key);
        if let Some(traceparent) = self.traceparent {
            request = request.header("traceparent", traceparent);
        }
        if let Some(timeout) = self.timeout {
            request = request.timeout(timeout);
        }
        Answer::within(bytes_max, self.system, request.body(self.body)).await
    }
}
