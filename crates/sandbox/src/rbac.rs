//! RBAC: an external system that says what people may do. Everybody may do everything, until a client says otherwise with
//! `PUT /rbac/users/{name}`.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use axum::{Json, Router, middleware};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::SandboxShared;
use crate::answer::{CallError, JsonBody};
use crate::faults::{self, Gate};
use crate::identity_header::{IdentityError, IdentityHeader, Window};
use crate::ledger::LedgerSystem;

const BASE: &str = "/api/rbac/v1";
const EVERYTHING: &str = "provisioning:*:*";
const USERS_MAX: usize = 10_000;
const PERMISSIONS_MAX: usize = 20_000;
/// So many permissions of usual length.
const BODY_BYTES_MAX: usize = 1024 * 1024;
const LIMIT_MAX: usize = 1000;
const LIMIT_DEFAULT: usize = 10;

/// What people send to `PUT /rbac/users/{name}`. The texts are given out as they are, also where they make no sense.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rights {
    permissions: Vec<String>,
    /// Permissions that are limited to single objects.
    #[serde(default)]
    limited: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Rbac {
    users: Mutex<BTreeMap<String, Rights>>,
}

impl Rbac {
    fn users(&self) -> MutexGuard<'_, BTreeMap<String, Rights>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Each with whether it is limited to single objects.
    fn permissions(&self, user: Option<&str>) -> Vec<(String, bool)> {
        let users = self.users();
        let Some(rights) = user.and_then(|user| users.get(user)) else {
            return vec![(EVERYTHING.to_owned(), false)];
        };
        let whole = rights.permissions.iter().map(|text| (text.clone(), false));
        whole.chain(rights.limited.iter().map(|text| (text.clone(), true))).collect()
    }
}

pub(crate) fn routes(world: &SandboxShared) -> Router {
    let gate = Gate { system: LedgerSystem::Rbac, faults: Arc::clone(&world.faults) };
    let calls = Router::new()
        .route("/access/", get(access))
        .route("/status/", get(|| async { Json(json!({"api_version": 1})) }))
        .route_layer(middleware::from_fn_with_state(gate, faults::hit));
    Router::new()
        .nest(BASE, calls)
        .route("/rbac/users", get(list).delete(clear))
        .route("/rbac/users/{name}", put(set).delete(remove))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(Arc::clone(&world.rbac))
}

async fn access(
    State(rbac): State<Arc<Rbac>>,
    who: IdentityHeader,
    Query(asked): Query<HashMap<String, String>>,
) -> Result<Json<Value>, IdentityError> {
    let text = |name| asked.get(name).map(String::as_str);
    let application = text("application")
        .ok_or_else(|| IdentityError::bad_request("the parameter application is required"))?;
    let window = Window::read(text("limit"), text("offset"), LIMIT_MAX, LIMIT_DEFAULT)?;
    let permissions = rbac.permissions(who.user.as_deref());
    let is_asked_for = |(permission, _): &(String, bool)| {
        application.is_empty() || permission.split(':').next() == Some(application)
    };
    let all: Vec<(String, bool)> = permissions.into_iter().filter(is_asked_for).collect();
    let meta = json!({"count": all.len(), "limit": window.limit, "offset": window.offset});
    let limits = json!([{"attributeFilter": {"key": "id", "operation": "equal", "value": "7"}}]);
    let granted = |(permission, is_limited)| json!({"permission": permission, "resourceDefinitions": if is_limited { limits.clone() } else { json!([]) }});
    let data: Vec<Value> = window.of(all).into_iter().map(granted).collect();
    Ok(Json(json!({"meta": meta, "links": {}, "data": data})))
}

async fn list(State(rbac): State<Arc<Rbac>>) -> Response {
    Json(json!({"users": *rbac.users()})).into_response()
}

async fn set(
    State(rbac): State<Arc<Rbac>>,
    name: Result<Path<String>, PathRejection>,
    JsonBody(rights): JsonBody<Rights>,
) -> Result<StatusCode, CallError> {
    let Path(name) = name?;
    let mut users = rbac.users();
    if rights.permissions.len() + rights.limited.len() > PERMISSIONS_MAX || users.len() >= USERS_MAX {
        let limits = format!("at most {USERS_MAX} users with {PERMISSIONS_MAX} permissions each");
        return Err(CallError::bad_request(limits));
    }
    users.insert(name, rights);
    Ok(StatusCode::NO_CONTENT)
}

async fn remove(
    State(rbac): State<Arc<Rbac>>,
    name: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, CallError> {
    let Path(name) = name?;
    match rbac.users().remove(&name) {
        Some(_) => Ok(StatusCode::NO_CONTENT),
        None => Err(CallError::new(StatusCode::NOT_FOUND, "nothing is configured for this user")),
    }
}

async fn clear(State(rbac): State<Arc<Rbac>>) -> StatusCode {
    rbac.users().clear();
    StatusCode::NO_CONTENT
}
