//! The ledger: every effect that an external system had on the world, in order, and which of them were taken back.
//!
//! One lock covers the entries, the index and the counts, so a call either made an effect or found one,
//! whatever else runs at the same time. Nothing waits while it is held.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use tokio::task::yield_now;

use crate::SandboxShared;
use crate::answer::CallError;

/// So many entries are turned into JSON at a time, so that a long ledger needs little memory and no long
/// pause.
const ENTRIES_PER_CHUNK: usize = 1000;

/// The external systems, by the names used in the ledger and in scripted faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LedgerSystem {
    Greeter,
    Provisioner,
    InfrastructureManager,
    Director,
    Cluster,
    Identity,
    IdentityProvider,
    Oned,
    Oneflow,
    Ec2,
    Sts,
    Arm,
    Entra,
    Gce,
    GoogleOauth,
    ImageBuilder,
    Sources,
    Rbac,
    Inbox,
}

impl LedgerSystem {
    pub(crate) fn name(self) -> &'static str {
        match self {
            LedgerSystem::Greeter => "greeter",
            LedgerSystem::Provisioner => "provisioner",
            LedgerSystem::InfrastructureManager => "infrastructure_manager",
            LedgerSystem::Director => "director",
            LedgerSystem::Cluster => "cluster",
            LedgerSystem::Identity => "identity",
            LedgerSystem::IdentityProvider => "identity_provider",
            LedgerSystem::Oned => "oned",
            LedgerSystem::Oneflow => "oneflow",
            LedgerSystem::Ec2 => "ec2",
            LedgerSystem::Sts => "sts",
            LedgerSystem::Arm => "arm",
            LedgerSystem::Entra => "entra",
            LedgerSystem::Gce => "gce",
            LedgerSystem::GoogleOauth => "google_oauth",
            LedgerSystem::ImageBuilder => "image_builder",
            LedgerSystem::Sources => "sources",
            LedgerSystem::Rbac => "rbac",
            LedgerSystem::Inbox => "inbox",
        }
    }
}

/// One kind of thing that an external system can do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Effect {
    pub(crate) system: LedgerSystem,
    pub(crate) kind: &'static str,
}

/// What became of a request to have an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EffectResult {
    Now,
    Before,
    /// The token stands for another request, so nothing was done.
    Differently,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pages: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    entries: Vec<LedgerEntry>,
    /// The newest entry of each token; older ones hang on it by `LedgerEntry::previous`.
    by_token: HashMap<Arc<str>, usize>,
    counts: BTreeMap<Effect, Counts>,
}

#[derive(Debug, Clone)]
struct LedgerEntry {
    effect: Effect,
    token: Arc<str>,
    request: Arc<str>,
    at: OffsetDateTime,
    taken_back_at: Option<OffsetDateTime>,
    previous: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    made: u64,
    taken_back: u64,
    repeats: u64,
}

impl Ledger {
    /// Has the effect, unless it stands already.
    ///
    /// A token whose effect was taken back makes a new one: a call that arrives late is not hidden.
    pub(crate) fn make(&self, effect: Effect, token: &str, request: &str) -> EffectResult {
        let mut pages = self.pages();
        if let Some(index) = pages.standing(effect, token) {
            let is_same = *pages.entries[index].request == *request;
            pages.counts.entry(effect).or_default().repeats += 1;
            return if is_same { EffectResult::Before } else { EffectResult::Differently };
        }
        pages.counts.entry(effect).or_default().made += 1;
        pages.append(effect, token, request);
        EffectResult::Now
    }

    /// The request that made the effect of this token, if that still stands.
    pub(crate) fn find(&self, effect: Effect, token: &str) -> Option<Arc<str>> {
        let pages = self.pages();
        let index = pages.standing(effect, token)?;
        Some(Arc::clone(&pages.entries[index].request))
    }

