//! Word from outside that an image may be ready. A hint is believed in nothing: it only makes the launch look, and
//! what the Image Builder answers then decides. So a hint that comes twice, early, late or from nowhere does no harm.

use drivers::identity;
use engine::store::{ResourceQuery, ResourceRow, StoreError};
use engine::{Engine, Phase, Resource, SubmitError, Timestamp};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::numbers;
use super::record::LaunchRecord;

/// What became of a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// So many launches look now.
    Told(usize),
    /// Nobody waits for this, and why.
    Ignored(&'static str),
}

#[derive(Debug, thiserror::Error)]
pub enum HintError {
    /// It can never be read. It belongs to the dead letters.
    #[error("the event cannot be read: {0}")]
    Malformed(String),
    /// Come back with the same hint.
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

impl From<StoreError> for HintError {
    fn from(error: StoreError) -> HintError {
        HintError::Submit(error.into())
    }
}

/// Events are short; the options of an upload are the longest part.
const EVENT_BYTES_MAX: usize = 64 * 1024;
const ID_CHARS_MAX: usize = 255;
const ORG_CHARS_MAX: usize = 64;
/// So many launches may wait for one image.
const LAUNCHES_MAX: usize = 1000;

/// The Image Builder's side says that the image of a launch may be ready.
pub async fn image_ready(engine: &Engine, launch: Uuid) -> Result<Heard, HintError> {
    let row = engine.resource(&LaunchRecord::resource(launch)).await?;
    match row.filter(|row| row.kind == LaunchRecord::KIND) {
        None => Ok(Heard::Ignored("there is no such launch")),
        Some(row) if !is_under_way(&row) => Ok(Heard::Ignored("the launch is over")),
        Some(_) => {
            engine.signal(&LaunchRecord::image_of(launch), Value::Null).await?;
            Ok(Heard::Told(1))
        }
    }
}

/// The same by the id of the build, for every launch that waits for it. Launches of another organisation than the
/// one that is named do not hear of it.
pub async fn compose_ready(engine: &Engine, compose: Uuid, org: Option<&str>) -> Result<Heard, HintError> {
    let query = ResourceQuery {
        kind: LaunchRecord::KIND.to_owned(),
        labels: vec![("compose".to_owned(), vec![compose.to_string()])],
        limit: LAUNCHES_MAX,
        ..ResourceQuery::default()
    };
    let rows = engine.resources(&query).await?.rows;
    if rows.is_empty() {
        return Ok(Heard::Ignored("no launch waits for this image"));
    }
    let is_ours = |row: &&ResourceRow| org.is_none_or(|org| is_of(row, org));
    let ours: Vec<&ResourceRow> = rows.iter().filter(is_ours).collect();
    if ours.is_empty() {
        return Ok(Heard::Ignored("the launch that waits for this image is another organisation's"));
    }
    let mut told = 0;
    for row in ours.into_iter().filter(|row| is_under_way(row)) {
        // The key of the signal is the name of the resource with a word behind it.
        let Some(launch) = row.name.strip_prefix("launch:").and_then(|id| Uuid::try_parse(id).ok()) else {
            continue;
        };
        engine.signal(&LaunchRecord::image_of(launch), Value::Null).await?;
        told += 1;
    }
    Ok(if told == 0 { Heard::Ignored("the launches of this image are over") } else { Heard::Told(told) })
}

/// A message about a build. `identity` is its header `x-rh-identity`, where it has one.
pub async fn from_event(engine: &Engine, payload: &[u8], identity: Option<&str>) -> Result<Heard, HintError> {
    let event = Event::parse(payload).map_err(HintError::Malformed)?;
    if let Some(header) = identity {
        let sender = identity::parse(header).map_err(|error| HintError::Malformed(error.to_string()))?;
        if sender.org.as_deref() != Some(event.org_id.as_str()) {
            return Ok(Heard::Ignored("the sender belongs to another organisation than the event"));
        }
    }
    if !event.status.is_over() {
        return Ok(Heard::Ignored("the build goes on"));
    }
    compose_ready(engine, event.compose_id, Some(&event.org_id)).await
}

/// What a message says. Fields that are not known here are left alone; what is known must be right.
#[derive(Debug, Deserialize)]
struct Event {
    event_id: String,
    compose_id: Uuid,
    org_id: String,
    status: Status,
    #[serde(default)]
    upload: Option<Upload>,
    #[serde(default)]
    error: Option<Value>,
    occurred_at: Timestamp,
}

#[derive(Debug, Deserialize)]
struct Upload {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    options: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    Building,
    Uploading,
    Registering,
    Success,
    Failure,
}

impl Status {
    fn is_over(self) -> bool {
        matches!(self, Status::Success | Status::Failure)
    }
}

impl Event {
    fn parse(payload: &[u8]) -> Result<Event, String> {
        if payload.len() > EVENT_BYTES_MAX {
            return Err(format!("it has more than {EVENT_BYTES_MAX} bytes"));
        }
        let mut reader = serde_json::Deserializer::from_slice(payload);
        let event: Event =
            serde_path_to_error::deserialize(&mut reader).map_err(|error| error.to_string())?;
        reader.end().map_err(|error| error.to_string())?;
        event.check()?;
        Ok(event)
    }

