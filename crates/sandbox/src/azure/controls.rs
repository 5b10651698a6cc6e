//! What people set and look at, in JSON.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::catalog;
use super::delay_times::AzureDelays;
use super::faults::AzureThrottle;
use super::limits::{AzureCapacity, AzureQuota};
use super::resource::{ArmKind, ArmResource};
use super::subscriptions::Delegation;
use super::world::{AzureCloud, AzureControls};
use crate::answer::{CallError, JsonBody};
use crate::{delays, script};

type AzureShared = State<Arc<AzureCloud>>;

pub(super) fn routes(cloud: &Arc<AzureCloud>) -> Router {
    Router::new()
        .route("/azure/delay_times", get(show_delay_times).put(set_delay_times))
        .route("/azure/delegations", get(show_delegations).put(set_delegation))
        .route("/azure/capacity", get(show_capacity).put(set_capacity))
        .route("/azure/quota", get(show_quota).put(set_quota))
        .route("/azure/throttle", put(set_throttle))
        .route("/azure/pages", put(set_pages))
        .route("/azure/rules", put(set_rules))
        .route("/azure/images", get(show_images).post(add_image))
        .route("/azure/certificates", post(add_certificate).delete(clear_certificates))
        .route("/azure/calls", get(show_calls).delete(clear_calls))
        .route("/azure/world", get(show_world))
        .route("/azure/reset", post(reset))
        .with_state(Arc::clone(cloud))
        .merge(script::routes("/azure/faults", &cloud.state().faults))
}

async fn show_delay_times(State(cloud): AzureShared) -> Json<AzureDelays> {
    Json(cloud.state().controls.delay_times)
}

async fn set_delay_times(
    State(cloud): AzureShared,
    JsonBody(named): JsonBody<Map<String, Value>>,
) -> Result<Json<AzureDelays>, CallError> {
    let mut state = cloud.state();
    let changed = delays::change(&state.controls.delay_times, named).map_err(CallError::bad_request)?;
    state.controls.delay_times = changed;
    Ok(Json(changed))
}

async fn show_delegations(State(cloud): AzureShared) -> Json<Value> {
    Json(cloud.state().subscriptions.show())
}

async fn set_delegation(
    State(cloud): AzureShared,
    JsonBody(delegation): JsonBody<Delegation>,
) -> Result<StatusCode, CallError> {
    cloud.state().subscriptions.set(delegation).map_err(CallError::bad_request)?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CertificateBody {
    certificate: String,
}

async fn add_certificate(
    State(cloud): AzureShared,
    JsonBody(body): JsonBody<CertificateBody>,
) -> Result<(StatusCode, Json<Value>), CallError> {
    let added = cloud.state().certificates.add(&body.certificate).map_err(CallError::bad_request)?;
    Ok((StatusCode::CREATED, Json(added)))
}

async fn clear_certificates(State(cloud): AzureShared) -> StatusCode {
    cloud.state().certificates.clear();
    StatusCode::NO_CONTENT
}

async fn show_capacity(State(cloud): AzureShared) -> Json<Value> {
    Json(json!({"capacity": cloud.state().controls.limits.capacities()}))
}

async fn set_capacity(
    State(cloud): AzureShared,
    JsonBody(capacity): JsonBody<AzureCapacity>,
) -> Result<StatusCode, CallError> {
    cloud.state().controls.limits.set_capacity(capacity).map_err(CallError::bad_request)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn show_quota(State(cloud): AzureShared) -> Json<Value> {
    Json(json!({"quota": cloud.state().controls.limits.quotas()}))
}

async fn set_quota(
    State(cloud): AzureShared,
    JsonBody(quota): JsonBody<AzureQuota>,
) -> Result<StatusCode, CallError> {
    cloud.state().controls.limits.set_quota(quota).map_err(CallError::bad_request)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn set_throttle(State(cloud): AzureShared, JsonBody(throttle): JsonBody<AzureThrottle>) -> StatusCode {
    cloud.state().controls.throttle = throttle;
    StatusCode::NO_CONTENT
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PageLimit {
    items: Option<usize>,
}

async fn set_pages(
    State(cloud): AzureShared,
    JsonBody(body): JsonBody<PageLimit>,
) -> Result<StatusCode, CallError> {
    if body.items == Some(0) {
        return Err(CallError::bad_request("a page has at least one item"));
    }
    cloud.state().controls.page_items = body.items;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AzureRules {
    #[serde(default)]
    policy_denies: Vec<ArmKind>,
    #[serde(default)]
    locked: Vec<ArmKind>,
}

async fn set_rules(State(cloud): AzureShared, JsonBody(rules): JsonBody<AzureRules>) -> StatusCode {
    let mut state = cloud.state();
    state.controls.policy_denies = rules.policy_denies;
    state.controls.locked = rules.locked;
    StatusCode::NO_CONTENT
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewImage {
    id: String,
    #[serde(default)]
    location: Option<String>,
    #[serde(default = "first")]
    generation: String,
}

fn first() -> String {
    "V1".to_owned()
}

async fn add_image(
    State(cloud): AzureShared,
    JsonBody(image): JsonBody<NewImage>,
) -> Result<StatusCode, CallError> {
    if image.location.as_deref().is_some_and(|location| !catalog::is_location(location)) {
        return Err(CallError::bad_request("there is no such location"));
    }
    let now = cloud.now();
    if !cloud.state().add_image(&image.id, image.location.as_deref(), &image.generation, now) {
        return Err(CallError::bad_request("id must be the id of a managed image"));
    }
    Ok(StatusCode::CREATED)
}

async fn show_images(State(cloud): AzureShared) -> Json<Value> {
    let state = cloud.state();
    let images = state.resources.values().filter(|one| one.key.kind == ArmKind::Image);
    Json(json!({"images": images.map(|one| state.view(one, None)).collect::<Vec<_>>()}))
}

async fn show_calls(State(cloud): AzureShared) -> Json<Value> {
    Json(json!(cloud.state().calls))
}

async fn clear_calls(State(cloud): AzureShared) -> StatusCode {
    cloud.state().calls.clear();
    StatusCode::NO_CONTENT
}

async fn show_world(State(cloud): AzureShared) -> Json<Value> {
    let state = cloud.state();
    let show = |one: &ArmResource| {
        let mut body = state.view(one, Some("instanceView"));
        body["kind"] = json!(one.key.kind);
        body["has_custom_data"] = json!(one.properties.pointer("/osProfile/customData").is_some());
        body
    };
    Json(json!({"resources": state.resources.values().map(show).collect::<Vec<_>>()}))
}

/// What was made stays, because the ledger says that it is there.
async fn reset(State(cloud): AzureShared) -> StatusCode {
    let mut state = cloud.state();
    state.controls = AzureControls::default();
    state.faults.clear(None);
    state.calls.clear();
    StatusCode::NO_CONTENT
}
