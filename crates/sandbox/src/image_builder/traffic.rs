//! What happens to calls on their way: they are counted, held back, answered with errors, or their answers are lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ImageBuilder;
use super::faults::BuildFaultKind;
use crate::connection::Connection;
use crate::identity_header::IdentityError;

const LATENCY_MS_MAX: u64 = 60_000;
/// More are not remembered.
const IDENTITIES_MAX: usize = 1_000;

/// Every n-th call is not carried out; 0 means none.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Errors {
    every: u64,
    #[serde(default = "internal")]
    status: u16,
}

fn internal() -> u16 {
    500
}

#[derive(Debug, Default)]
struct Rules {
    latency_ms: u64,
    errors: Option<Errors>,
    calls: u64,
    by_route: BTreeMap<String, u64>,
    /// The identity headers of all calls, as they came.
    identities: BTreeSet<String>,
}

#[derive(Debug, Default)]
pub(super) struct Traffic {
    rules: Mutex<Rules>,
}

impl Traffic {
    pub(super) fn set_latency(&self, latency_ms: u64) -> Result<(), String> {
        if latency_ms > LATENCY_MS_MAX {
            return Err(format!("latency_ms must be at most {LATENCY_MS_MAX}"));
        }
        self.rules().latency_ms = latency_ms;
        Ok(())
    }

    /// Begins to count anew.
    pub(super) fn set_errors(&self, errors: Errors) -> Result<(), String> {
        if !(400..=599).contains(&errors.status) {
            return Err("status must be between 400 and 599".into());
        }
        let mut rules = self.rules();
        (rules.errors, rules.calls) = (Some(errors).filter(|errors| errors.every > 0), 0);
        Ok(())
    }

    /// The counts stay.
    pub(super) fn reset(&self) {
        let mut rules = self.rules();
        let Rules { by_route, identities, .. } = std::mem::take(&mut *rules);
        *rules = Rules { by_route, identities, ..Rules::default() };
    }

    pub(super) fn show(&self) -> Value {
        let rules = self.rules();
        json!({"latency_ms": rules.latency_ms, "errors": rules.errors})
    }

    pub(super) fn counts(&self) -> Value {
        let rules = self.rules();
        json!({"calls": rules.by_route, "identities": rules.identities})
    }

    pub(super) fn forget_counts(&self) {
        let mut rules = self.rules();
        rules.by_route.clear();
        rules.identities.clear();
    }

    /// Counts a call, and says how long it waits and whether it fails.
    fn arrive(&self, route: String, identity: Option<&str>) -> (Duration, Option<StatusCode>) {
        let mut rules = self.rules();
        if rules.identities.len() < IDENTITIES_MAX {
            rules.identities.extend(identity.map(str::to_owned));
        }
        *rules.by_route.entry(route).or_default() += 1;
        rules.calls += 1;
        let errors = rules.errors.filter(|errors| rules.calls.is_multiple_of(errors.every));
        let status = errors.and_then(|errors| StatusCode::from_u16(errors.status).ok());
        (Duration::from_millis(rules.latency_ms), status)
    }

    fn rules(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The middleware around all calls of the API.
pub(super) async fn pass(
    State(builder): State<Arc<ImageBuilder>>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    path: MatchedPath,
    request: Request,
    next: Next,
) -> Response {
    let method = request.method().clone();
    let route = path.as_str().trim_start_matches(super::BASE).trim_start_matches(".0");
    let identity = request.headers().get("x-rh-identity").and_then(|value| value.to_str().ok());
    let (latency, status) = builder.traffic.arrive(format!("{method} {route}"), identity);
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    if let Some(status) = status {
        return IdentityError::new(status, "an error that was asked for").into_response();
    }
    let response = next.run(request).await;
    if method == Method::POST && builder.settled().faults.hits(BuildFaultKind::Lose, &[]) {
        connection.cut();
    }
    response
}
