//! The way to the broker: sends calls one by one and remembers every answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::BrokerTarget;
use crate::answer::BrokerResponse;
use crate::call::{BrokerCall, Login};

/// No answer of a broker may take longer than this.
pub(crate) const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// A catalog with many schemas is large; more than this is no answer any more.
const ANSWER_BYTES_MAX: usize = 16 << 20;

const PASSWORD_CHARS_TELLING: usize = 6;

pub(crate) struct Wire {
    http: Client,
    url: String,
    ours: HeaderValue,
    user: String,
    password: SecretString,
    seen: Mutex<Vec<Arc<BrokerResponse>>>,
}

impl Wire {
    pub(crate) fn new(broker: &BrokerTarget, http: Client) -> Wire {
        let password = broker.password.clone();
        let login = basic(&broker.user, password.expose_secret());
        let mut ours = HeaderValue::from_str(&login).expect("base64 has only characters that headers allow");
        ours.set_sensitive(true);
        let url = broker.url.trim_end_matches('/').to_owned();
        Wire { http, url, ours, user: broker.user.clone(), password, seen: Mutex::default() }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) async fn send(&self, call: BrokerCall) -> Arc<BrokerResponse> {
        self.send_to(&self.url, call).await
    }

    pub(crate) async fn send_to(&self, url: &str, call: BrokerCall) -> Arc<BrokerResponse> {
        let answer = Arc::new(self.exchange(url, call).await);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&answer));
        answer
    }

    /// Like `send`, for a call that the broker may refuse by closing the connection.
    pub(crate) async fn send_unseen(&self, call: BrokerCall) -> BrokerResponse {
        self.exchange(&self.url, call).await
    }

    /// The right user with a password that is almost right.
    pub(crate) fn wrong_password(&self) -> Login {
        Login::Raw(basic(&self.user, &format!("{}x", self.password.expose_secret())))
    }

    /// Whether an answer gives the password away. A very short one could be part of a word by chance.
    pub(crate) fn is_told(&self, answer: &BrokerResponse) -> bool {
        let password = self.password.expose_secret();
        password.len() >= PASSWORD_CHARS_TELLING && answer.text.contains(password)
    }

    pub(crate) fn seen(&self) -> Vec<Arc<BrokerResponse>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn exchange(&self, url: &str, call: BrokerCall) -> BrokerResponse {
        let method = call.method.clone();
        let request = line(&call);
        match self.read(url, call).await {
            Ok((status, headers, body)) => {
                let json = serde_json::from_slice(&body).unwrap_or(Value::Null);
                let text = String::from_utf8_lossy(&body).into_owned();
                BrokerResponse { method, request, status, headers, text, json }
            }
            Err(text) => BrokerResponse {
                method,
                request,
                status: 0,
                headers: HeaderMap::new(),
                text,
                json: Value::Null,
            },
        }
    }

    async fn read(&self, url: &str, call: BrokerCall) -> Result<(u16, HeaderMap, Vec<u8>), String> {
        let mut request = self.http.request(call.method, format!("{url}{}", call.path)).query(&call.query);
        match call.login {
            Login::Ours => request = request.header(AUTHORIZATION, self.ours.clone()),
            Login::Missing => {}
            Login::Raw(value) => request = request.header(AUTHORIZATION, value),
        }
        if let Some(version) = call.version {
            request = request.header("x-broker-api-version", version);
        }
        if let Some(kind) = call.content_type {
            request = request.header(CONTENT_TYPE, kind);
        }
        for (name, value) in call.headers {
            request = request.header(name, value);
        }
        if let Some(body) = call.body {
            request = request.body(body);
        }
        let mut response = request.send().await.map_err(|error| failure(&error))?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| failure(&error))? {
            body.extend_from_slice(&chunk);
            if body.len() > ANSWER_BYTES_MAX {
                return Err(format!("the answer has more than {ANSWER_BYTES_MAX} bytes"));
            }
        }
        Ok((response.status().as_u16(), std::mem::take(response.headers_mut()), body))
    }
}

pub(crate) fn http() -> Result<Client, String> {
    let builder = Client::builder().no_proxy().redirect(redirect::Policy::none()).timeout(ANSWER_TIME_MAX);
    builder.build().map_err(|error| failure(&error))
}

pub(crate) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

fn line(call: &BrokerCall) -> String {
    let query: Vec<String> = call.query.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{} {}{mark}{}", call.method, call.path, query.join("&"))
}

fn failure(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
