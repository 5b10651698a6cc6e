//! One call to OneFlow, on a connection of its own.
//!
//! The web server of OneFlow 6 loses answers, or answers 400, when a request follows at once on a connection that was
//! kept. What OneFlow stores is read from `oned`, which also answers much sooner.

use engine::secret::ExposeSecret;
use http_client::{DriverError, ExternalSystem, shorten};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Method, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::{debug, info};

use super::super::connections::{Clients, Connections, RawReply, Repeat};
use super::super::{NebulaCredentials, NebulaError, NebulaErrorKind};
use super::ONEFLOW;

/// Said by the web server itself, which has not understood the request.
const NOT_UNDERSTOOD: &str = "Bad Request";
/// For a request that is not authenticated yet.
const NOT_LET_IN: [&str; 2] = ["Invalid credentials", "A username and password must be provided"];
const WRONG_STATE: &str = "cannot be undeployed in state";
/// OneFlow itself calls `oned`, and says this when it does not reach it.
const ONED_NOT_REACHED: [&str; 6] = [
    "Error connecting to server",
    "Failed to open TCP connection",
    "Connection refused",
    "Connection reset",
    "end of file reached",
    "execution expired",
];

pub(in super::super) struct OneFlow {
    base: Url,
    connections: Connections,
}

/// What newer releases say when they did not expect something.
#[derive(Deserialize)]
struct FlowErrorBody {
    message: String,
}

impl OneFlow {
    pub(in super::super) fn new(url: &str, clients: Clients) -> Result<OneFlow, DriverError> {
        let system = ExternalSystem(ONEFLOW);
        Ok(OneFlow { base: system.url(url)?, connections: Connections::never_kept(system, clients) })
    }

    pub(super) async fn delete(
        &self,
        who: &NebulaCredentials,
        path: &[&str],
    ) -> Result<RawReply, NebulaError> {
        self.call(who, Method::DELETE, path, None).await
    }

    /// Performs an action. `params` may hold secrets.
    pub(super) async fn act(
        &self,
        who: &NebulaCredentials,
        path: &[&str],
        action: &str,
        params: &Value,
    ) -> Result<RawReply, NebulaError> {
        let body = serde_json::json!({ "action": { "perform": action, "params": params } });
        self.call(who, Method::POST, path, Some(body.to_string())).await
    }

    async fn call(
        &self,
        who: &NebulaCredentials,
        method: Method,
        path: &[&str],
        body: Option<String>,
    ) -> Result<RawReply, NebulaError> {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        let path = path.join("/");
        info!(target: "opennebula", "oneflow: {method} {path}, for {}", who.user);
        let sent = body.as_ref().map_or(0, String::len);
        debug!(target: "opennebula", "oneflow: {method} {path} with {sent} bytes");
        let ask = |client: &Client| {
            let request = client
                .request(method.clone(), url.clone())
                .basic_auth(&who.user, Some(who.secret().expose_secret()));
            match &body {
                Some(body) => request.header(CONTENT_TYPE, "application/json").body(body.clone()),
                None => request,
            }
        };
        let answered = self.connections.ask(Repeat::Never, ask).await.and_then(accepted);
        match &answered {
            Ok(reply) => debug!(
                target: "opennebula", "oneflow: {method} {path} answered {} with {} bytes",
                reply.status, reply.body.len(),
            ),
            Err(error) => info!(target: "opennebula", "oneflow: {method} {path} failed: {error}"),
        }
        answered
    }
}

/// The body of a good answer as JSON. Its content type says HTML, whatever it is.
pub(super) fn json<T: DeserializeOwned>(reply: &RawReply) -> Result<T, NebulaError> {
    serde_json::from_slice(&reply.body).map_err(|error| {
        // The parser's own words may quote the body, and the body holds secrets.
        let (line, column) = (error.line(), error.column());
        let cause = format!("its answer is not as expected, from line {line} column {column} on");
        NebulaError::broken(ONEFLOW, cause)
    })
}

fn accepted(reply: RawReply) -> Result<RawReply, NebulaError> {
    if reply.status.is_success() { Ok(reply) } else { Err(error_response(reply.status, &reply.body)) }
}

/// OneFlow swaps two codes: who may not do something is told 401, and whose password is wrong, 403.
fn error_response(status: StatusCode, body: &[u8]) -> NebulaError {
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    if text.starts_with('<') {
        return NebulaError::broken(ONEFLOW, format!("it answered {status} with a page for people"));
    }
    let message =
        serde_json::from_str(text).map_or_else(|_| text.to_owned(), |said: FlowErrorBody| said.message);
    let kind = match status {
        StatusCode::UNAUTHORIZED if NOT_LET_IN.contains(&message.as_str()) => NebulaErrorKind::Authentication,
        StatusCode::UNAUTHORIZED => NebulaErrorKind::Authorization,
        StatusCode::FORBIDDEN => NebulaErrorKind::Authentication,
        StatusCode::NOT_FOUND => NebulaErrorKind::NotFound,
        StatusCode::BAD_REQUEST if message == NOT_UNDERSTOOD => {
            return NebulaError::broken(ONEFLOW, "its web server did not understand the request");
        }
        StatusCode::BAD_REQUEST => NebulaErrorKind::Api,
        StatusCode::INTERNAL_SERVER_ERROR if message.contains(WRONG_STATE) => NebulaErrorKind::Action,
        StatusCode::INTERNAL_SERVER_ERROR if ONED_NOT_REACHED.iter().any(|words| message.contains(words)) => {
            return NebulaError::broken(ONEFLOW, format!("it does not reach oned: {}", shorten(&message)));
        }
        StatusCode::INTERNAL_SERVER_ERROR => NebulaErrorKind::Internal,
        status if status.is_client_error() => NebulaErrorKind::Other(i64::from(status.as_u16())),
        status => return NebulaError::broken(ONEFLOW, format!("it answered {status}")),
    };
    let message = if message.is_empty() { status.to_string() } else { message };
    NebulaError::refused(ONEFLOW, kind, &message)
}
