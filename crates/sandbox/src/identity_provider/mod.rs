//! An identity provider for people: an external system at which they sign in with `OpenID` Connect, by the press of a button.
//!
//! It is strict about everything that keeps outsiders out, so that a client which passes here has done its part: the
//! client and where it wants people to go, PKCE, and codes that are good once and for a minute. Besides, below
//! `/identity-provider`:
//!
//! | path | body | what it does |
//! |---|---|---|
//! | `people` | | who can sign in, with their groups |
//! | `faults` | `kind`, `times`, `after` | the next ID tokens are wrong: `nonce`, `audience`, `party`, `issuer`, `expired`, `signature`, `unsigned`; GET looks, DELETE clears |
//! | `rotate` | | signs with a new key from now on |
//!
//! It is slow or down when `POST /faults` says so of the system `identity_provider`.

mod authorize;
mod clients;
mod codes;
mod end_session;
mod faults;
mod page;
mod people;
mod request;
mod token;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde_json::{Value, json};

use self::codes::Codes;
use self::faults::TokenFault;
use crate::SandboxShared;
use crate::clock::Clock;
use crate::faults::{Gate, hit};
use crate::jwt::SigningKey;
use crate::ledger::LedgerSystem;
use crate::script::{self, Plain, Script};

const BASE: &str = "/identity-provider";

#[derive(Debug)]
pub(crate) struct IdentityProvider {
    issuer: String,
    clock: Arc<Clock>,
    key: Mutex<SigningKey>,
    codes: Codes,
    faults: Arc<Script<Plain<TokenFault>>>,
}

type Provider = State<Arc<IdentityProvider>>;

impl IdentityProvider {
    pub(crate) fn new(base_url: &str, clock: Arc<Clock>) -> Self {
        IdentityProvider {
            issuer: format!("{base_url}{BASE}"),
            clock,
            key: Mutex::new(SigningKey::generate()),
            codes: Codes::default(),
            faults: Arc::default(),
        }
    }

    fn key(&self) -> MutexGuard<'_, SigningKey> {
        self.key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn routes(world: &SandboxShared) -> Router {
    let gate = Gate { system: LedgerSystem::IdentityProvider, faults: Arc::clone(&world.faults) };
    let calls = Router::new()
        .route("/.well-known/openid-configuration", get(discover))
        .route("/jwks", get(jwks))
        .route("/authorize", get(authorize::show).post(authorize::choose))
        .route("/token", post(token::issue))
        .route("/end-session", get(end_session::end))
        .route_layer(middleware::from_fn_with_state(gate, hit));
    let controls = Router::new().route("/people", get(people::list)).route("/rotate", post(rotate));
    let provider = &world.identity_provider;
    Router::new()
        .nest(BASE, calls.merge(controls))
        .with_state(Arc::clone(provider))
        .merge(script::routes(&format!("{BASE}/faults"), &provider.faults))
}

async fn discover(State(provider): Provider) -> Json<Value> {
    let issuer = &provider.issuer;
    Json(json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "end_session_endpoint": format!("{issuer}/end-session"),
        "jwks_uri": format!("{issuer}/jwks"),
        "scopes_supported": ["openid", "profile", "email", "groups"],
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code"],
        "code_challenge_methods_supported": ["S256"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
    }))
}

async fn jwks(State(provider): Provider) -> Json<Value> {
    Json(json!({"keys": [provider.key().jwk()]}))
}

/// The old key leaves at once.
async fn rotate(State(provider): Provider) -> StatusCode {
    let new = SigningKey::generate();
    *provider.key() = new;
    StatusCode::NO_CONTENT
}
