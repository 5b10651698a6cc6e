//! The listeners: Compute Engine, the token service, tokens of other service accounts, and the service that knows
//! projects.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};
use axum::{Json, Router, middleware};
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::call_error::GceError;
use super::calls::GceCallRecord;
use super::query::GceQuery;
use super::resources;
use super::world::{GoogleCloud, GoogleState};
use crate::connection::Connection;
use crate::faults::{self, Faults, Gate};
use crate::ledger::LedgerSystem;

pub(super) type SharedGoogle = State<Arc<GoogleCloud>>;

pub(super) fn routes(cloud: &Arc<GoogleCloud>, faults: &Arc<Faults>) -> Router {
    let gate = |system| {
        let gate = Gate { system, faults: Arc::clone(faults) };
        middleware::from_fn_with_state(gate, faults::hit)
    };
    let tokens = Router::new()
        .route("/gcp/token", post(token))
        .route("/gcp/iamcredentials/v1/projects/-/serviceAccounts/{call}", post(impersonate))
        .route_layer(gate(LedgerSystem::GoogleOauth));
    let compute = Router::new()
        .route("/gcp/compute/v1/{*path}", any(compute))
        .route("/gcp/cloudresourcemanager/v3/projects/{call}", any(projects))
        .route_layer(gate(LedgerSystem::Gce));
    tokens.merge(compute).with_state(Arc::clone(cloud))
}

/// A call by a service account that is known, in a project that lets it in.
#[derive(Debug)]
pub(super) struct GceCall<'a> {
    pub(super) method: &'a Method,
    /// Behind the project.
    pub(super) path: Vec<&'a str>,
    pub(super) query: GceQuery,
    pub(super) body: Value,
    pub(super) project: &'a str,
    pub(super) email: &'a str,
    pub(super) now: OffsetDateTime,
}

async fn token(State(cloud): SharedGoogle, headers: HeaderMap, body: Bytes) -> Response {
    let now = cloud.now();
    let host = headers.get("host").and_then(|host| host.to_str().ok()).unwrap_or_default();
    let url = format!("http://{host}/gcp/token");
    match cloud.google_state().tokens.exchange(&body, &url, now) {
        Ok(answer) => Json(answer).into_response(),
        Err(wrong) => {
            let body = json!({"error": wrong.error, "error_description": wrong.description});
            (StatusCode::BAD_REQUEST, Json(body)).into_response()
        }
    }
}

async fn impersonate(State(cloud): SharedGoogle, Path(call): Path<String>, headers: HeaderMap) -> Response {
    let now = cloud.now();
    let mut google_state = cloud.google_state();
    let email = call.strip_suffix(":generateAccessToken").ok_or_else(|| GceError::not_found(&call));
    let result = email.and_then(|email| {
        google_state.tokens.caller(&headers, now)?;
        google_state.tokens.impersonate(email, now)
    });
    result.map(Json).into_response()
}

async fn projects(
    State(cloud): SharedGoogle,
    Path(call): Path<String>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    (method, headers): (Method, HeaderMap),
    body: Bytes,
) -> Response {
    let now = cloud.now();
    let mut google_state = cloud.google_state();
    let (project, verb) = call.split_once(':').map_or((call.as_str(), ""), |(project, verb)| (project, verb));
    let action = if verb.is_empty() { "projects.get" } else { "projects.testIamPermissions" };
    let mut record = record(action, &call, &headers);
    let result = google_state.tokens.caller(&headers, now).and_then(|email| {
        record.caller = Some(email.clone());
        let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
        google_state.resource(project, verb, &method, &email, &asked)
    });
    finish(&mut google_state, record, project, result, &connection)
}

async fn compute(
    State(cloud): SharedGoogle,
    Path(path): Path<String>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    (method, uri, headers): (Method, Uri, HeaderMap),
    body: Bytes,
) -> Response {
    let now = cloud.now();
    let mut google_state = cloud.google_state();
    let parts: Vec<&str> = path.split('/').collect();
    let (project, rest) = match parts.as_slice() {
        ["projects", project, rest @ ..] => (*project, rest.to_vec()),
        _ => return GceError::not_found(&path).into_response(),
    };
    let action = resources::action(&method, &rest);
    let mut record = record(action, &path, &headers);
    let caller = google_state.tokens.caller(&headers, now);
    let result = caller.and_then(|email| {
        record.caller = Some(email.clone());
        let body = if body.is_empty() { Value::Null } else { read(&body)? };
        let query = GceQuery::of(&uri);
        let call = GceCall { method: &method, path: rest, query, body, project, email: &email, now };
        google_state.answer(&call, action, record.user_project.as_deref(), &path)
    });
    let response = finish(&mut google_state, record, project, result, &connection);
    cloud.woken.notify_one();
    response
}

fn read(body: &[u8]) -> Result<Value, GceError> {
    serde_json::from_slice(body)
        .map_err(|error| GceError::new(400, "parseError", format!("Parse Error: {error}")))
}

fn record(action: &'static str, path: &str, headers: &HeaderMap) -> GceCallRecord {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    GceCallRecord {
        action,
        path: path.to_owned(),
        user_project: header("x-goog-user-project"),
        request_reason: header("x-goog-request-reason"),
        ..GceCallRecord::default()
    }
}

/// Writes the call down, and loses its answer where a fault says so.
fn finish(
    google_state: &mut GoogleState,
    mut record: GceCallRecord,
    project: &str,
    result: Result<Value, GceError>,
    connection: &Connection,
) -> Response {
    record.reason = result.as_ref().err().map(|error| error.reason.clone());
    if result.is_ok() && google_state.faults.loses(project, record.action, &record.path) {
        connection.cut();
    }
    google_state.calls.keep(record);
    result.map(Json).into_response()
}

impl GoogleState {
    fn answer(
        &mut self,
        call: &GceCall<'_>,
        action: &'static str,
        user_project: Option<&str>,
        path: &str,
    ) -> Result<Value, GceError> {
        let pays = user_project.unwrap_or(call.project);
        let payer =
            self.projects.get(pays).ok_or_else(|| GceError::not_found(&format!("projects/{pays}")))?;
        payer.admit(pays, call.email)?;
        payer.require(pays, call.email, "serviceusage.services.use")?;
        self.controls.limits.count(pays, call.method != Method::GET, call.now)?;
        if let Some(error) = self.faults.refuses(call.project, action, path) {
            return Err(error);
        }
        self.carry_out(call, action)
    }
}
