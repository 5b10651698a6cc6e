//! A device in front of the API for serverless runtimes. It comes over loopback, as a user of the sandbox's
//! OpenNebula.

use ::serverless::api::wire::{RuntimeOperation, RuntimeProgress};
use anyhow::{Context, Result, ensure};
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::platform;
use ::serverless::client::RuntimeBody;

/// Whom the sandbox knows.
pub const USER: &str = "cognit";
pub const PASSWORD: &str = "cognitpass";

const RUNTIMES: &str = "/serverless-runtimes";

#[derive(Debug, Clone)]
pub struct DemoClient {
    http: Client,
    url: String,
}

impl DemoClient {
    /// `url` is that of the APIs, without a path.
    pub fn new(url: &str) -> Result<DemoClient> {
        Ok(DemoClient { http: platform::client()?, url: url.to_owned() })
    }

    pub fn create(&self, body: &Value) -> RequestBuilder {
        self.request(Method::POST, RUNTIMES).json(body)
    }

    pub fn update(&self, id: i32, body: &Value) -> RequestBuilder {
        self.request(Method::PUT, &format!("{RUNTIMES}/{id}")).json(body)
    }

    pub fn delete(&self, id: i32) -> RequestBuilder {
        self.request(Method::DELETE, &format!("{RUNTIMES}/{id}"))
    }

    pub fn show(&self, id: i32) -> RequestBuilder {
        self.request(Method::GET, &format!("{RUNTIMES}/{id}"))
    }

    pub async fn operation(&self, id: Uuid) -> Result<RuntimeOperation> {
        let request = self.request(Method::GET, &format!("{RUNTIMES}/operations/{id}"));
        let progress: RuntimeProgress = answer(request, StatusCode::OK).await?;
        Ok(progress.operation)
    }

    /// The runtime in an answer with this status.
    pub async fn runtime(request: RequestBuilder, expected: StatusCode) -> Result<RuntimeBody> {
        #[derive(Deserialize)]
        struct AnswerEnvelope {
            #[serde(rename = "SERVERLESS_RUNTIME")]
            runtime: RuntimeBody,
        }
        let envelope: AnswerEnvelope = answer(request, expected).await?;
        Ok(envelope.runtime)
    }

    /// The operation that a change has begun, for which no request waits.
    pub async fn begun(request: RequestBuilder) -> Result<RuntimeOperation> {
        let request = request.header("Prefer", "respond-async");
        let progress: RuntimeProgress = answer(request, StatusCode::ACCEPTED).await?;
        Ok(progress.operation)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).basic_auth(USER, Some(PASSWORD))
    }
}

async fn answer<T: for<'a> Deserialize<'a>>(request: RequestBuilder, expected: StatusCode) -> Result<T> {
    let answer = request.send().await.context("there is no answer")?;
    let (status, text) = (answer.status(), answer.text().await?);
    ensure!(status == expected, "the API answers {status}: {text}");
    serde_json::from_str(&text).context("the API's answer is not readable")
}
