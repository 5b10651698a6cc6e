//! Sources: an external system that knows accounts in clouds, and what lets others in.
//!
//! Every organisation has the first three; more come by `POST /sources/known`.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get};
use axum::{Json, Router, middleware};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::SandboxShared;
use crate::answer::{CallError, JsonBody};
use crate::faults::{self, Gate};
use crate::identity_header::{IdentityError, IdentityHeader, Window};
use crate::ledger::LedgerSystem;

const BASE: &str = "/api/sources/v3.1";
/// The application that launches, among those that Sources knows.
const PROVISIONING: &str = "5";
const SOURCES_MAX: usize = 100_000;
const LIMIT_MAX: usize = 1000;
const LIMIT_DEFAULT: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Cloud {
    Aws,
    Azure,
    Gcp,
}

impl Cloud {
    const ALL: [Cloud; 3] = [Cloud::Aws, Cloud::Azure, Cloud::Gcp];

    fn type_id(self) -> &'static str {
        match self {
            Cloud::Aws => "1",
            Cloud::Azure => "2",
            Cloud::Gcp => "3",
        }
    }

    fn type_name(self) -> &'static str {
        match self {
            Cloud::Aws => "amazon",
            Cloud::Azure => "azure",
            Cloud::Gcp => "google",
        }
    }

    fn authtype(self) -> &'static str {
        match self {
            Cloud::Aws => "provisioning-arn",
            Cloud::Azure => "provisioning_lighthouse_subscription_id",
            Cloud::Gcp => "provisioning_project_id",
        }
    }
}

/// What people send to `POST /sources/known`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownSources {
    id: String,
    name: String,
    provider: Cloud,
    /// The ARN of a role, the id of a subscription, or the id of a project. Without it the source is meant for other
    /// applications.
    #[serde(default)]
    account: Option<String>,
    #[serde(default)]
    external_id: Option<String>,
    #[serde(default = "available")]
    status: String,
    /// Whose it is; all have it where no user is named.
    #[serde(default)]
    org: Option<String>,
}

fn available() -> String {
    "available".into()
}

impl KnownSources {
    fn is_of(&self, org: &str) -> bool {
        self.org.as_ref().is_none_or(|owner| owner == org)
    }

    fn body(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "uid": Uuid::from_u128(0x5072_6f76_0000_4000_8000_0000_0000_0000 | digest(&self.id)),
            "source_type_id": self.provider.type_id(),
            "availability_status": self.status,
            "app_creation_workflow": "manual_configuration",
        })
    }

    /// Two of them, because a real source has some that are none of our business.
    fn authentications(&self) -> Vec<Value> {
        let other = json!({
            "id": format!("{}9", self.id), "authtype": "access_key_secret_key", "username": "someone",
            "resource_type": "Source", "resource_id": self.id,
        });
        let Some(account) = &self.account else { return vec![other] };
        let mut ours = json!({
            "id": format!("{}1", self.id), "authtype": self.provider.authtype(), "username": account,
            "resource_type": "Application", "resource_id": format!("{}0", self.id),
            "availability_status": self.status,
        });
        if let Some(external_id) = &self.external_id {
            ours["extra"] = json!({"external_id": external_id});
        }
        vec![other, ours]
    }
}

/// Small, and different for different ids.
fn digest(id: &str) -> u128 {
    id.bytes().fold(0, |sum, byte| (sum * 257 + u128::from(byte)) % (1 << 60))
}

#[derive(Debug)]
pub(crate) struct Sources {
    known: Mutex<BTreeMap<String, KnownSources>>,
}

impl Default for Sources {
    fn default() -> Self {
        Sources { known: Mutex::new(first_ones()) }
    }
}

fn first_ones() -> BTreeMap<String, KnownSources> {
    let first = |id: &str, name: &str, provider, account: &str| KnownSources {
        id: id.into(),
        name: name.into(),
        provider,
        account: Some(account.into()),
        external_id: None,
        status: available(),
        org: None,
    };
    let all = [
        first("1", "Amazon account", Cloud::Aws, "arn:aws:iam::123456789012:role/launch"),
        first("2", "Azure subscription", Cloud::Azure, "4b9d213f-712f-4d17-a483-8a10bbe9df3a"),
        first("3", "Google project", Cloud::Gcp, "sandbox-project-7"),
    ];
    all.into_iter().map(|one| (one.id.clone(), one)).collect()
}

