//! The identity provider: an external system that issues signed tokens to clients that know the password.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::SandboxShared;
use crate::faults::{self, Gate};
use crate::jwt::SigningKey;
use crate::ledger::LedgerSystem;

/// Of every client. It is no secret: only users of this machine can ask.
const CLIENT_SECRET: &str = "sandbox-secret";
const EXPIRES_IN_S: u32 = 3600;

#[derive(Debug)]
pub(crate) struct SandboxIdentity {
    issuer: String,
    key: Mutex<SigningKey>,
}

impl SandboxIdentity {
    pub(crate) fn new(base_url: &str) -> Self {
        SandboxIdentity { issuer: format!("{base_url}/identity"), key: Mutex::new(SigningKey::generate()) }
    }

    pub(crate) fn is_valid(&self, token: &str, now: OffsetDateTime) -> bool {
        self.key().claims(token, now).is_some()
    }

    fn key(&self) -> MutexGuard<'_, SigningKey> {
        self.key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

pub(crate) fn routes(world: &SandboxShared) -> Router {
    let gate = Gate { system: LedgerSystem::Identity, faults: Arc::clone(&world.faults) };
    let calls = Router::new()
        .route("/identity/.well-known/openid-configuration", get(discover))
        .route("/identity/jwks", get(jwks))
        .route("/identity/token", post(issue))
        .route_layer(middleware::from_fn_with_state(gate, faults::hit));
    calls.route("/identity/rotate", post(rotate)).with_state(world.clone())
}

async fn discover(State(world): State<SandboxShared>) -> Json<Value> {
    let issuer = &world.identity.issuer;
    Json(json!({
        "issuer": issuer,
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/jwks"),
        "grant_types_supported": ["client_credentials"],
        "response_types_supported": ["token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
    }))
}

async fn jwks(State(world): State<SandboxShared>) -> Json<Value> {
    Json(json!({"keys": [world.identity.key().jwk()]}))
}

/// The old key leaves at once, and with it every token that it signed.
async fn rotate(State(world): State<SandboxShared>) -> StatusCode {
    let new = SigningKey::generate();
    *world.identity.key() = new;
    StatusCode::NO_CONTENT
}

#[derive(Debug, Deserialize)]
struct TokenForm {
    grant_type: Option<String>,
    client_id: Option<String>,
    client_secret: Option<String>,
    scope: Option<String>,
    audience: Option<String>,
    /// Names with spaces between them; a way for tests to be a client.
    groups: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenQuery {
    expires_in: Option<u32>,
}

async fn issue(
    State(world): State<SandboxShared>,
    query: Result<Query<TokenQuery>, QueryRejection>,
    headers: HeaderMap,
    form: Result<Form<TokenForm>, FormRejection>,
) -> Response {
    let (Ok(Query(query)), Ok(Form(form))) = (query, form) else {
        return refuse(StatusCode::BAD_REQUEST, "invalid_request");
    };
    let Some(client) = client(&headers, &form) else {
        return refuse(StatusCode::UNAUTHORIZED, "invalid_client");
    };
    match form.grant_type.as_deref() {
        Some("client_credentials") => {}
        Some(_) => return refuse(StatusCode::BAD_REQUEST, "unsupported_grant_type"),
        None => return refuse(StatusCode::BAD_REQUEST, "invalid_request"),
    }
    let issued_at = world.clock.now().unix_timestamp();
    let expires_in = query.expires_in.unwrap_or(EXPIRES_IN_S);
    let groups: BTreeSet<&str> = form.groups.as_deref().unwrap_or_default().split_whitespace().collect();
    let claims = json!({
        "iss": world.identity.issuer,
        "aud": form.audience.as_ref().unwrap_or(&client),
        "sub": client,
        "scope": form.scope.clone().unwrap_or_default(),
        "groups": groups,
        "iat": issued_at,
        "exp": issued_at + i64::from(expires_in),
    });
    let token = world.identity.key().sign(&claims);
    let body = json!({
        "access_token": token,
        "token_type": "Bearer",
        "expires_in": expires_in,
        "scope": claims["scope"],
    });
    ([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

/// The id of the client, if it knows the password.
fn client(headers: &HeaderMap, form: &TokenForm) -> Option<String> {
    let (id, secret) = match headers.get(header::AUTHORIZATION) {
        Some(value) => {
            let (scheme, encoded) = value.to_str().ok()?.split_once(' ')?;
            let decoded =
                STANDARD.decode(encoded.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
            let decoded = String::from_utf8(decoded).ok()?;
            let (id, secret) = decoded.split_once(':')?;
            (id.to_owned(), secret.to_owned())
        }
        None => (form.client_id.clone()?, form.client_secret.clone()?),
    };
    (!id.is_empty() && secret == CLIENT_SECRET).then_some(id)
}

fn refuse(status: StatusCode, error: &str) -> Response {
    (status, Json(json!({"error": error}))).into_response()
}
