//! What people set and look at, in JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{delete, post};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::calls::Calls;
use super::catalog;
use super::delay_times::AwsDelays;
use super::faults::Throttle;
use super::images::AwsImage;
use super::world::{AwsCloud, AwsControls};
use crate::answer::{CallError, JsonBody};
use crate::controls::{clear, delays, replace, set, show};
use crate::script;

type SharedCloud = State<Arc<AwsCloud>>;

const EXTERNAL_IDS_MAX: usize = 1000;

pub(super) fn routes(cloud: &Arc<AwsCloud>) -> Router {
    Router::new()
        .route("/aws/pace", delays(delay_times))
        .route(
            "/aws/capacity",
            show(capacity).merge(set(|cloud: &AwsCloud, capacity| {
                cloud.aws_state().controls.limits.set_capacity(capacity)
            })),
        )
        .route(
            "/aws/quota",
            show(quota)
                .merge(set(|cloud: &AwsCloud, quota| cloud.aws_state().controls.limits.set_quota(quota))),
        )
        .route(
            "/aws/throttle",
            show(|cloud: &AwsCloud| cloud.aws_state().controls.throttle.clone()).merge(replace(set_throttle)),
        )
        .route("/aws/tokens", show(tokens).merge(replace(set_tokens)))
        .route("/aws/pages", show(pages).merge(set(set_pages)))
        .route("/aws/external_ids", show(external_ids).merge(set(set_external_ids)))
        .route("/aws/images", show(|cloud: &AwsCloud| json!({"images": cloud.images.all()})).post(add_image))
        .route("/aws/images/{region}/{ami}", delete(forget_image))
        .route(
            "/aws/calls",
            show(|cloud: &AwsCloud| json!(cloud.aws_state().calls))
                .merge(clear(|cloud: &AwsCloud| cloud.aws_state().calls = Calls::default())),
        )
        .route("/aws/instances", show(|cloud: &AwsCloud| cloud.aws_state().instances.show()))
        .route("/aws/reset", post(reset))
        .with_state(Arc::clone(cloud))
        .merge(script::routes("/aws/faults", &cloud.aws_state().faults))
}

fn delay_times(cloud: &AwsCloud, new: Option<AwsDelays>) -> AwsDelays {
    let mut aws_state = cloud.aws_state();
    aws_state.controls.delay_times = new.unwrap_or(aws_state.controls.delay_times);
    aws_state.controls.delay_times
}

fn capacity(cloud: &AwsCloud) -> Value {
    json!({"capacity": cloud.aws_state().controls.limits.capacities()})
}

fn quota(cloud: &AwsCloud) -> Value {
    json!({"quota": cloud.aws_state().controls.limits.quotas()})
}

fn set_throttle(cloud: &AwsCloud, throttle: Throttle) {
    cloud.aws_state().controls.throttle = throttle;
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokensBody {
    ignored: bool,
}

fn tokens(cloud: &AwsCloud) -> TokensBody {
    TokensBody { ignored: cloud.aws_state().controls.ignores_tokens }
}

fn set_tokens(cloud: &AwsCloud, body: TokensBody) {
    cloud.aws_state().controls.ignores_tokens = body.ignored;
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct PagesBody {
    items: Option<usize>,
}

fn pages(cloud: &AwsCloud) -> Value {
    json!({"items": cloud.aws_state().controls.page_items})
}

fn set_pages(cloud: &AwsCloud, body: PagesBody) -> Result<(), String> {
    if body.items == Some(0) {
        return Err("a page has at least one item".into());
    }
    cloud.aws_state().controls.page_items = body.items;
    Ok(())
}

/// Only the names of the roles: what they demand is between them and their callers.
fn external_ids(cloud: &AwsCloud) -> Value {
    json!({"roles": cloud.aws_state().controls.external_ids.keys().collect::<Vec<_>>()})
}

fn set_external_ids(cloud: &AwsCloud, ids: BTreeMap<String, String>) -> Result<(), String> {
    if ids.len() > EXTERNAL_IDS_MAX {
        return Err(format!("there can be at most {EXTERNAL_IDS_MAX} external ids"));
    }
    cloud.aws_state().controls.external_ids = ids;
    Ok(())
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

/// What was made stays, because the ledger says that it is there.
async fn reset(State(cloud): SharedCloud) -> StatusCode {
    let mut aws_state = cloud.aws_state();
    aws_state.controls = AwsControls::default();
    aws_state.faults.clear(None);
    aws_state.calls = Calls::default();
    StatusCode::NO_CONTENT
}
