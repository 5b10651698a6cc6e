//! The params of a delivery: the notice and its target.

use std::collections::BTreeSet;

use engine::Timestamp;
use engine::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;
use uuid::Uuid;

use super::channel::Target;

const NAME_CHARS_MAX: usize = 128;
const ERROR_CHARS_MAX: usize = 2000;
/// One for each instance of a launch. A launch may have more: see [`Notice::parts`].
const EVENTS_MAX: usize = 500;
/// Params stand deep inside rows, and what is too deep there can never be read again.
const DEPTH_MAX: usize = 16;

/// One thing that others want to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Notice {
    /// The same however often it is told, and however many hear it.
    pub id: Uuid,
    /// The organisation that it is about.
    pub org: String,
    /// Its account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// When it happened.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// What happened.
    pub about: NoticeSubject,
    /// The ways it goes; all that are configured when none is named.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub targets: BTreeSet<Target>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum NoticeSubject {
    /// How a launch ended.
    Launch {
        /// Such as `launch-success`.
        event: String,
        /// Which launch, and in which cloud.
        launch: String,
        provider: String,
        /// One for each instance, or one with the error.
        events: Vec<Value>,
    },
    /// Whether the cloud account behind a source can be used. Only the hosted platform wants to know.
    SourceStatus {
        /// The id of our application at the source, by which the platform knows it.
        application: String,
        is_available: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

impl Notice {
    pub(crate) fn goes_to(&self, target: Target) -> bool {
        let is_meant = self.targets.is_empty() || self.targets.contains(&target);
        is_meant && target.tells(&self.about)
    }

    /// The notice in parts that are small enough to be delivered. The first one has its id; the ids of the others follow
    /// from it, so that each part is delivered once.
    pub(crate) fn parts(&self) -> Vec<Notice> {
        let NoticeSubject::Launch { event, launch, provider, events } = &self.about else {
            return vec![self.clone()];
        };
        if events.len() <= EVENTS_MAX {
            return vec![self.clone()];
        }
        let part = |(number, events): (usize, &[Value])| Notice {
            id: if number == 0 { self.id } else { part_id(self.id, number) },
            about: NoticeSubject::Launch {
                event: event.clone(),
                launch: launch.clone(),
                provider: provider.clone(),
                events: events.to_vec(),
            },
            ..self.clone()
        };
        events.chunks(EVENTS_MAX).enumerate().map(part).collect()
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        name("org", &self.org)?;
        self.account.as_deref().map_or(Ok(()), |account| name("account", account))?;
        match &self.about {
            NoticeSubject::Launch { event, launch, provider, events } => {
                name("about.event", event)?;
                name("about.launch", launch)?;
                name("about.provider", provider)?;
                if events.len() > EVENTS_MAX {
                    return Err(format!("about.events may have {EVENTS_MAX} entries and not more"));
                }
                if events.iter().any(|event| is_deeper(event, DEPTH_MAX)) {
                    return Err(format!("about.events may be nested {DEPTH_MAX} times and not more"));
                }
            }
            NoticeSubject::SourceStatus { application, error, .. } => {
                name("about.application", application)?;
                if error.as_ref().is_some_and(|error| error.chars().count() > ERROR_CHARS_MAX) {
                    return Err(format!("about.error may have {ERROR_CHARS_MAX} characters and not more"));
                }
            }
        }
        Ok(())
    }
}

fn part_id(id: Uuid, number: usize) -> Uuid {
    let digest = Sha256::new().chain_update(id.as_bytes()).chain_update(number.to_be_bytes()).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// Goes into headers and keys as it is.
fn name(field: &str, text: &str) -> Result<(), String> {
    if (1..=NAME_CHARS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    Err(format!("{field} must have 1 to {NAME_CHARS_MAX} visible ASCII characters without spaces"))
}

fn is_deeper(value: &Value, than: usize) -> bool {
    match value {
        Value::Array(items) => than == 0 || items.iter().any(|item| is_deeper(item, than - 1)),
        Value::Object(map) => than == 0 || map.values().any(|item| is_deeper(item, than - 1)),
        _ => false,
    }
}
