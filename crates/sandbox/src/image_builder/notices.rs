//! How Image Builder tells others that a build is over: with callbacks to those who registered, and with events in
//! Kafka. Both can be sent by hand too, at the wrong time and with the wrong content.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Client, Url};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tracing::debug;
use uuid::Uuid;

use super::signature::signature;
use crate::kafka::Kafka;

pub(super) const TOPIC: &str = "image-builder.compose.status";
const CALLBACKS_MAX: usize = 100;
/// Of those that are waiting, and of those that were sent.
const NOTICES_MAX: usize = 10_000;
const COPIES_MAX: u32 = 100;
const TIMEOUT: Duration = Duration::from_secs(5);

/// What people send to `PUT /image-builder/notify`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Settings {
    callbacks: bool,
    /// The first event starts Kafka, so a client has to want it.
    events: bool,
    /// How long after the end of a build, by the clock of the sandbox.
    delay_ms: u64,
    /// How often each is sent.
    copies: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { callbacks: true, events: false, delay_ms: 0, copies: 1 }
    }
}

/// What people send to `POST /image-builder/callbacks`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Callback {
    pub(super) url: String,
    #[serde(default)]
    pub(super) secret: Option<String>,
}

/// The end of a build, for others.
#[derive(Debug, Clone)]
pub(super) struct BuildResult {
    pub(super) compose_id: Uuid,
    pub(super) org: String,
    pub(super) status: Value,
    pub(super) upload: Value,
    pub(super) error: Value,
    pub(super) at: OffsetDateTime,
}

/// One message that went out, and what became of it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct PublishedMessage {
    kind: &'static str,
    to: String,
    body: String,
    answer: String,
}

#[derive(Debug, Default)]
struct Post {
    settings: Settings,
    callbacks: Vec<Callback>,
    waiting: VecDeque<(OffsetDateTime, BuildResult)>,
    sent: VecDeque<PublishedMessage>,
}

#[derive(Debug, Default)]
pub(super) struct Notices {
    post: Mutex<Post>,
    client: OnceLock<Client>,
}

impl Notices {
    pub(super) fn settings(&self) -> Settings {
        self.post().settings
    }

    pub(super) fn set(&self, settings: Settings) -> Result<(), String> {
        if settings.copies > COPIES_MAX {
            return Err(format!("copies must be at most {COPIES_MAX}"));
        }
        self.post().settings = settings;
        Ok(())
    }

