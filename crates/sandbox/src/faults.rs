//! Scripted faults that hit the next calls to a simulated system, whatever the calls are about.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::answer::CallError;
use crate::cluster;
use crate::connection::Connection;
use crate::graphql::GRAPHQL_BYTES_MAX;
use crate::ledger::LedgerSystem;
use crate::script::{self, Fault, Script};

const LATENCY_MS_MAX: u64 = 60_000;

/// What a client sends to `POST /faults`. Its `about` is a word that the path or the body must have.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallFault {
    system: LedgerSystem,
    kind: FaultKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_s: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<FaultMethod>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FaultKind {
    Latency,
    Hold,
    Error,
    DropAfter,
    DropBefore,
    Garbage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum FaultMethod {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
}

impl FaultMethod {
    fn method(self) -> Method {
        match self {
            FaultMethod::Get => Method::GET,
            FaultMethod::Head => Method::HEAD,
            FaultMethod::Post => Method::POST,
            FaultMethod::Put => Method::PUT,
            FaultMethod::Patch => Method::PATCH,
            FaultMethod::Delete => Method::DELETE,
        }
    }
}

/// What happens to the call that is hit, after it was held back for `latency`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FaultEffect {
    latency: Duration,
    act: Act,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// The work is done and answered, only late.
    Work,
    /// The same, after the release that follows on this many.
    WorkOnRelease { releases: u64 },
    /// The work is not done.
    Error { status: StatusCode, retry_after_s: Option<u32> },
    /// The work is done, and the answer is lost.
    WorkAndDrop,
    /// The work is not done, and there is no answer.
    Drop,
    /// The work is not done: something in front of the external system answered in its place.
    Garbage,
}

impl CallFault {
    fn effect(&self) -> Result<FaultEffect, String> {
        if self.kind != FaultKind::Error && (self.status.is_some() || self.retry_after_s.is_some()) {
            return Err("status and retry_after_s are only for the kind error".into());
        }
        if self.kind == FaultKind::Latency && self.latency_ms.is_none() {
            return Err("the kind latency needs latency_ms".into());
        }
        let latency_ms = self.latency_ms.unwrap_or(0);
        if latency_ms > LATENCY_MS_MAX {
            return Err(format!("latency_ms must be at most {LATENCY_MS_MAX}, got {latency_ms}"));
        }
        let act = match self.kind {
            FaultKind::Latency => Act::Work,
            FaultKind::Hold => Act::WorkOnRelease { releases: 0 },
            FaultKind::DropAfter => Act::WorkAndDrop,
            FaultKind::DropBefore => Act::Drop,
            FaultKind::Garbage => Act::Garbage,
            FaultKind::Error => {
                let status = self.status.unwrap_or(503);
                let status = match status {
                    400..=599 => StatusCode::from_u16(status).map_err(|error| error.to_string())?,
                    _ => return Err(format!("status must be between 400 and 599, got {status}")),
                };
                Act::Error { status, retry_after_s: self.retry_after_s }
            }
        };
        Ok(FaultEffect { latency: Duration::from_millis(latency_ms), act })
    }

    fn matches(&self, call: &CallInfo<'_>) -> bool {
        let CallInfo { system, method, .. } = *call;
        let is_method = self.method.is_none_or(|only| only.method() == *method);
        self.system == system && is_method
    }
}

/// What the faults see of a call.
#[derive(Debug, Clone, Copy)]
struct CallInfo<'a> {
    system: LedgerSystem,
    method: &'a Method,
    path: &'a str,
    body: &'a str,
}

/// The word stands alone, so `provisionRuntime` is not in `deprovisionRuntime`.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |neighbour: Option<char>| neighbour.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next())
    })
}

