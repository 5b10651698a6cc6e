//! The greeter: the smallest external system there is, an HTTP service that makes greetings and forgets them again.
//!
//! It keeps the promises that the engine needs from every external system: a create call carries a token and has its
//! effect once, what was made can be found by the token, and can be taken back by it.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::SandboxShared;
use crate::answer::{CallError, JsonBody};
use crate::faults::{self, Gate};
use crate::hex::hex;
use crate::ledger::{Effect, EffectResult, Ledger, LedgerSystem};

const GREET: Effect = Effect { system: LedgerSystem::Greeter, kind: "greet" };
const NAME_CHARS_MAX: usize = 200;
const TOKEN_CHARS_MAX: usize = 255;

pub(crate) fn routes(world: &SandboxShared) -> Router {
    let gate = Gate { system: LedgerSystem::Greeter, faults: Arc::clone(&world.faults) };
    Router::new()
        .route("/greeter/greetings", post(greet))
        .route("/greeter/greetings/{token}", get(find).delete(forget))
        .route_layer(middleware::from_fn_with_state(gate, faults::hit))
        .with_state(Arc::clone(&world.ledger))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GreetBody {
    name: String,
    /// The external system refuses, as if it had a reason that no second try can change.
    #[serde(default)]
    fail: bool,
}

#[derive(Debug, Serialize)]
struct GreetingBody {
    text: String,
    token: String,
}

impl GreetingBody {
    fn of(token: &str, name: &str) -> Self {
        GreetingBody { text: format!("Hello, {name}!"), token: secret_of(token) }
    }
}

async fn greet(
    State(ledger): State<Arc<Ledger>>,
    headers: HeaderMap,
    JsonBody(body): JsonBody<GreetBody>,
) -> Result<Response, CallError> {
    let token = idempotency_key(&headers)?;
    if !(1..=NAME_CHARS_MAX).contains(&body.name.chars().count()) {
        return Err(CallError::bad_request(format!("name must have 1 to {NAME_CHARS_MAX} characters")));
    }
    if body.fail {
        return Err(CallError::new(StatusCode::UNPROCESSABLE_ENTITY, "this greeting was asked to fail"));
    }
    let status = match ledger.make(GREET, token, &body.name) {
        EffectResult::Now => StatusCode::CREATED,
        EffectResult::Before => StatusCode::OK,
        EffectResult::Differently => {
            let why = "this Idempotency-Key was used with another body";
            return Err(CallError::new(StatusCode::UNPROCESSABLE_ENTITY, why));
        }
    };
    Ok((status, Json(GreetingBody::of(token, &body.name))).into_response())
}

type TokenPath = Result<Path<String>, PathRejection>;

async fn find(State(ledger): State<Arc<Ledger>>, token: TokenPath) -> Result<Response, CallError> {
    let Path(token) = token?;
    match ledger.find(GREET, &token) {
        Some(name) => Ok(Json(GreetingBody::of(&token, &name)).into_response()),
        None => Err(unknown()),
    }
}

async fn forget(State(ledger): State<Arc<Ledger>>, token: TokenPath) -> Result<StatusCode, CallError> {
    let Path(token) = token?;
    if ledger.take_back(GREET, &token) { Ok(StatusCode::NO_CONTENT) } else { Err(unknown()) }
}

fn unknown() -> CallError {
    CallError::new(StatusCode::NOT_FOUND, "there is no greeting with this token")
}

fn idempotency_key(headers: &HeaderMap) -> Result<&str, CallError> {
    let mut values = headers.get_all("idempotency-key").iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(CallError::bad_request("exactly one Idempotency-Key header is required"));
    };
    match value.to_str() {
        Ok(token) if (1..=TOKEN_CHARS_MAX).contains(&token.len()) => Ok(token),
        _ => Err(CallError::bad_request(format!(
            "Idempotency-Key must have 1 to {TOKEN_CHARS_MAX} visible ASCII characters"
        ))),
    }
}

/// Looks random, but is the same for the same token, so that a repeated call gets the same answer.
fn secret_of(token: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"greeter secret of ");
    hasher.update(token.as_bytes());
    hex(&hasher.finalize())
}