    /// Answers false where nothing stands.
    pub(crate) fn take_back(&self, effect: Effect, token: &str) -> bool {
        let mut pages = self.pages();
        let Some(index) = pages.standing(effect, token) else { return false };
        pages.entries[index].taken_back_at = Some(now());
        pages.counts.entry(effect).or_default().taken_back += 1;
        true
    }

    fn snapshot(&self, query: &LedgerQuery) -> Vec<LedgerEntry> {
        let pages = self.pages();
        let is_asked_for = |entry: &&LedgerEntry| query.all || entry.taken_back_at.is_none();
        match &query.token {
            None => pages.entries.iter().filter(is_asked_for).cloned().collect(),
            Some(token) => {
                let mut found: Vec<LedgerEntry> =
                    pages.of_token(token).filter(is_asked_for).cloned().collect();
                found.reverse();
                found
            }
        }
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        // Every change is made in one go, so a panic elsewhere cannot leave the pages half written.
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages {
    fn append(&mut self, effect: Effect, token: &str, request: &str) {
        let index = self.entries.len();
        let previous = self.by_token.get(token).copied();
        // The key is shared with the older entry, so that one token is kept once.
        let token = match previous {
            Some(previous) => Arc::clone(&self.entries[previous].token),
            None => Arc::from(token),
        };
        self.by_token.insert(Arc::clone(&token), index);
        let request = Arc::from(request);
        self.entries.push(LedgerEntry { effect, token, request, at: now(), taken_back_at: None, previous });
    }

    /// Newest first.
    fn of_token(&self, token: &str) -> impl Iterator<Item = &LedgerEntry> {
        self.indexes_of_token(token).map(|index| &self.entries[index])
    }

    fn indexes_of_token(&self, token: &str) -> impl Iterator<Item = usize> {
        let newest = self.by_token.get(token).copied();
        std::iter::successors(newest, |index| self.entries[*index].previous)
    }

    /// Only the newest entry of a deed can stand, because `make` finds it before it makes another.
    fn standing(&self, effect: Effect, token: &str) -> Option<usize> {
        self.indexes_of_token(token)
            .find(|index| self.entries[*index].effect == effect)
            .filter(|index| self.entries[*index].taken_back_at.is_none())
    }
}

/// An external system has a clock of its own, as it would have in production.
fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}

pub(crate) fn routes(world: &SandboxShared) -> Router {
    Router::new()
        .route("/ledger", get(list).delete(clear))
        .route("/ledger/summary", get(summary))
        .with_state(world.clone())
}

/// What is not understood is refused, so that a typing error does not widen a question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LedgerQuery {
    #[serde(default)]
    all: bool,
    token: Option<String>,
}

#[derive(Serialize)]
struct EntryBody<'a> {
    system: &'static str,
    kind: &'static str,
    token: &'a str,
    #[serde(with = "time::serde::rfc3339")]
    at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339::option", skip_serializing_if = "Option::is_none")]
    taken_back_at: Option<OffsetDateTime>,
}

#[derive(Serialize)]
struct SummaryBody {
    made: u64,
    taken_back: u64,
    standing: u64,
    repeats: u64,
}

async fn list(
    State(world): State<SandboxShared>,
    query: Result<Query<LedgerQuery>, QueryRejection>,
) -> Result<Response, CallError> {
    let Query(query) = query?;
    world.settle();
    let entries = world.ledger.snapshot(&query);
    let chunks = stream::unfold(Some((entries, 0)), |rest| async move {
        let (entries, from) = rest?;
        yield_now().await;
        let to = entries.len().min(from + ENTRIES_PER_CHUNK);
        let is_last = to == entries.len();
        let text = entries_as_json(&entries[from..to], from == 0, is_last);
        Some((Ok::<_, Infallible>(text), (!is_last).then_some((entries, to))))
    });
    Ok(([(header::CONTENT_TYPE, "application/json")], Body::from_stream(chunks)).into_response())
}

