//! Inboxes: webhooks can be sent here, and look at what arrived.
//!
//! Every delivery is kept, also one that came before: telling them apart is what a receiver has to do.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde::Serialize;
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::SandboxShared;
use crate::answer::CallError;
use crate::faults::{self, Gate};
use crate::ledger::LedgerSystem;

const BODY_BYTES_MAX: usize = 1_500_000;
const INBOXES_MAX: usize = 100;
const NAME_CHARS_MAX: usize = 100;
/// The oldest go first; how many did is told with the list.
const LETTERS_MAX: usize = 1000;

#[derive(Debug, Default)]
pub(crate) struct Inboxes {
    boxes: Mutex<BTreeMap<String, Inbox>>,
}

#[derive(Debug, Default, Clone, Serialize)]
struct Inbox {
    messages: VecDeque<Letter>,
    dropped: u64,
}

#[derive(Debug, Clone, Serialize)]
struct Letter {
    #[serde(with = "time::serde::rfc3339")]
    at: OffsetDateTime,
    headers: BTreeMap<String, String>,
    /// As JSON where it is, and as text where it is not.
    body: Value,
    /// Exactly what was signed.
    text: String,
}

impl Inboxes {
    fn keep(&self, name: &str, letter: Letter) -> Result<(), String> {
        if !(1..=NAME_CHARS_MAX).contains(&name.chars().count()) {
            return Err(format!("the name of an inbox must have 1 to {NAME_CHARS_MAX} characters"));
        }
        let mut boxes = self.boxes();
        if boxes.len() >= INBOXES_MAX && !boxes.contains_key(name) {
            return Err(format!("there can be {INBOXES_MAX} inboxes; DELETE /inbox/{{name}} removes one"));
        }
        let inbox = boxes.entry(name.to_owned()).or_default();
        if inbox.messages.len() >= LETTERS_MAX {
            inbox.messages.pop_front();
            inbox.dropped += 1;
        }
        inbox.messages.push_back(letter);
        Ok(())
    }

    fn boxes(&self) -> MutexGuard<'_, BTreeMap<String, Inbox>> {
        self.boxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Faults hit who delivers, and not who looks.
pub(crate) fn routes(world: &SandboxShared) -> Router {
    let gate = Gate { system: LedgerSystem::Inbox, faults: Arc::clone(&world.faults) };
    let delivery = Router::new()
        .route("/inbox/{name}", post(keep))
        .route_layer(middleware::from_fn_with_state(gate, faults::hit))
        .route_layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
    let look = Router::new().route("/inbox/{name}", get(list).delete(clear));
    delivery.merge(look).with_state(Arc::clone(&world.inboxes))
}

type NamePath = Result<Path<String>, PathRejection>;

async fn keep(
    State(inboxes): State<Arc<Inboxes>>,
    name: NamePath,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, CallError> {
    let Path(name) = name?;
    let text = String::from_utf8_lossy(&body).into_owned();
    let header = |(name, value): (&axum::http::HeaderName, &axum::http::HeaderValue)| {
        (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let letter = Letter {
        at: OffsetDateTime::now_utc(),
        headers: headers.iter().map(header).collect(),
        body: serde_json::from_str(&text).unwrap_or_else(|_| json!(text)),
        text,
    };
    inboxes.keep(&name, letter).map_err(CallError::bad_request)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn list(State(inboxes): State<Arc<Inboxes>>, name: NamePath) -> Result<Json<Value>, CallError> {
    let Path(name) = name?;
    let inbox = inboxes.boxes().get(&name).cloned().unwrap_or_default();
    Ok(Json(json!(inbox)))
}

async fn clear(State(inboxes): State<Arc<Inboxes>>, name: NamePath) -> Result<StatusCode, CallError> {
    let Path(name) = name?;
    inboxes.boxes().remove(&name);
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(text: &str) -> Letter {
        let at = OffsetDateTime::UNIX_EPOCH;
        Letter { at, headers: BTreeMap::new(), body: json!(text), text: text.into() }
    }

    #[test]
    fn an_inbox_forgets_the_oldest_and_says_so() {
        let inboxes = Inboxes::default();
        for number in 0..LETTERS_MAX + 2 {
            inboxes.keep("a", letter(&number.to_string())).unwrap();
        }
        let inbox = inboxes.boxes()["a"].clone();
        assert_eq!((inbox.messages.len(), inbox.dropped), (LETTERS_MAX, 2));
        assert_eq!(inbox.messages[0].text, "2");
    }

    #[test]
    fn there_are_not_more_inboxes_than_anyone_needs() {
        let inboxes = Inboxes::default();
        for number in 0..INBOXES_MAX {
            inboxes.keep(&number.to_string(), letter("x")).unwrap();
        }
        inboxes.keep("7", letter("y")).unwrap();
        assert!(inboxes.keep("one more", letter("x")).unwrap_err().contains("DELETE"));
        assert!(inboxes.keep("", letter("x")).is_err());
    }
}
