//! What people set and look at, in JSON.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::catalog;
use super::delay_times::AzureDelays;
use super::faults::AzureThrottle;
use super::resource::{ArmKind, ArmResource};
use super::world::{AzureCloud, AzureControls};
use crate::answer::{CallError, JsonBody};
use crate::controls::{clear, delays, replace, set, show};
use crate::script;

type AzureShared = State<Arc<AzureCloud>>;

pub(super) fn routes(cloud: &Arc<AzureCloud>) -> Router {
    Router::new()
        .route("/azure/delay_times", delays(delay_times))
        .route(
            "/azure/delegations",
            show(|cloud: &AzureCloud| cloud.state().subscriptions.show())
                .merge(set(|cloud: &AzureCloud, delegation| cloud.state().subscriptions.set(delegation))),
        )
        .route(
            "/azure/capacity",
            show(capacity).merge(set(|cloud: &AzureCloud, capacity| {
                cloud.state().controls.limits.set_capacity(capacity)
            })),
        )
        .route(
            "/azure/quota",
            show(quota)
                .merge(set(|cloud: &AzureCloud, quota| cloud.state().controls.limits.set_quota(quota))),
        )
        .route("/azure/throttle", replace(set_throttle))
        .route("/azure/pages", set(set_pages))
        .route("/azure/rules", replace(set_rules))
        .route("/azure/images", show(images).post(add_image))
        .route(
            "/azure/certificates",
            post(add_certificate).merge(clear(|cloud: &AzureCloud| cloud.state().certificates.clear())),
        )
        .route(
            "/azure/calls",
            show(|cloud: &AzureCloud| json!(cloud.state().calls))
                .merge(clear(|cloud: &AzureCloud| cloud.state().calls.clear())),
        )
        .route("/azure/world", show(world))
        .route("/azure/reset", post(reset))
        .with_state(Arc::clone(cloud))
        .merge(script::routes("/azure/faults", &cloud.state().faults))
}

fn delay_times(cloud: &AzureCloud, new: Option<AzureDelays>) -> AzureDelays {
    let mut state = cloud.state();
    state.controls.delay_times = new.unwrap_or(state.controls.delay_times);
    state.controls.delay_times
}

fn capacity(cloud: &AzureCloud) -> Value {
    json!({"capacity": cloud.state().controls.limits.capacities()})
}

fn quota(cloud: &AzureCloud) -> Value {
    json!({"quota": cloud.state().controls.limits.quotas()})
}

fn set_throttle(cloud: &AzureCloud, throttle: AzureThrottle) {
    cloud.state().controls.throttle = throttle;
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

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct PageLimit {
    items: Option<usize>,
}

fn set_pages(cloud: &AzureCloud, body: PageLimit) -> Result<(), String> {
    if body.items == Some(0) {
        return Err("a page has at least one item".into());
    }
    cloud.state().controls.page_items = body.items;
    Ok(())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AzureRules {
    #[serde(default)]
    policy_denies: Vec<ArmKind>,
    #[serde(default)]
    locked: Vec<ArmKind>,
}

fn set_rules(cloud: &AzureCloud, rules: AzureRules) {
    let mut state = cloud.state();
    state.controls.policy_denies = rules.policy_denies;
    state.controls.locked = rules.locked;
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

fn images(cloud: &AzureCloud) -> Value {
    let state = cloud.state();
    let images = state.resources.values().filter(|one| one.key.kind == ArmKind::Image);
    json!({"images": images.map(|one| state.view(one, None)).collect::<Vec<_>>()})
}

fn world(cloud: &AzureCloud) -> Value {
    let state = cloud.state();
    let show = |one: &ArmResource| {
        let mut body = state.view(one, Some("instanceView"));
        body["kind"] = json!(one.key.kind);
        body["has_custom_data"] = json!(one.properties.pointer("/osProfile/customData").is_some());
        body
    };
    json!({"resources": state.resources.values().map(show).collect::<Vec<_>>()})
}

/// What was made stays, because the ledger says that it is there.
async fn reset(State(cloud): AzureShared) -> StatusCode {
    let mut state = cloud.state();
    state.controls = AzureControls::default();
    state.faults.clear(None);
    state.calls.clear();
    StatusCode::NO_CONTENT
}
