//! Entra: tokens for our own application, by its secret, by a federated token or by a certificate.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde::Deserialize;
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

use super::world::AzureCloud;
use crate::faults::{self, Faults, Gate};
use crate::ledger::LedgerSystem;

pub(super) const TENANT: &str = "5a9db0c4-0000-4000-8000-000000000001";
const CLIENT: &str = "5a9db0c4-0000-4000-8000-000000000002";
const SECRET: &str = "sandbox-secret";
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// A token of an issuer that the application trusts, such as Kubernetes projects one.
const FEDERATED_TOKEN: &str = "sandbox-assertion";
/// Clients that know Entra by its own name sign for it.
const AUTHORITY: &str = "https://login.microsoftonline.com";
const SCOPE: &str = "https://management.azure.com/.default";
const LASTS: Duration = Duration::HOUR;
const TOKENS_MAX: usize = 100_000;

/// Tokens that were issued, and when they end.
#[derive(Default)]
pub(super) struct IssuedTokens(BTreeMap<String, OffsetDateTime>);

impl std::fmt::Debug for IssuedTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("IssuedTokens").field(&self.0.len()).finish()
    }
}

impl IssuedTokens {
    pub(super) fn is_good(&self, token: &str, now: OffsetDateTime) -> bool {
        self.0.get(token).is_some_and(|until| now < *until)
    }

    pub(super) fn revoke(&mut self, token: &str) {
        self.0.remove(token);
    }

    fn issue(&mut self, now: OffsetDateTime) -> String {
        if self.0.len() >= TOKENS_MAX {
            self.0.retain(|_, until| now < *until);
        }
        let token = format!("{}{}", Uuid::now_v7().simple(), Uuid::now_v7().simple());
        self.0.insert(token.clone(), now + LASTS);
        token
    }
}

pub(super) fn routes(cloud: &Arc<AzureCloud>, faults: &Arc<Faults>) -> Router {
    let gate = Gate { system: LedgerSystem::Entra, faults: Arc::clone(faults) };
    Router::new()
        .route("/azure/login/{tenant}/oauth2/v2.0/token", post(issue))
        .route("/azure/login/{tenant}/v2.0/.well-known/openid-configuration", get(discover))
        .route_layer(middleware::from_fn_with_state(gate, faults::hit))
        .with_state(Arc::clone(cloud))
}

async fn discover(State(cloud): State<Arc<AzureCloud>>, Path(tenant): Path<String>) -> Json<Value> {
    let base = format!("{}/login/{tenant}", cloud.base_url);
    Json(json!({
        "issuer": format!("{base}/v2.0"),
        "authorization_endpoint": format!("{base}/oauth2/v2.0/authorize"),
        "token_endpoint": format!("{base}/oauth2/v2.0/token"),
        "token_endpoint_auth_methods_supported": ["client_secret_post", "private_key_jwt"],
        "response_types_supported": ["code"],
        "subject_types_supported": ["pairwise"],
    }))
}

#[derive(Deserialize)]
struct EntraForm {
    client_id: Option<String>,
    client_secret: Option<String>,
    client_assertion: Option<String>,
    client_assertion_type: Option<String>,
    grant_type: Option<String>,
    scope: Option<String>,
}

async fn issue(
    State(cloud): State<Arc<AzureCloud>>,
    Path(tenant): Path<String>,
    form: Result<Form<EntraForm>, FormRejection>,
) -> Response {
    let Ok(Form(form)) = form else {
        return EntraError::request(900_144, "the body is no form").into_response();
    };
    if tenant != TENANT {
        return EntraError::request(90_002, "the tenant was not found").into_response();
    }
    if form.client_id.as_deref() != Some(CLIENT) {
        return EntraError::new(
            400,
            "unauthorized_client",
            700_016,
            "the application was not found in the tenant",
        )
        .into_response();
    }
    if form.grant_type.as_deref() != Some("client_credentials") {
        return EntraError::new(400, "unsupported_grant_type", 70_003, "the grant type is not supported")
            .into_response();
    }
    if form.scope.as_deref() != Some(SCOPE) {
        return EntraError::new(400, "invalid_scope", 70_011, "the scope is not valid").into_response();
    }
    if let Err(error) = prove(&cloud, &form, &tenant) {
        return error.into_response();
    }
    let token = cloud.state().tokens.issue(cloud.now());
    let body = json!({
        "token_type": "Bearer",
        "expires_in": LASTS.whole_seconds(),
        "ext_expires_in": LASTS.whole_seconds(),
        "access_token": token,
    });
    ([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

/// Whether the application proved who it is: by its secret, by a federated token or by a certificate.
fn prove(cloud: &AzureCloud, form: &EntraForm, tenant: &str) -> Result<(), EntraError> {
    match (form.client_secret.as_deref(), form.client_assertion_type.as_deref(), &form.client_assertion) {
        (Some(SECRET), _, _) => Ok(()),
        (Some(_), _, _) => Err(EntraError::client(7_000_215, "Invalid client secret provided")),
        (None, Some(ASSERTION_TYPE), Some(assertion)) if assertion == FEDERATED_TOKEN => Ok(()),
        (None, Some(ASSERTION_TYPE), Some(assertion)) => {
            let path = format!("{tenant}/oauth2/v2.0/token");
            let audiences = [format!("{}/login/{path}", cloud.base_url), format!("{AUTHORITY}/{path}")];
            // The clock of the sandbox can be advanced, and that of the client cannot.
            let now = OffsetDateTime::now_utc();
            cloud.state().certificates.check(assertion, CLIENT, &audiences, now)
        }
        _ => {
            let why = "'client_assertion', 'client_secret' or 'request' is required for the \
                       'client_credentials' grant type";
            Err(EntraError::client(7_000_216, why))
        }
    }
}

/// What Entra answers in place of a token.
#[derive(Debug)]
pub(super) struct EntraError {
    status: StatusCode,
    error: &'static str,
    number: u32,
    why: String,
}

impl EntraError {
    fn new(status: u16, error: &'static str, number: u32, why: &str) -> EntraError {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
        EntraError { status, error, number, why: why.to_owned() }
    }

    pub(super) fn request(number: u32, why: &str) -> EntraError {
        EntraError::new(400, "invalid_request", number, why)
    }

    pub(super) fn client(number: u32, why: &str) -> EntraError {
        EntraError::new(401, "invalid_client", number, why)
    }
}

impl IntoResponse for EntraError {
    fn into_response(self) -> Response {
        let now = OffsetDateTime::now_utc();
        let (hour, minute, second) = now.time().as_hms();
        // Entra writes a space where others write a T.
        let now = format!("{} {hour:02}:{minute:02}:{second:02}Z", now.date());
        let (trace, correlation) = (Uuid::now_v7(), Uuid::now_v7());
        let why = format!(
            "AADSTS{}: {}. Trace ID: {trace} Correlation ID: {correlation} Timestamp: {now}",
            self.number, self.why
        );
        let body = json!({
            "error": self.error,
            "error_description": why,
            "error_codes": [self.number],
            "timestamp": now,
            "trace_id": trace,
            "correlation_id": correlation,
            "error_uri": format!("{AUTHORITY}/error?code={}", self.number),
        });
        (self.status, Json(body)).into_response()
    }
}
