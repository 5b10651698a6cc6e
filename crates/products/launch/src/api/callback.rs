//! `POST /image-ready` and `POST /launches/{id}/image-ready`: word from the side of the Image Builder. The signature
//! proves who says it, and still nothing of it is believed: it only makes the launch look.

use std::time::Duration;

use crate::model::image_events::{self, ImageEventError};
use crate::model::signature;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use engine::secret::ExposeSecret;
use serde::Deserialize;
use subtle::ConstantTimeEq;
use utoipa::ToSchema;
use uuid::Uuid;

use super::error;
use super::query::Name;
use super::{LaunchShared, LaunchState};
use api::Code;
use server::http::{Failure, body};

/// How old a callback may be, and how far into the future a clock may be wrong.
const WINDOW: Duration = Duration::from_secs(300);
const TIMESTAMP: &str = "provision-engine-timestamp";
const SIGNATURE: &str = "provision-engine-signature";

/// A build that came to an end.
#[derive(Debug, Deserialize, ToSchema)]
pub struct ImageReady {
    pub compose_id: Uuid,
}

/// A launch whose image may be ready. The signature covers it, so that it is of no use for another launch.
#[derive(Debug, Deserialize, ToSchema)]
pub struct LaunchImageReady {
    /// The launch that the path names.
    pub launch_id: Uuid,
}

/// Says that a build came to an end, to all launches that wait for it.
#[utoipa::path(
    post, path = "/image-ready", tag = "launches", operation_id = "image_ready",
    params(("Provision-Engine-Timestamp" = i64, Header, description = "Seconds since 1970."),
           ("Provision-Engine-Signature" = String, Header,
            description = "`v1=` and the HMAC with SHA-256 of the time, a dot and the body, in hex.")),
    request_body = ImageReady,
    responses((status = ACCEPTED, description = "The launches that wait for it look now."))
)]
pub(in crate::api) async fn image_ready(
    State(shared): State<LaunchState>,
    request: Request,
) -> Result<StatusCode, Failure> {
    let body = signed(&shared, request).await?;
    let ready: ImageReady = body::parse_object(&body)?;
    received(image_events::compose_ready(&shared.app.engine, ready.compose_id, None).await)
}

/// The same for one launch, which the signed body names as well as the path.
#[utoipa::path(
    post, path = "/launches/{id}/image-ready", tag = "launches", operation_id = "launch_image_ready",
    params(("id" = Uuid, Path, description = "The id of the launch."),
           ("Provision-Engine-Timestamp" = i64, Header, description = "Seconds since 1970."),
           ("Provision-Engine-Signature" = String, Header, description = "As for `/image-ready`.")),
    request_body = LaunchImageReady,
    responses((status = ACCEPTED, description = "It looks now."))
)]
pub(in crate::api) async fn launch_image_ready(
    State(shared): State<LaunchState>,
    Name(name): Name,
    request: Request,
) -> Result<StatusCode, Failure> {
    let body = signed(&shared, request).await?;
    let ready: LaunchImageReady = body::parse_object(&body)?;
    let launch = Uuid::try_parse(&name).map_err(|_| error::not_found("launch"))?;
    if ready.launch_id != launch {
        return Err(error::invalid("launch_id", "it names another launch than the path"));
    }
    received(image_events::image_ready(&shared.app.engine, launch).await)
}

/// Who asks learns nothing about which launches there are.
fn received(outcome: Result<image_events::EventResult, ImageEventError>) -> Result<StatusCode, Failure> {
    match outcome {
        Ok(_) => Ok(StatusCode::ACCEPTED),
        Err(error) => {
            tracing::warn!(%error, "image callback not processed");
            Err(error::unavailable("the callback cannot be saved now"))
        }
    }
}

async fn signed(shared: &LaunchState, request: Request) -> Result<Bytes, Failure> {
    let headers = request.headers().clone();
    let body = body::read(request, shared.api_parts.body_limit_bytes).await?;
    let is_genuine = verify(shared, &headers, &body).unwrap_or(false);
    let refused = || Failure::new(Code::BadSignature, "the signature is missing or wrong");
    is_genuine.then_some(body).ok_or_else(refused)
}

/// Nothing where something is missing.
fn verify(shared: &LaunchShared, headers: &HeaderMap, body: &[u8]) -> Option<bool> {
    let secret =
        shared.api_parts.callback_secret.as_ref().filter(|secret| !secret.expose_secret().is_empty())?;
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let seconds: i64 = text(TIMESTAMP)?.parse().ok()?;
    let age = (shared.app.engine.now().millis() / 1000).checked_sub(seconds)?.unsigned_abs();
    let expected = signature(secret, seconds, body);
    let is_same = expected.as_bytes().ct_eq(text(SIGNATURE)?.as_bytes());
    Some(bool::from(is_same) && age <= WINDOW.as_secs())
}
