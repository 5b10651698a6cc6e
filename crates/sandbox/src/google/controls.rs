//! What people set and look at, in JSON.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header::HOST;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::account_key::AccountKey;
use super::bulk::is_name;
use super::calls::GceCalls;
use super::delay_times::GceDelays;
use super::endpoint::SharedGoogle;
use super::images::GceImage;
use super::instances::{GceDisk, GceInstance, GcePlace, GceStatus};
use super::limits::GceRate;
use super::page::PageControls;
use super::projects::GceProject;
use super::templates::GceTemplate;
use super::world::{GceControls, GoogleCloud};
use crate::answer::{CallError, JsonBody};
use crate::controls::{clear, delays, replace, set, show};
use crate::script;

const ITEMS_MAX: usize = 1000;

pub(super) fn routes(cloud: &Arc<GoogleCloud>) -> Router {
    Router::new()
        .route("/gcp/key", get(show_key))
        .route("/gcp/pace", delays(delay_times))
        .route(
            "/gcp/capacity",
            show(capacity).merge(set(|cloud: &GoogleCloud, capacity| {
                cloud.google_state().controls.limits.set_capacity(capacity)
            })),
        )
        .route(
            "/gcp/rate",
            show(|cloud: &GoogleCloud| cloud.google_state().controls.limits.rate).merge(replace(set_rate)),
        )
        .route("/gcp/pages", replace(set_pages))
        .route("/gcp/projects/{project}", put(set_project).delete(forget_project))
        .route(
            "/gcp/projects",
            show(|cloud: &GoogleCloud| json!({"projects": cloud.google_state().projects})),
        )
        .route(
            "/gcp/images",
            show(|cloud: &GoogleCloud| json!({"images": cloud.google_state().images.all()})).post(add_image),
        )
        .route("/gcp/templates", post(add_template))
        .route(
            "/gcp/calls",
            show(|cloud: &GoogleCloud| json!(cloud.google_state().calls))
                .merge(clear(|cloud: &GoogleCloud| cloud.google_state().calls = GceCalls::default())),
        )
        .route("/gcp/instances", show(instances))
        .route("/gcp/instances/{project}/{zone}/{name}/poweroff", post(power_off))
        .route("/gcp/instances/{project}/{zone}/{name}/labels", put(set_labels))
        .route("/gcp/disks", show(disks))
        .route("/gcp/tokens/revoke", post(revoke))
        .route("/gcp/reset", post(reset))
        .with_state(Arc::clone(cloud))
        .merge(script::routes("/gcp/faults", &cloud.google_state().faults))
}

/// The key is generated on a thread of its own: it keeps a processor busy, and other clients are not to wait.
async fn show_key(headers: HeaderMap) -> Result<Json<Value>, CallError> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let key = tokio::task::spawn_blocking(AccountKey::get).await;
    let key = key.map_err(|error| CallError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(Json(key.file(&format!("http://{host}/gcp/token"))))
}

fn delay_times(cloud: &GoogleCloud, new: Option<GceDelays>) -> GceDelays {
    let mut google_state = cloud.google_state();
    google_state.controls.delay_times = new.unwrap_or(google_state.controls.delay_times);
    google_state.controls.delay_times
}

fn capacity(cloud: &GoogleCloud) -> Value {
    json!({"capacity": cloud.google_state().controls.limits.capacities})
}

fn set_rate(cloud: &GoogleCloud, rate: GceRate) {
    cloud.google_state().controls.limits.rate = rate;
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct PagesBody {
    items: Option<usize>,
    #[serde(default)]
    begins_empty: bool,
}

fn set_pages(cloud: &GoogleCloud, PagesBody { items, begins_empty }: PagesBody) {
    cloud.google_state().controls.pages = PageControls { items, begins_empty };
}

async fn set_project(
    State(cloud): SharedGoogle,
    Path(name): Path<String>,
    JsonBody(project): JsonBody<GceProject>,
) -> Result<StatusCode, CallError> {
    let mut google_state = cloud.google_state();
    if !is_name(&name) || google_state.projects.len() >= ITEMS_MAX {
        return Err(CallError::bad_request("this is not the id of a project, or there are too many"));
    }
    google_state.projects.insert(name, project);
    Ok(StatusCode::NO_CONTENT)
}

async fn forget_project(State(cloud): SharedGoogle, Path(name): Path<String>) -> StatusCode {
    cloud.google_state().projects.remove(&name);
    StatusCode::NO_CONTENT
}

async fn add_image(
    State(cloud): SharedGoogle,
    JsonBody(image): JsonBody<GceImage>,
) -> Result<StatusCode, CallError> {
    cloud.google_state().images.add(image).map_err(CallError::bad_request)?;
    Ok(StatusCode::CREATED)
}

async fn add_template(
    State(cloud): SharedGoogle,
    JsonBody(template): JsonBody<GceTemplate>,
) -> Result<Json<Value>, CallError> {
    let mut google_state = cloud.google_state();
    if google_state.templates.len() >= ITEMS_MAX {
        return Err(CallError::bad_request("there are too many templates"));
    }
    let id = google_state.next_id();
    google_state.templates.push(GceTemplate { id, ..template });
    Ok(Json(json!({"id": id.to_string()})))
}

fn instances(cloud: &GoogleCloud) -> Value {
    let google_state = cloud.google_state();
    json!({"instances": google_state.instances.values().map(GceInstance::show).collect::<Vec<_>>()})
}

fn disks(cloud: &GoogleCloud) -> Value {
    let google_state = cloud.google_state();
    json!({"disks": google_state.disks.values().map(GceDisk::show).collect::<Vec<_>>()})
}

type PlacePath = Path<(String, String, String)>;

fn changed(
    cloud: &GoogleCloud,
    Path((project, zone, name)): PlacePath,
    change: impl FnOnce(&mut GceInstance),
) -> Result<StatusCode, CallError> {
    let mut google_state = cloud.google_state();
    let place = GcePlace { project, zone, name };
    let instance = google_state.instances.get_mut(&place);
    change(instance.ok_or_else(|| CallError::new(StatusCode::NOT_FOUND, "there is no such instance"))?);
    Ok(StatusCode::NO_CONTENT)
}

/// The guest switches itself off: it stays, and its disk is paid for.
async fn power_off(State(cloud): SharedGoogle, place: PlacePath) -> Result<StatusCode, CallError> {
    changed(&cloud, place, |instance| instance.status = GceStatus::Terminated)
}

async fn set_labels(
    State(cloud): SharedGoogle,
    place: PlacePath,
    JsonBody(labels): JsonBody<std::collections::BTreeMap<String, String>>,
) -> Result<StatusCode, CallError> {
    changed(&cloud, place, |instance| instance.labels = labels)
}

/// All tokens that were given are no longer good.
async fn revoke(State(cloud): SharedGoogle) -> StatusCode {
    cloud.google_state().tokens.revoke();
    StatusCode::NO_CONTENT
}

/// What was made stays, because the ledger says that it is there.
async fn reset(State(cloud): SharedGoogle) -> StatusCode {
    let mut google_state = cloud.google_state();
    google_state.controls = GceControls::default();
    google_state.faults.clear(None);
    google_state.calls = GceCalls::default();
    StatusCode::NO_CONTENT
}
