//! Notices in the words of the hosted platform. The same notice always gives the same bytes.

use engine::Timestamp;
use engine::secret::ExposeSecret;
use identity::{self, Organisation};
use kafka::Message;
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use super::channel::Kafka;
use super::params::{Notice, NoticeSubject};

const VERSION: &str = "v2.0.0";
const BUNDLE: &str = "rhel";
const APPLICATION: &str = "image-builder";
/// The platform reads a time without a zone, and takes it as UTC.
const TIME: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]");

#[derive(Serialize)]
struct Notification<'a> {
    version: &'static str,
    bundle: &'static str,
    application: &'static str,
    event_type: &'a str,
    timestamp: String,
    account_id: &'a str,
    org_id: &'a str,
    context: Context<'a>,
    events: Vec<NoticeEvent<'a>>,
    recipients: [(); 0],
    id: String,
}

#[derive(Serialize)]
struct Context<'a> {
    launch_id: Value,
    provider: &'a str,
}

#[derive(Serialize)]
struct NoticeEvent<'a> {
    payload: &'a Value,
}

#[derive(Serialize)]
struct Availability<'a> {
    resource_id: &'a str,
    resource_type: &'static str,
    status: &'static str,
    error: &'a str,
}

/// The document that says it.
pub(crate) fn document(notice: &Notice) -> Result<String, String> {
    let text = match &notice.about {
        NoticeSubject::Launch { event, launch, provider, events } => serde_json::to_string(&Notification {
            version: VERSION,
            bundle: BUNDLE,
            application: APPLICATION,
            event_type: event,
            timestamp: timestamp(notice.at),
            account_id: notice.account.as_deref().unwrap_or_default(),
            org_id: &notice.org,
            context: Context { launch_id: number_or_text(launch), provider },
            events: events.iter().map(|payload| NoticeEvent { payload }).collect(),
            recipients: [],
            id: notice.id.to_string(),
        }),
        NoticeSubject::SourceStatus { application, is_available, error } => {
            serde_json::to_string(&Availability {
                resource_id: application,
                resource_type: "Application",
                status: if *is_available { "available" } else { "unavailable" },
                error: error.as_deref().unwrap_or_default(),
            })
        }
    };
    text.map_err(|error| format!("the notice cannot be written: {error}"))
}

/// The hosted service sends the number of a reservation as a number.
fn number_or_text(id: &str) -> Value {
    id.parse::<i64>().map_or_else(|_| id.into(), Value::from)
}

/// The same as a message for Kafka.
pub(crate) fn message(notice: &Notice, kafka: &Kafka) -> Result<Message, String> {
    let owner = Organisation { org: notice.org.clone(), account: notice.account.clone() };
    let identity = identity::header(&owner);
    let mut headers = vec![("rh-message-id", notice.id.to_string())];
    let (topic, key) = match &notice.about {
        NoticeSubject::Launch { .. } => (&kafka.topic, None),
        NoticeSubject::SourceStatus { application, .. } => {
            headers.extend([
                ("content-type", "application/json".to_owned()),
                ("x-rh-sources-org-id", notice.org.clone()),
                ("x-rh-sources-account-number", notice.account.clone().unwrap_or_default()),
                ("event_type", "availability_status".to_owned()),
            ]);
            (&kafka.status_topic, Some(application.clone()))
        }
    };
    headers.push(("x-rh-identity", identity.expose_secret().to_owned()));
    let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Ok(Message { topic: topic.clone(), key, payload: document(notice)?, headers })
}

fn timestamp(at: Timestamp) -> String {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(at.0) * 1000)
        .ok()
        .and_then(|at| at.format(TIME).ok())
        .unwrap_or_else(|| at.to_string())
}