/// One part of the list as text; the parts one after the other are one JSON document.
fn entries_as_json(entries: &[LedgerEntry], is_first: bool, is_last: bool) -> Vec<u8> {
    let mut text = Vec::from(if is_first { r#"{"effects":["# } else { "" });
    for (position, entry) in entries.iter().enumerate() {
        if !(is_first && position == 0) {
            text.push(b',');
        }
        let body = EntryBody {
            system: entry.effect.system.name(),
            kind: entry.effect.kind,
            token: &entry.token,
            at: entry.at,
            taken_back_at: entry.taken_back_at,
        };
        serde_json::to_writer(&mut text, &body).expect("plain text and times always become JSON");
    }
    if is_last {
        text.extend_from_slice(b"]}");
    }
    text
}

async fn summary(State(world): State<SandboxShared>) -> Json<BTreeMap<String, SummaryBody>> {
    world.settle();
    let pages = world.ledger.pages();
    let line = |(effect, counts): (&Effect, &Counts)| {
        let Counts { made, taken_back, repeats } = *counts;
        let body = SummaryBody { made, taken_back, standing: made - taken_back, repeats };
        (format!("{}/{}", effect.system.name(), effect.kind), body)
    };
    Json(pages.counts.iter().map(line).collect())
}

async fn clear(State(world): State<SandboxShared>) -> StatusCode {
    // What was due belongs to the ledger that is cleared, and not to the next one.
    world.settle();
    let old = std::mem::take(&mut *world.ledger.pages());
    // A million entries take a while to free, and nothing should wait for that behind the lock.
    drop(old);
    StatusCode::NO_CONTENT
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREET: Effect = Effect { system: LedgerSystem::Greeter, kind: "greet" };

    fn tokens(ledger: &Ledger, all: bool, token: Option<&str>) -> Vec<String> {
        let query = LedgerQuery { all, token: token.map(str::to_owned) };
        ledger.snapshot(&query).iter().map(|entry| entry.token.to_string()).collect()
    }

    #[test]
    fn a_token_has_one_standing_effect_and_remembers_the_ones_taken_back() {
        let ledger = Ledger::default();
        assert_eq!(ledger.make(GREET, "a", "x"), EffectResult::Now);
        assert_eq!(ledger.make(GREET, "a", "x"), EffectResult::Before);
        assert_eq!(ledger.make(GREET, "a", "y"), EffectResult::Differently);
        assert!(ledger.take_back(GREET, "a"));
        assert!(!ledger.take_back(GREET, "a"));
        assert_eq!(ledger.make(GREET, "b", "x"), EffectResult::Now);
        assert_eq!(ledger.make(GREET, "a", "y"), EffectResult::Now);
        assert_eq!(ledger.find(GREET, "a").as_deref(), Some("y"));
        assert_eq!(tokens(&ledger, false, None), ["b", "a"]);
        assert_eq!(tokens(&ledger, true, None), ["a", "b", "a"]);
        assert_eq!(tokens(&ledger, false, Some("a")), ["a"]);
        assert_eq!(tokens(&ledger, true, Some("a")), ["a", "a"]);
        assert_eq!(tokens(&ledger, true, Some("c")), [""; 0]);
    }

    #[test]
    fn parts_of_a_list_join_to_one_document() {
        let ledger = Ledger::default();
        for token in ["a", "b", "c"] {
            ledger.make(GREET, token, "x");
        }
        let entries = ledger.snapshot(&LedgerQuery { all: false, token: None });
        let mut text = entries_as_json(&entries[..2], true, false);
        text.extend(entries_as_json(&entries[2..], false, true));
        let parsed: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(parsed["effects"][2]["token"], "c");
        let empty: serde_json::Value = serde_json::from_slice(&entries_as_json(&[], true, true)).unwrap();
        assert_eq!(empty["effects"], serde_json::json!([]));
    }
}