impl Fault for CallFault {
    fn check(&self) -> Result<(), String> {
        self.effect().map(drop)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Faults {
    script: Arc<Script<CallFault>>,
    /// How often held calls were released.
    releases: watch::Sender<u64>,
}

impl Faults {
    /// What happens to this call, if a fault hits it.
    fn next_for(&self, call: &CallInfo<'_>) -> Option<FaultEffect> {
        let is_about = |word: &str| has_word(call.path, word) || has_word(call.body, word);
        let fault = self.script.take(|fault| fault.matches(call), is_about)?;
        let mut effect = fault.effect().ok()?;
        if let Act::WorkOnRelease { releases } = &mut effect.act {
            *releases = *self.releases.borrow();
        }
        Some(effect)
    }

    /// Every call that is held goes on.
    fn release(&self) {
        self.releases.send_modify(|releases| *releases += 1);
    }

    /// No longer than the longest latency, so that a script that ends early holds nothing for ever.
    async fn hold(&self, releases: u64) {
        let mut watched = self.releases.subscribe();
        let released = watched.wait_for(|now| *now > releases);
        drop(tokio::time::timeout(Duration::from_millis(LATENCY_MS_MAX), released).await);
    }

    fn has_any_for(&self, system: LedgerSystem) -> bool {
        self.script.has_any(|fault| fault.system == system)
    }
}

pub(crate) fn routes(faults: &Arc<Faults>) -> Router {
    Router::new()
        .route("/faults/release", post(release))
        .with_state(Arc::clone(faults))
        .merge(script::routes("/faults", &faults.script))
}

async fn release(State(faults): State<Arc<Faults>>) -> StatusCode {
    faults.release();
    StatusCode::NO_CONTENT
}

/// The gate in front of one external system.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    pub(crate) system: LedgerSystem,
    pub(crate) faults: Arc<Faults>,
}

/// The middleware that every external system puts around its routes.
pub(crate) async fn hit(
    State(gate): State<Gate>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    request: Request,
    next: Next,
) -> Response {
    if !gate.faults.has_any_for(gate.system) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, GRAPHQL_BYTES_MAX).await else {
        return CallError::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long").into_response();
    };
    let effect = gate.faults.next_for(&CallInfo {
        system: gate.system,
        method: &parts.method,
        path: parts.uri.path(),
        body: str::from_utf8(&body).unwrap_or_default(),
    });
    let request = Request::from_parts(parts, Body::from(body));
    let Some(effect) = effect else { return next.run(request).await };
    // On a task of its own, because an external system does not stop working when its caller stops waiting.
    let landed = tokio::spawn(land(gate, effect, connection, request, next)).await;
    landed.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

async fn land(
    gate: Gate,
    effect: FaultEffect,
    connection: Connection,
    request: Request,
    next: Next,
) -> Response {
    if !effect.latency.is_zero() {
        tokio::time::sleep(effect.latency).await;
    }
    match effect.act {
        Act::Work => next.run(request).await,
        Act::WorkOnRelease { releases } => {
            gate.faults.hold(releases).await;
            next.run(request).await
        }
        Act::Error { status, retry_after_s } => {
            let mut response = match gate.system {
                LedgerSystem::Cluster | LedgerSystem::InfrastructureManager => cluster::on_fault(status),
                _ => CallError::new(status, "a scripted fault").into_response(),
            };
            if let Some(seconds) = retry_after_s {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            }
            response
        }
        Act::WorkAndDrop => {
            let response = next.run(request).await;
            connection.cut();
            response
        }
        Act::Drop => {
            connection.cut();
            StatusCode::NO_CONTENT.into_response()
        }
        Act::Garbage => "<html>this is not the answer you are looking for".into_response(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arm(faults: &Faults, json: serde_json::Value) -> Result<u64, String> {
        faults.script.add(serde_json::from_value(json).unwrap())
    }

    /// One letter per call: the first letter of what happened to it, or a dot.
    fn calls(faults: &Faults, methods: &[Method]) -> String {
        let call = |method| CallInfo {
            system: LedgerSystem::Greeter,
            method,
            path: "/greetings",
            body: "{\"a\": 1}",
        };
        let letter = |method| match faults.next_for(&call(method)).map(|effect| effect.act) {
            None => '.',
            Some(Act::Work) => 'l',
            Some(Act::WorkOnRelease { .. }) => 'h',
            Some(Act::Error { .. }) => 'e',
            Some(Act::WorkAndDrop) => 'a',
            Some(Act::Drop) => 'b',
            Some(Act::Garbage) => 'g',
        };
        methods.iter().map(letter).collect()
    }

    #[test]
    fn a_method_narrows_a_fault() {
        let faults = Faults::default();
        arm(&faults, json!({"system": "greeter", "kind": "garbage", "times": 0, "method": "GET"})).unwrap();
        assert_eq!(calls(&faults, &[Method::GET, Method::POST, Method::GET, Method::DELETE]), "g.g.");
    }

    #[test]
    fn a_fault_about_something_spares_the_rest() {
        let faults = Faults::default();
        for word in ["greeting", "b"] {
            arm(&faults, json!({"system": "greeter", "kind": "error", "about": word})).unwrap();
        }
        arm(&faults, json!({"system": "greeter", "kind": "garbage", "about": "a"})).unwrap();
        arm(&faults, json!({"system": "greeter", "kind": "drop_after", "about": "greetings"})).unwrap();
        assert_eq!(calls(&faults, &[const { Method::POST }; 3]), "ga.");
        assert!(!has_word("deprovisionRuntime(", "provisionRuntime"));
        assert!(has_word("deprovisionRuntime provisionRuntime(", "provisionRuntime"));
    }

    #[test]
    fn nonsense_is_refused_with_what_would_be_right() {
        let refused = |json| arm(&Faults::default(), json).unwrap_err();
        assert!(
            refused(json!({"system": "greeter", "kind": "flood"})).ends_with(
                "expected one of `latency`, `hold`, `error`, `drop_after`, `drop_before`, `garbage`"
            )
        );
        assert!(refused(json!({"system": "mars", "kind": "error"})).contains("greeter"));
        assert!(refused(json!({"system": "greeter", "kind": "error", "colour": 1})).contains("latency_ms"));
        assert!(refused(json!({"system": "greeter", "kind": "latency"})).contains("needs latency_ms"));
        assert!(refused(json!({"system": "greeter", "kind": "garbage", "status": 500})).contains("only for"));
        assert!(
            refused(json!({"system": "greeter", "kind": "error", "status": 200})).contains("between 400")
        );
        let slow = json!({"system": "greeter", "kind": "latency", "latency_ms": 60_001});
        assert!(refused(slow).contains("at most 60000"));
    }
}