impl Sources {
    /// The twelve digits of the account in AWS behind a source of an organisation.
    pub(crate) fn aws_account(&self, org: &str, id: &str) -> Option<String> {
        let known = self.known();
        let source = known.get(id).filter(|one| one.is_of(org) && one.provider == Cloud::Aws)?;
        let account = source.account.as_deref()?.split(':').nth(4)?;
        let is_account = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
        is_account.then(|| account.to_owned())
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, KnownSources>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn routes(world: &SandboxShared) -> Router {
    let gate = Gate { system: LedgerSystem::Sources, faults: Arc::clone(&world.faults) };
    let calls = Router::new()
        .route("/application_types", get(application_types))
        .route("/application_types/{id}/sources", get(list))
        .route("/source_types", get(source_types))
        .route("/sources/{id}/authentications", get(authentications))
        .route_layer(middleware::from_fn_with_state(gate, faults::hit));
    Router::new()
        .nest(BASE, calls)
        .route("/sources/known", get(show).post(add).delete(reset))
        .route("/sources/known/{id}", delete(remove))
        .with_state(Arc::clone(&world.sources))
}

type SourceQuery = Query<HashMap<String, String>>;

fn page(path: &str, asked: &HashMap<String, String>, all: Vec<Value>) -> Result<Json<Value>, IdentityError> {
    let text = |name| asked.get(name).map(String::as_str);
    let window = Window::read(text("limit"), text("offset"), LIMIT_MAX, LIMIT_DEFAULT)?;
    let (count, limit, offset) = (all.len(), window.limit, window.offset);
    let link = |offset| format!("{BASE}{path}?limit={limit}&offset={offset}");
    Ok(Json(json!({
        "data": window.of(all),
        "meta": {"count": count, "limit": limit, "offset": offset},
        "links": {"first": link(0), "last": link(count.saturating_sub(1) / limit * limit)},
    })))
}

async fn application_types(
    _: IdentityHeader,
    Query(asked): SourceQuery,
) -> Result<Json<Value>, IdentityError> {
    let one = |id, name, label| json!({"id": id, "name": name, "display_name": label});
    let all = vec![
        one("2", "/insights/platform/cost-management", "Cost Management"),
        one(PROVISIONING, "/insights/platform/provisioning", "Launch images"),
    ];
    page("/application_types", &asked, all)
}

async fn source_types(_: IdentityHeader, Query(asked): SourceQuery) -> Result<Json<Value>, IdentityError> {
    let mut all: Vec<Value> =
        Cloud::ALL.map(|cloud| json!({"id": cloud.type_id(), "name": cloud.type_name()})).into();
    all.push(json!({"id": "4", "name": "openshift"}));
    page("/source_types", &asked, all)
}

async fn list(
    State(sources): State<Arc<Sources>>,
    who: IdentityHeader,
    Path(application): Path<String>,
    Query(asked): SourceQuery,
) -> Result<Json<Value>, IdentityError> {
    if !["2", PROVISIONING].contains(&application.as_str()) {
        return Err(IdentityError::not_found("there is no application type with this id"));
    }
    let wanted = asked.get("filter[source_type][name]");
    let is_meant = |one: &&KnownSources| {
        one.is_of(&who.org)
            && wanted.is_none_or(|name| one.provider.type_name() == name)
            && one.account.is_some() == (application == PROVISIONING)
    };
    let all = sources.known().values().filter(is_meant).map(KnownSources::body).collect();
    page(&format!("/application_types/{application}/sources"), &asked, all)
}

async fn authentications(
    State(sources): State<Arc<Sources>>,
    who: IdentityHeader,
    Path(id): Path<String>,
    Query(asked): SourceQuery,
) -> Result<Json<Value>, IdentityError> {
    let found = sources.known().get(&id).filter(|one| one.is_of(&who.org)).map(KnownSources::authentications);
    let all = found.ok_or_else(|| IdentityError::not_found("there is no source with this id"))?;
    page(&format!("/sources/{id}/authentications"), &asked, all)
}

async fn show(State(sources): State<Arc<Sources>>) -> Response {
    Json(json!({"sources": sources.known().values().collect::<Vec<_>>()})).into_response()
}

/// One that is known already is replaced.
async fn add(
    State(sources): State<Arc<Sources>>,
    JsonBody(one): JsonBody<KnownSources>,
) -> Result<StatusCode, CallError> {
    let mut known = sources.known();
    if known.len() >= SOURCES_MAX {
        return Err(CallError::bad_request(format!("at most {SOURCES_MAX} sources can be known")));
    }
    known.insert(one.id.clone(), one);
    Ok(StatusCode::CREATED)
}

async fn remove(
    State(sources): State<Arc<Sources>>,
    id: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, CallError> {
    let Path(id) = id?;
    match sources.known().remove(&id) {
        Some(_) => Ok(StatusCode::NO_CONTENT),
        None => Err(CallError::new(StatusCode::NOT_FOUND, "there is no source with this id")),
    }
}

async fn reset(State(sources): State<Arc<Sources>>) -> StatusCode {
    *sources.known() = first_ones();
    StatusCode::NO_CONTENT
}
