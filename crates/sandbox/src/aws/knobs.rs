//! What people set and look at, in JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::calls::Calls;
use super::catalog;
use super::faults::Throttle;
use super::images::Image;
use super::limits::{Capacity, Quota};
use super::pace::Pace;
use super::world::{Cloud, Knobs};
use crate::answer::{JsonBody, Refusal};
use crate::{delays, script};

type Shared = State<Arc<Cloud>>;

const EXTERNAL_IDS_MAX: usize = 1000;

pub(super) fn routes(cloud: &Arc<Cloud>) -> Router {
    Router::new()
        .route("/aws/pace", get(show_pace).put(set_pace).post(set_pace))
        .route("/aws/capacity", get(show_capacity).put(set_capacity))
        .route("/aws/quota", get(show_quota).put(set_quota))
        .route("/aws/throttle", get(show_throttle).put(set_throttle))
        .route("/aws/tokens", get(show_tokens).put(set_tokens))
        .route("/aws/pages", get(show_pages).put(set_pages))
        .route("/aws/external_ids", get(show_external_ids).put(set_external_ids))
        .route("/aws/images", get(show_images).post(add_image))
        .route("/aws/images/{region}/{ami}", delete(forget_image))
        .route("/aws/calls", get(show_calls).delete(clear_calls))
        .route("/aws/instances", get(show_instances))
        .route("/aws/reset", post(reset))
        .with_state(Arc::clone(cloud))
        .merge(script::routes("/aws/faults", &cloud.estate().faults))
}

async fn show_pace(State(cloud): Shared) -> Json<Pace> {
    Json(cloud.estate().knobs.pace)
}

async fn set_pace(
    State(cloud): Shared,
    JsonBody(named): JsonBody<Map<String, Value>>,
) -> Result<Json<Pace>, Refusal> {
    let mut estate = cloud.estate();
    estate.knobs.pace = delays::change(&estate.knobs.pace, named).map_err(Refusal::bad_request)?;
    Ok(Json(estate.knobs.pace))
}

async fn show_capacity(State(cloud): Shared) -> Json<Value> {
    Json(json!({"capacity": cloud.estate().knobs.limits.capacities()}))
}

async fn set_capacity(
    State(cloud): Shared,
    JsonBody(capacity): JsonBody<Capacity>,
) -> Result<StatusCode, Refusal> {
    cloud.estate().knobs.limits.set_capacity(capacity).map_err(Refusal::bad_request)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn show_quota(State(cloud): Shared) -> Json<Value> {
    Json(json!({"quota": cloud.estate().knobs.limits.quotas()}))
}

async fn set_quota(State(cloud): Shared, JsonBody(quota): JsonBody<Quota>) -> Result<StatusCode, Refusal> {
    cloud.estate().knobs.limits.set_quota(quota).map_err(Refusal::bad_request)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn show_throttle(State(cloud): Shared) -> Json<Throttle> {
    Json(cloud.estate().knobs.throttle.clone())
}

async fn set_throttle(State(cloud): Shared, JsonBody(throttle): JsonBody<Throttle>) -> StatusCode {
    cloud.estate().knobs.throttle = throttle;
    StatusCode::NO_CONTENT
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokensBody {
    ignored: bool,
}

async fn show_tokens(State(cloud): Shared) -> Json<TokensBody> {
    Json(TokensBody { ignored: cloud.estate().knobs.ignores_tokens })
}

async fn set_tokens(State(cloud): Shared, JsonBody(body): JsonBody<TokensBody>) -> StatusCode {
    cloud.estate().knobs.ignores_tokens = body.ignored;
    StatusCode::NO_CONTENT
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PagesBody {
    items: Option<usize>,
}

async fn show_pages(State(cloud): Shared) -> Json<Value> {
    Json(json!({"items": cloud.estate().knobs.page_items}))
}

async fn set_pages(State(cloud): Shared, JsonBody(body): JsonBody<PagesBody>) -> Result<StatusCode, Refusal> {
    if body.items == Some(0) {
        return Err(Refusal::bad_request("a page has at least one item"));
    }
    cloud.estate().knobs.page_items = body.items;
    Ok(StatusCode::NO_CONTENT)
}

/// Only the names of the roles: what they demand is between them and their callers.
async fn show_external_ids(State(cloud): Shared) -> Json<Value> {
    Json(json!({"roles": cloud.estate().knobs.external_ids.keys().collect::<Vec<_>>()}))
}

async fn set_external_ids(
    State(cloud): Shared,
    JsonBody(ids): JsonBody<BTreeMap<String, String>>,
) -> Result<StatusCode, Refusal> {
    if ids.len() > EXTERNAL_IDS_MAX {
        return Err(Refusal::bad_request(format!("there can be at most {EXTERNAL_IDS_MAX} external ids")));
    }
    cloud.estate().knobs.external_ids = ids;
    Ok(StatusCode::NO_CONTENT)
}

async fn show_images(State(cloud): Shared) -> Json<Value> {
    Json(json!({"images": cloud.images.all()}))
}

async fn add_image(State(cloud): Shared, JsonBody(image): JsonBody<Image>) -> Result<StatusCode, Refusal> {
    if !catalog::is_region(&image.region) {
        return Err(Refusal::bad_request(format!("there is no region {:?}", image.region)));
    }
    cloud.images.add(image);
    Ok(StatusCode::CREATED)
}

async fn forget_image(
    State(cloud): Shared,
    Path((region, ami)): Path<(String, String)>,
) -> Result<StatusCode, Refusal> {
    if cloud.images.forget(&ami, &region) {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(Refusal::new(StatusCode::NOT_FOUND, "there is no such image in this region"))
}

async fn show_calls(State(cloud): Shared) -> Json<Value> {
    Json(json!(cloud.estate().calls))
}

async fn clear_calls(State(cloud): Shared) -> StatusCode {
    cloud.estate().calls = Calls::default();
    StatusCode::NO_CONTENT
}

async fn show_instances(State(cloud): Shared) -> Json<Value> {
    Json(cloud.estate().instances.show())
}

/// What was made stays, because the ledger says that it is there.
async fn reset(State(cloud): Shared) -> StatusCode {
    let mut estate = cloud.estate();
    estate.knobs = Knobs::default();
    estate.faults.clear(None);
    estate.calls = Calls::default();
    StatusCode::NO_CONTENT
}
