//! Who may use the broker, and in which order a request is judged: who it is, which version they speak, and a body that
//! can be read. Only then it matters what was asked.

use api::{Error, Osb};
use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use tracing::{Instrument, info_span};

use super::headers::{REQUEST_IDENTITY, originating, request_identity};
use super::{BrokerShared, auth, body, error, version};
use engine::Capability;
use server::audit::AuditEntry;
use server::http::{Admission, Api, Denial, Failure, FailureKind, request_id};
use server::principal::Principal;
use server::{AppState, RequestId};

/// Around everything else: the identity that a platform gave its request is in the log and in the answer.
pub(crate) async fn identified(request: Request, next: Next) -> Response {
    let given = request.extensions().get::<RequestId>().cloned();
    let made = || given.as_ref().map_or(HeaderValue::from_static("unknown"), RequestId::header);
    let identity = request_identity(request.headers()).unwrap_or_else(made);
    let shown = String::from_utf8_lossy(identity.as_bytes());
    let span = info_span!("broker", request.identity = %shown.chars().take(200).collect::<String>());
    let mut response = next.run(request).instrument(span).await;
    response.headers_mut().insert(REQUEST_IDENTITY, identity);
    response
}

impl Api for BrokerShared {
    type Format = Osb;

    fn app(&self) -> &AppState {
        &self.app
    }

    fn format(&self) -> Osb {
        Osb
    }

    fn body_limit_bytes(&self) -> usize {
        self.app.settings.body_limit_bytes
    }

    fn fault(&self, fault: FailureKind) -> Error {
        error::fault(fault)
    }

    async fn admit(&self, parts: &mut Parts) -> Result<Admission, Denial> {
        let caller = match parts.extensions.get::<Principal>() {
            Some(principal) => principal.clone(),
            None => auth::authenticate(&self.app, &parts.headers).await?,
        };
        let origin = originating(&parts.headers);
        let who = origin.behind(&caller.name);
        let entry = action(parts).map(|action| AuditEntry {
            who,
            action,
            path: parts.uri.path().to_owned(),
            request: request_id(parts),
        });
        if !caller.can(Capability::UseBroker) {
            return Err(Denial::new(error::forbidden(), entry));
        }
        if let Err(failure) = version::check(&parts.headers, self.settings()) {
            return Err(Denial::new(failure, entry));
        }
        parts.extensions.insert(caller);
        parts.extensions.insert(origin);
        Ok(Admission { limit: self.app.settings.request_timeout, is_change: entry.is_some(), entry })
    }

    /// Reads the body of a request that must have one, before it is looked at where it was sent.
    async fn prepare(&self, request: Request) -> Result<Request, Failure> {
        if ![Method::PUT, Method::PATCH].contains(request.method()) {
            return Ok(request);
        }
        let (mut parts, sent) = request.into_parts();
        let sent = Request::from_parts(parts.clone(), sent);
        let sent = body::read(sent, self.body_limit_bytes()).await?;
        parts.extensions.insert(sent);
        Ok(Request::from_parts(parts, Body::empty()))
    }
}

/// The name in the audit log of what a request changes.
fn action(parts: &Parts) -> Option<&'static str> {
    let path = parts.extensions.get::<MatchedPath>()?.as_str();
    let is_of = |end: &str| path.ends_with(end);
    match (parts.method.as_str(), is_of("/{instance_id}"), is_of("/{binding_id}")) {
        ("PUT", true, _) => Some("broker.provision"),
        ("PATCH", true, _) => Some("broker.update"),
        ("DELETE", true, _) => Some("broker.deprovision"),
        ("PUT", _, true) => Some("broker.bind"),
        ("DELETE", _, true) => Some("broker.unbind"),
        _ => None,
    }
}
