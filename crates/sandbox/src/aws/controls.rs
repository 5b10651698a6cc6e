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
use super::delay_times::AwsDelays;
use super::faults::Throttle;
use super::images::AwsImage;
use super::limits::{Capacity, Quota};
use super::world::{AwsCloud, AwsControls};
use crate::answer::{CallError, JsonBody};
use crate::{delays, script};

type SharedCloud = State<Arc<AwsCloud>>;

const EXTERNAL_IDS_MAX: usize = 1000;

pub(super) fn routes(cloud: &Arc<AwsCloud>) -> Router {
    Router::new()
        .route("/aws/pace", get(show_delay_times).put(set_delay_times).post(set_delay_times))
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
        .merge(script::routes("/aws/faults", &cloud.aws_state().faults))
}

async fn show_delay_times(State(cloud): SharedCloud) -> Json<AwsDelays> {
    Json(cloud.aws_state().controls.delay_times)
}

async fn set_delay_times(
    State(cloud): SharedCloud,
    JsonBody(named): JsonBody<Map<String, Value>>,
) -> Result<Json<AwsDelays>, CallError> {
    let mut aws_state = cloud.aws_state();
    aws_state.controls.delay_times =
        delays::change(&aws_state.controls.delay_times, named).map_err(CallError::bad_request)?;
    Ok(Json(aws_state.controls.delay_times))
}

async fn show_capacity(State(cloud): SharedCloud) -> Json<Value> {
    Json(json!({"capacity": cloud.aws_state().controls.limits.capacities()}))
}

async fn set_capacity(
    State(cloud): SharedCloud,
    JsonBody(capacity): JsonBody<Capacity>,
) -> Result<StatusCode, CallError> {
    cloud.aws_state().controls.limits.set_capacity(capacity).map_err(CallError::bad_request)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn show_quota(State(cloud): SharedCloud) -> Json<Value> {
    Json(json!({"quota": cloud.aws_state().controls.limits.quotas()}))
}

async fn set_quota(
    State(cloud): SharedCloud,
    JsonBody(quota): JsonBody<Quota>,
) -> Result<StatusCode, CallError> {
    cloud.aws_state().controls.limits.set_quota(quota).map_err(CallError::bad_request)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn show_throttle(State(cloud): SharedCloud) -> Json<Throttle> {
    Json(cloud.aws_state().controls.throttle.clone())
}

async fn set_throttle(State(cloud): SharedCloud, JsonBody(throttle): JsonBody<Throttle>) -> StatusCode {
    cloud.aws_state().controls.throttle = throttle;
    StatusCode::NO_CONTENT
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokensBody {
    ignored: bool,
}

async fn show_tokens(State(cloud): SharedCloud) -> Json<TokensBody> {
    Json(TokensBody { ignored: cloud.aws_state().controls.ignores_tokens })
}

async fn set_tokens(State(cloud): SharedCloud, JsonBody(body): JsonBody<TokensBody>) -> StatusCode {
    cloud.aws_state().controls.ignores_tokens = body.ignored;
    StatusCode::NO_CONTENT
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PagesBody {
    items: Option<usize>,
}

async fn show_pages(State(cloud): SharedCloud) -> Json<Value> {
    Json(json!({"items": cloud.aws_state().controls.page_items}))
}

async fn set_pages(
    State(cloud): SharedCloud,
    JsonBody(body): JsonBody<PagesBody>,
) -> Result<StatusCode, CallError> {
    if body.items == Some(0) {
        return Err(CallError::bad_request("a page has at least one item"));
    }
    cloud.aws_state().controls.page_items = body.items;
    Ok(StatusCode::NO_CONTENT)
}

/// Only the names of the roles: what they demand is between them and their callers.
async fn show_external_ids(State(cloud): SharedCloud) -> Json<Value> {
    Json(json!({"roles": cloud.aws_state().controls.external_ids.keys().collect::<Vec<_>>()}))
}

async fn set_external_ids(
    State(cloud): SharedCloud,
    JsonBody(ids): JsonBody<BTreeMap<String, String>>,
) -> Result<StatusCode, CallError> {
    if ids.len() > EXTERNAL_IDS_MAX {
        return Err(CallError::bad_request(format!("there can be at most {EXTERNAL_IDS_MAX} external ids")));
    }
    cloud.aws_state().controls.external_ids = ids;
    Ok(StatusCode::NO_CONTENT)
}

async fn show_images(State(cloud): SharedCloud) -> Json<Value> {
    Json(json!({"images": cloud.images.all()}))
}

async fn add_image(
    State(cloud): SharedCloud,
    JsonBody(image): JsonBody<AwsImage>,
) -> Result<StatusCode, CallError> {
    if !catalog::is_region(&image.region) {
        return Err(CallError::bad_request(format!("there is no region {:?}", image.region)));
    }
    cloud.images.add(image);
    Ok(StatusCode::CREATED)
}

async fn forget_image(
    State(cloud): SharedCloud,
    Path((region, ami)): Path<(String, String)>,
) -> Result<StatusCode, CallError> {
    if cloud.images.forget(&ami, &region) {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(CallError::new(StatusCode::NOT_FOUND, "there is no such image in this region"))
}

async fn show_calls(State(cloud): SharedCloud) -> Json<Value> {
    Json(json!(cloud.aws_state().calls))
}

async fn clear_calls(State(cloud): SharedCloud) -> StatusCode {
    cloud.aws_state().calls = Calls::default();
    StatusCode::NO_CONTENT
}

async fn show_instances(State(cloud): SharedCloud) -> Json<Value> {
    Json(cloud.aws_state().instances.show())
}

/// What was made stays, because the ledger says that it is there.
async fn reset(State(cloud): SharedCloud) -> StatusCode {
    let mut aws_state = cloud.aws_state();
    aws_state.controls = AwsControls::default();
    aws_state.faults.clear(None);
    aws_state.calls = Calls::default();
    StatusCode::NO_CONTENT
}