    fn check(&self) -> Result<(), String> {
        let is_name = |text: &str, most: usize| {
            (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        if !is_name(&self.event_id, ID_CHARS_MAX) {
            return Err(format!("event_id: must have 1 to {ID_CHARS_MAX} visible characters"));
        }
        if !is_name(&self.org_id, ORG_CHARS_MAX) {
            return Err(format!("org_id: must have 1 to {ORG_CHARS_MAX} visible characters"));
        }
        if let Some(upload) = &self.upload {
            if !is_name(&upload.kind, ID_CHARS_MAX) {
                return Err(format!("upload.type: must have 1 to {ID_CHARS_MAX} visible characters"));
            }
            if !upload.options.is_object() && !upload.options.is_null() {
                return Err("upload.options: must be an object".to_owned());
            }
        }
        if self
            .error
            .as_ref()
            .is_some_and(|error| !(error.is_object() || error.is_string() || error.is_null()))
        {
            return Err("error: must be a text or an object".to_owned());
        }
        if self.occurred_at < Timestamp(0) {
            return Err("occurred_at: is before 1970".to_owned());
        }
        Ok(())
    }
}

/// Whether a launch belongs to an organisation of the Image Builder, which may have another name here.
fn is_of(row: &ResourceRow, org: &str) -> bool {
    let builder_org = || numbers::read::<LaunchRecord>(row).ok().and_then(|record| record.builder_org);
    match row.tenant.strip_prefix("org:") {
        Some(tenant) if tenant == org => builder_org().is_none_or(|known| known == org),
        _ => builder_org().is_some_and(|known| known == org),
    }
}

fn is_under_way(row: &ResourceRow) -> bool {
    row.gone_at.is_none() && row.phase.is_some_and(|phase| !phase.is_final() && phase != Phase::Stuck)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event() -> Value {
        json!({
            "event_id": "e-1",
            "compose_id": "0192f0c1-2a3b-7c4d-8e5f-001122334455",
            "org_id": "000013",
            "status": "success",
            "upload": {"type": "aws", "options": {"ami": "ami-1"}},
            "error": null,
            "occurred_at": "2026-01-02T03:04:05Z",
            "something_new": true,
        })
    }

    #[test]
    fn an_event_of_the_right_form_is_read() {
        let read = Event::parse(event().to_string().as_bytes()).unwrap();
        assert_eq!((read.org_id.as_str(), read.status), ("000013", Status::Success));
    }

    #[test]
    fn what_is_wrong_with_an_event_is_told_with_its_field() {
        let with = |key: &str, value: Value| {
            let mut event = event();
            event[key] = value;
            event.to_string()
        };
        let long = "x".repeat(EVENT_BYTES_MAX);
        for (payload, part) in [
            ("{".to_owned(), "EOF"),
            (format!("{} {{}}", event()), "trailing"),
            (with("upload", json!({"type": "aws", "options": {"x": long}})), "bytes"),
            (with("compose_id", json!("1")), "compose_id"),
            (with("event_id", json!("")), "event_id"),
            (with("org_id", json!("a b")), "org_id"),
            (with("org_id", Value::Null), "org_id"),
            (with("status", json!("done")), "status"),
            (with("upload", json!({"options": {}})), "upload"),
            (with("upload", json!({"type": "aws", "options": []})), "upload.options"),
            (with("error", json!(7)), "error"),
            (with("occurred_at", json!("yesterday")), "occurred_at"),
        ] {
            let error = Event::parse(payload.as_bytes()).unwrap_err();
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