    pub(super) fn register(&self, callback: Callback) -> Result<(), String> {
        let url = Url::parse(&callback.url).map_err(|error| format!("url cannot be read: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("url must begin with http or https".into());
        }
        let mut post = self.post();
        if post.callbacks.len() >= CALLBACKS_MAX {
            return Err(format!("at most {CALLBACKS_MAX} callbacks can be registered"));
        }
        post.callbacks.push(callback);
        Ok(())
    }

    pub(super) fn callbacks(&self) -> Vec<Callback> {
        self.post().callbacks.clone()
    }

    pub(super) fn forget_callbacks(&self) {
        self.post().callbacks.clear();
    }

    pub(super) fn sent(&self) -> Vec<PublishedMessage> {
        self.post().sent.iter().cloned().collect()
    }

    /// The end of a build waits until it is told.
    pub(super) fn put(&self, ended: BuildResult) {
        let mut post = self.post();
        let due = ended.at + Duration::from_millis(post.settings.delay_ms);
        if post.waiting.len() < NOTICES_MAX {
            post.waiting.push_back((due, ended));
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.post().waiting.is_empty()
    }

    /// Those whose time has come.
    pub(super) fn due(&self, now: OffsetDateTime) -> Vec<BuildResult> {
        let mut post = self.post();
        let (due, waiting) = std::mem::take(&mut post.waiting).into_iter().partition(|(at, _)| *at <= now);
        post.waiting = waiting;
        let due: VecDeque<(OffsetDateTime, BuildResult)> = due;
        due.into_iter().map(|(_, ended)| ended).collect()
    }

    /// Tells all who want to hear of it, as often as the settings say.
    pub(super) async fn tell(&self, ended: &BuildResult, kafka: &Kafka) {
        let Settings { callbacks, events, copies, .. } = self.settings();
        let receivers = if callbacks { self.callbacks() } else { Vec::new() };
        for _ in 0..copies {
            for callback in &receivers {
                let body = json!({"compose_id": ended.compose_id, "status": ended.status}).to_string();
                self.call(&callback.url, &body, &Seal::with(callback.secret.clone())).await;
            }
            if events {
                self.publish(&event(ended), kafka).await;
            }
        }
    }

    /// Answers the status, or why there is none.
    pub(super) async fn call(&self, url: &str, body: &str, seal: &Seal) -> String {
        let request = self.client().post(url).header("content-type", "application/json");
        let request = seal
            .headers(body)
            .into_iter()
            .fold(request, |request, (name, value)| request.header(name, value));
        let answer = match request.body(body.to_owned()).send().await {
            Ok(response) => response.status().as_u16().to_string(),
            Err(error) => error.without_url().to_string(),
        };
        self.note(PublishedMessage {
            kind: "callback",
            to: url.to_owned(),
            body: body.to_owned(),
            answer: answer.clone(),
        });
        answer
    }

    /// Answers `published`, or why not.
    pub(super) async fn publish(&self, event: &BuildEvent, kafka: &Kafka) -> String {
        let BuildEvent { topic, key, payload, headers } = event;
        let published = kafka.publish(topic, Some(key), payload, headers).await;
        let answer = published.err().unwrap_or_else(|| "published".to_owned());
        self.note(PublishedMessage {
            kind: "event",
            to: topic.clone(),
            body: payload.clone(),
            answer: answer.clone(),
        });
        answer
    }

    fn note(&self, sent: PublishedMessage) {
        debug!(kind = sent.kind, to = sent.to, answer = sent.answer, "image builder published a build event");
        let mut post = self.post();
        while post.sent.len() >= NOTICES_MAX {
            post.sent.pop_front();
        }
        post.sent.push_back(sent);
    }

    /// Made when it is first needed, because making one takes its time.
    fn client(&self) -> &Client {
        self.client.get_or_init(|| Client::builder().no_proxy().timeout(TIMEOUT).build().unwrap_or_default())
    }

    fn post(&self) -> MutexGuard<'_, Post> {
        self.post.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a callback shows where it comes from, honestly or not.
#[derive(Debug, Default)]
pub(super) struct Seal {
    pub(super) secret: Option<String>,
    /// Stands in the place of the right one.
    pub(super) signature: Option<String>,
    /// Unix time in seconds; now where there is none.
    pub(super) timestamp: Option<i64>,
}

impl Seal {
    pub(super) fn with(secret: Option<String>) -> Self {
        Seal { secret, ..Seal::default() }
    }

    fn headers(&self, body: &str) -> Vec<(&'static str, String)> {
        // The receiver compares with the clock on the wall, which no test turns.
        let timestamp = self.timestamp.unwrap_or_else(|| OffsetDateTime::now_utc().unix_timestamp());
        let made = self.secret.as_ref().map(|secret| signature(secret, timestamp, body));
        let Some(signature) = self.signature.clone().or(made) else { return Vec::new() };
        vec![("provision-engine-timestamp", timestamp.to_string()), ("provision-engine-signature", signature)]
    }
}

/// A message as Kafka takes it.
#[derive(Debug)]
pub(super) struct BuildEvent {
    pub(super) topic: String,
    pub(super) key: String,
    pub(super) payload: String,
    pub(super) headers: Vec<(String, String)>,
}

pub(super) fn event(ended: &BuildResult) -> BuildEvent {
    let payload = json!({
        "event_id": Uuid::now_v7(),
        "compose_id": ended.compose_id,
        "org_id": ended.org,
        "status": ended.status,
        "upload": {"type": ended.upload["type"], "options": ended.upload["options"]},
        "error": ended.error,
        "occurred_at": ended.at.format(&Rfc3339).unwrap_or_default(),
    });
    BuildEvent {
        topic: TOPIC.to_owned(),
        key: ended.compose_id.to_string(),
        payload: payload.to_string(),
        headers: vec![identity(&ended.org)],
    }
}

pub(super) fn identity(org: &str) -> (String, String) {
    let document = json!({"identity": {"type": "System", "org_id": org, "internal": {"org_id": org}}});
    ("x-rh-identity".to_owned(), STANDARD.encode(document.to_string()))
}
