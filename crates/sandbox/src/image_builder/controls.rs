//! What people turn and look at, below `/image-builder`.
//!
//! | path | body | what it does |
//! |---|---|---|
//! | `delay_times` | `pending_ms`, `building_ms`, `uploading_ms`, `registering_ms` | how long new builds take |
//! | `quota` | `builds` | how many an organisation may begin in 14 days |
//! | `region` | `region` | where new images are made in AWS |
//! | `latency` | `latency_ms` | every call waits |
//! | `errors` | `every`, `status` | every n-th call is not carried out |
//! | `faults/lose` | `times`, `after` | the next POST is carried out, and its answer is lost |
//! | `faults/fail` | `at`, `error`, `times`, `after`, `about` | the next build fails at the end of a status |
//! | `faults/hold` | `times`, `after`, `about` | the next build stays building until it is released |
//! | `faults/no_upload` | `times`, `after`, `about` | the next build does not tell about its upload |
//! | `composes/{id}/release`, `/forget`, `/remember` | | let it go; answer 404 for it; know it again |
//! | `callbacks` | `url`, `secret` | who is called when a build is over |
//! | `notify` | `callbacks`, `events`, `delay_ms`, `copies` | what is sent then, how late and how often |
//! | `callbacks/send`, `events/send` | see `by_hand.rs` | send one by hand, right or wrong |
//! | `controls`, `calls`, `composes`, `notices` | | look; DELETE of the first two begins anew |

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::delay_times::BuildDelays;
use super::traffic::Errors;
use super::{ImageBuilder, by_hand};
use crate::answer::{CallError, JsonBody};
use crate::controls::delays;

const LISTED_MAX: usize = 1000;

pub(super) fn routes() -> Router<Arc<ImageBuilder>> {
    Router::new()
        .route("/image-builder/knobs", get(show).delete(reset))
        .route("/image-builder/pace", delays(delay_times))
        .route("/image-builder/quota", put(set_quota).post(set_quota))
        .route("/image-builder/region", put(set_region).post(set_region))
        .route("/image-builder/latency", put(set_latency).post(set_latency))
        .route("/image-builder/errors", put(set_errors).post(set_errors))
        .route("/image-builder/calls", get(calls).delete(forget_calls))
        .route("/image-builder/composes", get(composes))
        .route("/image-builder/composes/{id}/release", post(release))
        .route("/image-builder/composes/{id}/forget", post(forget))
        .route("/image-builder/composes/{id}/remember", post(remember))
        .merge(by_hand::routes())
}

type Builder = State<Arc<ImageBuilder>>;
type IdPath = Result<Path<Uuid>, PathRejection>;

async fn show(State(builder): Builder) -> Json<Value> {
    let traffic = builder.traffic.show();
    let builds = builder.settled();
    Json(json!({
        "pace": builds.delay_times,
        "quota": builds.quota,
        "region": builds.region,
        "traffic": traffic,
        "notify": builder.notices.settings(),
    }))
}

/// As at the beginning, except the builds, the counts and the callbacks.
async fn reset(State(builder): Builder) -> Result<StatusCode, CallError> {
    builder.settled().reset();
    builder.traffic.reset();
    builder.notices.set(super::notices::Settings::default()).map_err(CallError::bad_request)?;
    Ok(StatusCode::NO_CONTENT)
}

fn delay_times(builder: &ImageBuilder, new: Option<BuildDelays>) -> BuildDelays {
    let mut builds = builder.settled();
    builds.delay_times = new.unwrap_or(builds.delay_times);
    builds.delay_times
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuotaBody {
    builds: u32,
}

async fn set_quota(State(builder): Builder, JsonBody(body): JsonBody<QuotaBody>) -> StatusCode {
    builder.settled().quota = body.builds;
    StatusCode::NO_CONTENT
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RegionBody {
    region: String,
}

async fn set_region(State(builder): Builder, JsonBody(body): JsonBody<RegionBody>) -> StatusCode {
    builder.settled().region = body.region;
    StatusCode::NO_CONTENT
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LatencyBody {
    latency_ms: u64,
}

async fn set_latency(
    State(builder): Builder,
    JsonBody(body): JsonBody<LatencyBody>,
) -> Result<StatusCode, CallError> {
    builder.traffic.set_latency(body.latency_ms).map_err(CallError::bad_request)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn set_errors(
    State(builder): Builder,
    JsonBody(body): JsonBody<Errors>,
) -> Result<StatusCode, CallError> {
    builder.traffic.set_errors(body).map_err(CallError::bad_request)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn calls(State(builder): Builder) -> Json<Value> {
    Json(builder.traffic.counts())
}

async fn forget_calls(State(builder): Builder) -> StatusCode {
    builder.traffic.forget_counts();
    StatusCode::NO_CONTENT
}

async fn composes(State(builder): Builder) -> Json<Value> {
    let now = builder.clock.now();
    Json(json!({"composes": builder.settled().show(now, LISTED_MAX)}))
}

/// A build that is held goes on.
async fn release(State(builder): Builder, id: IdPath) -> Result<StatusCode, CallError> {
    let Path(id) = id?;
    let now = builder.clock.now();
    if !builder.settled().release(id, now) {
        return Err(CallError::new(StatusCode::NOT_FOUND, "there is no build with this id that is held"));
    }
    builder.woken.notify_one();
    Ok(StatusCode::NO_CONTENT)
}

/// From now on Image Builder does not know this build.
async fn forget(State(builder): Builder, id: IdPath) -> Result<StatusCode, CallError> {
    set_forgotten(&builder, id, true)
}

async fn remember(State(builder): Builder, id: IdPath) -> Result<StatusCode, CallError> {
    set_forgotten(&builder, id, false)
}

fn set_forgotten(builder: &ImageBuilder, id: IdPath, is_forgotten: bool) -> Result<StatusCode, CallError> {
    let Path(id) = id?;
    let mut builds = builder.settled();
    let build = builds.by_id.get_mut(&id);
    let build =
        build.ok_or_else(|| CallError::new(StatusCode::NOT_FOUND, "there is no build with this id"))?;
    build.is_forgotten = is_forgotten;
    Ok(StatusCode::NO_CONTENT)
}
