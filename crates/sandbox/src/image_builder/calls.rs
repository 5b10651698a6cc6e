//! What each call to Image Builder does.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;

use super::build::Build;
use super::{BASE, COMPOSE, ImageBuilder, admission, catalog};
use crate::identity_header::{IdentityError, IdentityHeader, Window};

const LIMIT_MAX: usize = 100;

pub(super) async fn submit(
    State(builder): State<Arc<ImageBuilder>>,
    who: IdentityHeader,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, IdentityError> {
    let content = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if content.split(';').next().map(str::trim) != Some("application/json") {
        return Err(IdentityError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "only application/json is understood",
        ));
    }
    let request: Value = serde_json::from_slice(&body)
        .map_err(|error| IdentityError::bad_request(format!("the body is not JSON: {error}")))?;
    let fields = admission::shape(&request)?;
    let now = builder.clock.now();
    let mut builds = builder.settled();
    builds.check_quota(&who.org, now)?;
    let admitted = admission::admit(fields, &who, |source| builder.sources.aws_account(&who.org, source))?;
    let build = builds.add(&who.org, fields, admitted, now)?;
    let id = build.id;
    let described = format!("{}: {}", build.org, build.admitted.image_name.as_deref().unwrap_or_default());
    builder.ledger.make(COMPOSE, &id.to_string(), &described);
    drop(builds);
    builder.woken.notify_one();
    Ok((StatusCode::CREATED, Json(json!({"id": id}))).into_response())
}

pub(super) async fn show(
    State(builder): State<Arc<ImageBuilder>>,
    who: IdentityHeader,
    Path(id): Path<String>,
) -> Result<Json<Value>, IdentityError> {
    let now = builder.clock.now();
    let mut builds = builder.settled();
    Ok(Json(builds.owned(&id, &who.org)?.body(now)))
}

pub(super) async fn hide(
    State(builder): State<Arc<ImageBuilder>>,
    who: IdentityHeader,
    Path(id): Path<String>,
) -> Result<StatusCode, IdentityError> {
    let mut builds = builder.settled();
    let build = builds.owned(&id, &who.org)?;
    build.is_hidden = true;
    builder.ledger.take_back(COMPOSE, &build.id.to_string());
    Ok(StatusCode::OK)
}

pub(super) async fn list(
    State(builder): State<Arc<ImageBuilder>>,
    who: IdentityHeader,
    Query(asked): Query<HashMap<String, String>>,
) -> Result<Json<Value>, IdentityError> {
    let text = |name: &str| asked.get(name).map(String::as_str);
    let window = Window::read(text("limit"), text("offset"), LIMIT_MAX, LIMIT_MAX)?;
    let ignored: Vec<&str> =
        text("ignoreImageTypes").into_iter().flat_map(|types| types.split(',')).collect();
    let now = builder.clock.now();
    let builds = builder.settled();
    let all: Vec<&Build> = builds.listed(&who.org, &ignored, now).collect();
    let (count, limit) = (all.len(), window.limit);
    let link = |offset| format!("{BASE}/composes?limit={limit}&offset={offset}");
    let data: Vec<Value> = window.of(all).into_iter().map(entry).collect();
    Ok(Json(json!({
        "meta": {"count": count},
        "links": {"first": link(0), "last": link(count.saturating_sub(1) / limit * limit)},
        "data": data,
    })))
}

fn entry(build: &Build) -> Value {
    let request = build.request();
    json!({
        "id": build.id,
        "created_at": build.created_at.format(&Rfc3339).unwrap_or_default(),
        "image_name": build.admitted.image_name,
        "client_id": request.get("client_id").cloned().unwrap_or_else(|| json!("api")),
        "blueprint_id": null,
        "blueprint_version": null,
        "request": request,
    })
}

pub(super) async fn distributions(who: IdentityHeader) -> Json<Value> {
    Json(catalog::distributions(&who))
}

pub(super) async fn architectures(
    who: IdentityHeader,
    Path(distribution): Path<String>,
) -> Result<Json<Value>, IdentityError> {
    catalog::allowed(&distribution, &who)?;
    Ok(Json(catalog::architectures()))
}

pub(super) async fn ready() -> Json<Value> {
    Json(json!({"readiness": "ready"}))
}

pub(super) async fn version() -> Json<Value> {
    Json(json!({"version": "1.0", "build_commit": "sandbox", "build_time": "N/A"}))
}
