//! Word from outside that an image may be ready. A hint is believed in nothing: it only makes the launch look, and
//! what the Image Builder answers then decides. So a hint that comes twice, early, late or from nowhere does no harm.

use engine::store::{ResourceQuery, ResourceRow, StoreError};
use engine::{Engine, Phase, Resource, SubmitError};
use identity;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::numbers;
use super::record::LaunchRecord;

/// What became of a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventResult {
    /// So many launches look now.
    Told(usize),
    /// What is not waited for, and why.
    Ignored(&'static str),
}

#[derive(Debug, thiserror::Error)]
pub enum ImageEventError {
    /// It can never be read. It belongs to the dead letters.
    #[error("the event cannot be read: {0}")]
    Malformed(String),
    /// Come back with the same hint.
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

impl From<StoreError> for ImageEventError {
    fn from(error: StoreError) -> ImageEventError {
        ImageEventError::Submit(error.into())
    }
}

/// Events are short; the options of an upload are the longest part.
const EVENT_BYTES_MAX: usize = 64 * 1024;
const ORG_CHARS_MAX: usize = 64;
/// So many launches may wait for one image.
const LAUNCHES_MAX: usize = 1000;

/// The Image Builder's side says that the image of a launch may be ready.
pub async fn image_ready(engine: &Engine, launch: Uuid) -> Result<EventResult, ImageEventError> {
    let row = engine.resource(&LaunchRecord::resource(launch)).await?;
    match row.filter(|row| row.kind == LaunchRecord::KIND) {
        None => Ok(EventResult::Ignored("there is no such launch")),
        Some(row) if !is_under_way(&row) => Ok(EventResult::Ignored("the launch is over")),
        Some(_) => {
            engine.signal(&LaunchRecord::image_of(launch), Value::Null).await?;
            Ok(EventResult::Told(1))
        }
    }
}

/// The same by the id of the build, for every launch that waits for it. Launches of another organisation than the
/// one that is named do not hear of it.
pub async fn compose_ready(
    engine: &Engine,
    compose: Uuid,
    org: Option<&str>,
) -> Result<EventResult, ImageEventError> {
    let query = ResourceQuery {
        kind: LaunchRecord::KIND.to_owned(),
        labels: vec![("compose".to_owned(), vec![compose.to_string()])],
        limit: LAUNCHES_MAX,
        ..ResourceQuery::default()
    };
    let rows = engine.resources(&query).await?.rows;
    if rows.is_empty() {
        return Ok(EventResult::Ignored("no launch waits for this image"));
    }
    let is_ours = |row: &&ResourceRow| org.is_none_or(|org| is_of(row, org));
    let ours: Vec<&ResourceRow> = rows.iter().filter(is_ours).collect();
    if ours.is_empty() {
        return Ok(EventResult::Ignored("the launch that waits for this image is another organisation's"));
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
    Ok(if told == 0 {
        EventResult::Ignored("the launches of this image are over")
    } else {
        EventResult::Told(told)
    })
}

/// A message about a build. `identity` is its header `x-rh-identity`, where it has one.
pub async fn from_event(
    engine: &Engine,
    payload: &[u8],
    identity: Option<&str>,
) -> Result<EventResult, ImageEventError> {
    let event = ImageEvent::parse(payload).map_err(ImageEventError::Malformed)?;
    let sender = identity.and_then(|header| identity::parse(header).ok()).and_then(|sender| sender.org);
    if let (Some(sender), Some(named)) = (&sender, &event.org)
        && sender != named
    {
        return Ok(EventResult::Ignored("the sender belongs to another organisation than the event"));
    }
    if event.is_under_way {
        return Ok(EventResult::Ignored("the build is still running"));
    }
    match event.about {
        BuildStatusKind::Launch(launch) => image_ready(engine, launch).await,
        BuildStatusKind::Compose(compose) => {
            compose_ready(engine, compose, event.org.or(sender).as_deref()).await
        }
    }
}

/// What a message says. Only the id is needed; everything else may be missing or have a form of its own, because the
/// launch looks for itself.
#[derive(Debug, PartialEq, Eq)]
struct ImageEvent {
    about: BuildStatusKind,
    org: Option<String>,
    /// Its status is one of a build that is not over. Any other status is a reason to look.
    is_under_way: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum BuildStatusKind {
    Compose(Uuid),
    Launch(Uuid),
}

/// The states of a build that is not over.
const UNDER_WAY: [&str; 4] = ["pending", "building", "uploading", "registering"];

impl ImageEvent {
    fn parse(payload: &[u8]) -> Result<ImageEvent, String> {
        if payload.len() > EVENT_BYTES_MAX {
            return Err(format!("it has more than {EVENT_BYTES_MAX} bytes"));
        }
        let fields: Map<String, Value> =
            serde_json::from_slice(payload).map_err(|error| format!("it must be a JSON object: {error}"))?;
        let text = |field: &str| fields.get(field).and_then(Value::as_str);
        let is_org = |org: &&str| {
            (1..=ORG_CHARS_MAX).contains(&org.len()) && org.bytes().all(|byte| byte.is_ascii_graphic())
        };
        Ok(ImageEvent {
            about: about(&fields)?,
            org: text("org_id").filter(is_org).map(str::to_owned),
            is_under_way: text("status").is_some_and(|status| UNDER_WAY.contains(&status)),
        })
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

/// The build is preferred, because several launches may wait for it.
fn about(fields: &Map<String, Value>) -> Result<BuildStatusKind, String> {
    let mut wrong = None;
    for (field, make) in [
        ("compose_id", BuildStatusKind::Compose as fn(Uuid) -> BuildStatusKind),
        ("launch_id", BuildStatusKind::Launch),
    ] {
        let Some(value) = fields.get(field).filter(|value| !value.is_null()) else { continue };
        match value.as_str().and_then(|text| Uuid::try_parse(text).ok()) {
            Some(id) => return Ok(make(id)),
            None => wrong = wrong.or(Some(format!("{field}: must be a UUID as text"))),
        }
    }
    Err(wrong.unwrap_or_else(|| {
        "compose_id: missing; name the build with compose_id or the launch with launch_id".to_owned()
    }))
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

    const COMPOSE: Uuid = Uuid::from_u128(0x0192_f0c1_2a3b_7c4d_8e5f_0011_2233_4455);

    fn read(event: &Value) -> Result<ImageEvent, String> {
        ImageEvent::parse(event.to_string().as_bytes())
    }

    #[test]
    fn an_event_of_the_right_form_is_read() {
        let org = Some("000013".to_owned());
        let expected = ImageEvent { about: BuildStatusKind::Compose(COMPOSE), org, is_under_way: false };
        assert_eq!(read(&event()), Ok(expected));
    }

    #[test]
    fn everything_but_the_id_may_be_missing_or_have_another_form() {
        let bare = ImageEvent { about: BuildStatusKind::Compose(COMPOSE), org: None, is_under_way: false };
        assert_eq!(read(&json!({"compose_id": COMPOSE})), Ok(bare));
        let launch = read(&json!({"launch_id": COMPOSE, "compose_id": null})).unwrap();
        assert_eq!(launch.about, BuildStatusKind::Launch(COMPOSE));
        assert_eq!(read(&json!({"launch_id": COMPOSE, "compose_id": 7})).unwrap().about, launch.about);
        for (key, value) in [
            ("event_id", Value::Null),
            ("status", json!("done")),
            ("status", json!({"state": "success"})),
            ("upload", json!({})),
            ("upload", json!([1])),
            ("error", json!(7)),
            ("occurred_at", json!("yesterday")),
        ] {
            let mut event = event();
            event[key] = value;
            assert!(read(&event).is_ok_and(|read| !read.is_under_way && read.org.is_some()), "{event}");
        }
        for org in [json!(13), json!("a b"), json!("")] {
            let mut event = event();
            event["org_id"] = org;
            assert_eq!(read(&event).unwrap().org, None, "{event}");
        }
    }

    #[test]
    fn an_event_that_names_no_launch_is_refused_with_its_field() {
        let long = json!({"compose_id": COMPOSE, "x": "x".repeat(EVENT_BYTES_MAX)}).to_string();
        for (payload, part) in [
            ("{", "EOF"),
            ("[]", "a JSON object"),
            (&format!("{} {{}}", event()), "trailing"),
            (&long, "bytes"),
            ("{}", "compose_id: missing"),
            (r#"{"compose_id": "1"}"#, "compose_id: must be a UUID"),
            (r#"{"launch_id": 7}"#, "launch_id: must be a UUID"),
        ] {
            let error = ImageEvent::parse(payload.as_bytes()).unwrap_err();
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
