//! Callbacks and events: who gets them, what was sent, and sending one by hand, right or wrong.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

use super::ImageBuilder;
use super::notices::{BuildEvent, Callback, Seal, Settings, TOPIC, identity};
use crate::answer::{CallError, JsonBody};

const TIMES_MAX: u32 = 1000;

pub(super) fn routes() -> Router<Arc<ImageBuilder>> {
    Router::new()
        .route("/image-builder/notify", get(settings).put(set_settings).post(set_settings))
        .route("/image-builder/callbacks", get(callbacks).post(register).delete(forget))
        .route("/image-builder/callbacks/send", post(send_callback))
        .route("/image-builder/events/send", post(send_event))
        .route("/image-builder/notices", get(sent))
}

type Builder = State<Arc<ImageBuilder>>;

async fn settings(State(builder): Builder) -> Json<Settings> {
    Json(builder.notices.settings())
}

async fn set_settings(
    State(builder): Builder,
    JsonBody(settings): JsonBody<Settings>,
) -> Result<StatusCode, CallError> {
    builder.notices.set(settings).map_err(CallError::bad_request)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn callbacks(State(builder): Builder) -> Json<Value> {
    let shown = |one: &Callback| json!({"url": one.url, "is_signed": one.secret.is_some()});
    let all: Vec<Value> = builder.notices.callbacks().iter().map(shown).collect();
    Json(json!({"callbacks": all}))
}

async fn register(
    State(builder): Builder,
    JsonBody(callback): JsonBody<Callback>,
) -> Result<StatusCode, CallError> {
    builder.notices.register(callback).map_err(CallError::bad_request)?;
    Ok(StatusCode::CREATED)
}

async fn forget(State(builder): Builder) -> StatusCode {
    builder.notices.forget_callbacks();
    StatusCode::NO_CONTENT
}

async fn sent(State(builder): Builder) -> Json<Value> {
    Json(json!({"notices": builder.notices.sent()}))
}

/// What people send to `POST /image-builder/callbacks/send`. Nothing in it needs to be true.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallbackBody {
    #[serde(default)]
    compose_id: Value,
    #[serde(default = "success")]
    status: Value,
    /// In place of the body made of the two above.
    #[serde(default)]
    raw: Option<String>,
    /// In place of all who registered.
    #[serde(default)]
    url: Option<String>,
    /// In place of the secret that was registered.
    #[serde(default)]
    secret: Option<String>,
    #[serde(default)]
    unsigned: bool,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    timestamp: Option<i64>,
    #[serde(default = "once")]
    times: u32,
}

fn success() -> Value {
    json!("success")
}

fn once() -> u32 {
    1
}

/// Answers what the receivers answered.
async fn send_callback(
    State(builder): Builder,
    JsonBody(asked): JsonBody<CallbackBody>,
) -> Result<Json<Value>, CallError> {
    check_times(asked.times)?;
    let mut receivers = builder.notices.callbacks();
    if let Some(url) = asked.url {
        let secret = receivers.iter().find(|one| one.url == url).and_then(|one| one.secret.clone());
        receivers = vec![Callback { url, secret }];
    }
    let body = asked
        .raw
        .unwrap_or_else(|| json!({"compose_id": asked.compose_id, "status": asked.status}).to_string());
    let mut answers = Vec::new();
    for _ in 0..asked.times {
        for receiver in &receivers {
            let secret = asked.secret.clone().or_else(|| receiver.secret.clone());
            let (signature, timestamp) = (asked.signature.clone(), asked.timestamp);
            let seal = if asked.unsigned { Seal::default() } else { Seal { secret, signature, timestamp } };
            answers.push(builder.notices.call(&receiver.url, &body, &seal).await);
        }
    }
    Ok(Json(json!({"answers": answers})))
}

/// What people send to `POST /image-builder/events/send`. Nothing in it needs to be true.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EventBody {
    #[serde(default)]
    compose_id: Value,
    #[serde(default)]
    org_id: Value,
    #[serde(default = "success")]
    status: Value,
    #[serde(default)]
    event_id: Option<Value>,
    #[serde(default)]
    upload: Value,
    #[serde(default)]
    error: Value,
    /// In place of the payload made of those above.
    #[serde(default)]
    raw: Option<String>,
    /// The organisation in the identity header; that of the event where there is none.
    #[serde(default)]
    identity_org: Option<String>,
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    topic: Option<String>,
    #[serde(default = "once")]
    times: u32,
}

async fn send_event(
    State(builder): Builder,
    JsonBody(asked): JsonBody<EventBody>,
) -> Result<Json<Value>, CallError> {
    check_times(asked.times)?;
    let payload = json!({
        "event_id": asked.event_id.unwrap_or_else(|| json!(Uuid::now_v7())),
        "compose_id": asked.compose_id,
        "org_id": asked.org_id,
        "status": asked.status,
        "upload": asked.upload,
        "error": asked.error,
        "occurred_at": builder.clock.now().format(&Rfc3339).unwrap_or_default(),
    });
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let org = asked.identity_org.unwrap_or_else(|| text(&asked.org_id));
    let event = BuildEvent {
        topic: asked.topic.unwrap_or_else(|| TOPIC.to_owned()),
        key: asked.key.unwrap_or_else(|| text(&asked.compose_id)),
        payload: asked.raw.unwrap_or_else(|| payload.to_string()),
        headers: vec![identity(&org)],
    };
    let mut answers = Vec::new();
    for _ in 0..asked.times {
        answers.push(builder.notices.publish(&event, &builder.kafka).await);
    }
    Ok(Json(json!({"answers": answers})))
}

fn check_times(times: u32) -> Result<(), CallError> {
    if times > TIMES_MAX {
        return Err(CallError::bad_request(format!("times must be at most {TIMES_MAX}")));
    }
    Ok(())
}
