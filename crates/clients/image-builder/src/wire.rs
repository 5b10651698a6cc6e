//! Wire types of Image Builder, and their conversion.

use cloud::Architecture;
use engine::Timestamp;
use http_client::shorten;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::types::{BuildStatus, Compose, ListedImages, Upload, UploadStatus};

/// How deep nested errors are read.
const NESTED_MAX: usize = 8;
/// These only say that something below them failed: depsolving, the manifest, a job, a target.
const WRAPPERS: [i64; 4] = [5, 9, 26, 28];
const WITHOUT_WORDS: &str = "the build failed, and image builder does not say why";

#[derive(Deserialize)]
pub(super) struct Submitted {
    pub(super) id: Uuid,
}

#[derive(Deserialize)]
pub(super) struct StatusBody {
    image_status: ImageStatus,
    #[serde(default)]
    request: Value,
}

#[derive(Deserialize)]
struct ImageStatus {
    status: BuildStatus,
    #[serde(default)]
    progress: Option<BuildProgress>,
    #[serde(default)]
    upload_status: Option<UploadBody>,
    #[serde(default)]
    error: Option<BuildErrorBody>,
}

#[derive(Deserialize)]
struct BuildProgress {
    done: u32,
    total: u32,
}

#[derive(Deserialize)]
struct UploadBody {
    status: UploadStatus,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    options: Value,
}

#[derive(Deserialize)]
struct BuildErrorBody {
    #[serde(default)]
    id: i64,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    details: Value,
}

#[derive(Deserialize)]
pub(super) struct ListBody {
    pub(super) meta: Meta,
    pub(super) data: Vec<ListedBody>,
}

#[derive(Deserialize)]
pub(super) struct Meta {
    pub(super) count: u64,
}

#[derive(Deserialize)]
pub(super) struct ListedBody {
    id: Uuid,
    created_at: Timestamp,
    #[serde(default)]
    image_name: Option<String>,
    #[serde(default)]
    request: Value,
}

impl From<StatusBody> for Compose {
    fn from(body: StatusBody) -> Compose {
        let StatusBody { image_status, request } = body;
        let image = &request["image_requests"][0];
        let error = match image_status.error {
            Some(failure) => failure.message(0).or_else(|| without_words(image_status.status)),
            None => without_words(image_status.status),
        };
        Compose {
            status: image_status.status,
            progress: image_status.progress.map(|progress| (progress.done, progress.total)),
            upload: image_status.upload_status.map(Upload::from),
            error,
            architecture: Architecture::deserialize(&image["architecture"]).ok(),
            image_type: image["image_type"].as_str().map(str::to_owned),
            request,
        }
    }
}

impl From<UploadBody> for Upload {
    fn from(body: UploadBody) -> Upload {
        let UploadBody { status, kind, options } = body;
        Upload { status, kind, ami: text(&options["ami"]), region: text(&options["region"]), options }
    }
}

impl From<ListedBody> for ListedImages {
    fn from(body: ListedBody) -> ListedImages {
        let ListedBody { id, created_at, image_name, request } = body;
        let description = text(&request["image_description"]);
        ListedImages {
            id,
            created_at,
            image_name: image_name.filter(|name| !name.is_empty()),
            description,
            request,
        }
    }
}

impl BuildErrorBody {
    /// The reason. One that only points at another is followed by that other, and one that is empty gives way to
    /// what the details say.
    fn message(&self, depth: usize) -> Option<String> {
        let reason = self.reason.as_deref().map(shorten).filter(|reason| !reason.is_empty());
        if reason.is_some() && !WRAPPERS.contains(&self.id) {
            return reason;
        }
        let below = if depth < NESTED_MAX { nested(&self.details, depth + 1) } else { None };
        match (reason, below) {
            (Some(reason), Some(below)) if reason != below => Some(shorten(&format!("{reason}: {below}"))),
            (reason, below) => reason.or(below),
        }
    }
}

/// The first error in the details, which may be one, a list of them, or plain words.
fn nested(details: &Value, depth: usize) -> Option<String> {
    let first = match details {
        Value::Array(items) => items.first()?,
        other => other,
    };
    match first {
        Value::String(words) => Some(shorten(words)).filter(|words| !words.is_empty()),
        Value::Object(_) => BuildErrorBody::deserialize(first).ok()?.message(depth),
        _ => None,
    }
}

fn without_words(status: BuildStatus) -> Option<String> {
    (status == BuildStatus::Failure).then(|| WITHOUT_WORDS.to_owned())
}

/// Image Builder writes an empty text for what it does not know yet.
fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
