//! Scripts of faults: what goes wrong, how often, after how many chances, and to what.
//!
//! Every fault counts every chance that it matches. Where several are due at once, the oldest hits and the others wait
//! for the next chance, so a script reads in the order in which it was written.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post};
use axum::{Json, Router};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tracing::debug;

use crate::answer::{CallError, JsonBody};

const FAULTS_MAX: usize = 1000;
const ABOUT_CHARS_MAX: usize = 200;

/// What a fault does: its `kind`, and the fields of that kind.
pub(crate) trait Fault: Debug + Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Refuses fields that make no sense together.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A fault that has no fields but its kind.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plain<K> {
    pub(crate) kind: K,
}

impl<K: Debug + Clone + Serialize + DeserializeOwned + Send + Sync + 'static> Fault for Plain<K> {}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct When {
    /// How often it hits; 0 means every time until it is cleared.
    #[serde(default = "once")]
    times: u32,
    /// How many matching chances go by unharmed first.
    #[serde(default)]
    after: u32,
    /// A text that the subject of the chance must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    about: Option<String>,
}

fn once() -> u32 {
    1
}

#[derive(Debug, Serialize)]
struct Scripted<K> {
    id: u64,
    #[serde(flatten)]
    fault: K,
    #[serde(flatten)]
    when: When,
    #[serde(skip)]
    chances: u64,
    hits: u64,
}

impl<K: Fault> Scripted<K> {
    fn is_of(&self, kind: &str) -> bool {
        serde_json::to_value(&self.fault).is_ok_and(|fault| fault["kind"] == kind)
    }
}

#[derive(Debug)]
pub(crate) struct Script<K>(Mutex<Lines<K>>);

#[derive(Debug)]
struct Lines<K> {
    scripted: Vec<Scripted<K>>,
    last_id: u64,
}

impl<K> Default for Script<K> {
    fn default() -> Self {
        Script(Mutex::new(Lines { scripted: Vec::new(), last_id: 0 }))
    }
}

impl<K: Fault> Script<K> {
    /// Adds a fault as a client sends it, and returns its id.
    pub(crate) fn add(&self, mut body: Map<String, Value>) -> Result<u64, String> {
        let shared = ["times", "after", "about"].into_iter();
        let when: Map<_, _> = shared.filter_map(|name| body.remove_entry(name)).collect();
        let when: When = serde_json::from_value(when.into()).map_err(|error| error.to_string())?;
        let fault: K = serde_json::from_value(body.into()).map_err(|error| refused(&error))?;
        fault.check()?;
        if when.about.as_ref().is_some_and(|about| about.chars().count() > ABOUT_CHARS_MAX) {
            return Err(format!("about must have at most {ABOUT_CHARS_MAX} characters"));
        }
        let mut lines = self.lines();
        if lines.scripted.len() >= FAULTS_MAX {
            return Err(format!("at most {FAULTS_MAX} faults can be scripted at once"));
        }
        lines.last_id += 1;
        let id = lines.last_id;
        lines.scripted.push(Scripted { id, fault, when, chances: 0, hits: 0 });
        Ok(id)
    }

    /// Counts a chance with every fault that matches it, and returns the one that hits. `is_about` says whether the
    /// subject has the text that a fault names.
    pub(crate) fn take(&self, is_meant: impl Fn(&K) -> bool, is_about: impl Fn(&str) -> bool) -> Option<K> {
        let mut lines = self.lines();
        let mut due = None;
        for (position, scripted) in lines.scripted.iter_mut().enumerate() {
            if is_meant(&scripted.fault) && scripted.when.about.as_deref().is_none_or(&is_about) {
                scripted.chances += 1;
                if due.is_none() && scripted.chances > u64::from(scripted.when.after) {
                    scripted.hits += 1;
                    due = Some(position);
                }
            }
        }
        let position = due?;
        let Scripted { id, fault, when, hits, .. } = &lines.scripted[position];
        debug!(id, ?fault, "scripted fault applied");
        let (fault, is_last) = (fault.clone(), when.times != 0 && *hits >= u64::from(when.times));
        if is_last {
            lines.scripted.remove(position);
        }
        Some(fault)
    }

    pub(crate) fn has_any(&self, is_meant: impl Fn(&K) -> bool) -> bool {
        self.lines().scripted.iter().any(|scripted| is_meant(&scripted.fault))
    }

    /// The faults of one kind, or all of them.
    fn list(&self, kind: Option<&str>) -> Value {
        let lines = self.lines();
        json!(lines.scripted.iter().filter(|one| kind.is_none_or(|kind| one.is_of(kind))).collect::<Vec<_>>())
    }

    /// Forgets the faults of one kind, or all of them.
    pub(crate) fn clear(&self, kind: Option<&str>) {
        self.lines().scripted.retain(|one| kind.is_some_and(|kind| !one.is_of(kind)));
    }

    fn lines(&self) -> MutexGuard<'_, Lines<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A misspelt name may be one of those that all faults have.
fn refused(error: &serde_json::Error) -> String {
    let why = error.to_string();
    if why.starts_with("unknown field") { format!("{why}, `times`, `after`, `about`") } else { why }
}

/// `POST`, `GET` and `DELETE` of `path`, with the kind in the body or as the last word of the path.
pub(crate) fn routes<K: Fault>(path: &str, script: &Arc<Script<K>>) -> Router {
    let calls: MethodRouter<Arc<Script<K>>> = post(add::<K>).get(list::<K>).delete(clear::<K>);
    Router::new()
        .route(path, calls.clone())
        .route(&format!("{path}/{{kind}}"), calls)
        .with_state(Arc::clone(script))
}

async fn add<K: Fault>(
    State(script): State<Arc<Script<K>>>,
    kind: Option<Path<String>>,
    JsonBody(mut body): JsonBody<Map<String, Value>>,
) -> Result<Response, CallError> {
    body.extend(kind.map(|Path(kind)| ("kind".to_owned(), kind.into())));
    let id = script.add(body).map_err(CallError::bad_request)?;
    Ok((StatusCode::CREATED, Json(json!({"id": id}))).into_response())
}

async fn list<K: Fault>(State(script): State<Arc<Script<K>>>, kind: Option<Path<String>>) -> Json<Value> {
    Json(json!({"faults": script.list(kind.as_ref().map(|Path(kind)| kind.as_str()))}))
}

async fn clear<K: Fault>(State(script): State<Arc<Script<K>>>, kind: Option<Path<String>>) -> StatusCode {
    script.clear(kind.as_ref().map(|Path(kind)| kind.as_str()));
    StatusCode::NO_CONTENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Letter {
        A,
        B,
    }

    fn add(script: &Script<Plain<Letter>>, json: Value) -> Result<u64, String> {
        script.add(serde_json::from_value(json).unwrap())
    }

    /// One letter per chance: the kind that hit it, or a dot.
    fn take(script: &Script<Plain<Letter>>, kinds: &[Letter], name: &str) -> String {
        let letter = |fault: Plain<Letter>| if fault.kind == Letter::A { 'a' } else { 'b' };
        let one = || script.take(|fault| kinds.contains(&fault.kind), |about| name.contains(about));
        (0..6).map(|_| one().map_or('.', letter)).collect()
    }

    #[test]
    fn faults_hit_in_the_order_of_the_script_and_as_often_as_they_say() {
        let script = Script::default();
        add(&script, json!({"kind": "a", "times": 2, "after": 1})).unwrap();
        add(&script, json!({"kind": "b", "after": 4})).unwrap();
        assert_eq!(take(&script, &[Letter::A, Letter::B], ""), ".aa.b.");
        assert_eq!(script.list(None), json!([]));
    }

    #[test]
    fn two_that_are_due_at_once_hit_one_after_the_other_and_zero_times_means_until_cleared() {
        let script = Script::default();
        add(&script, json!({"kind": "b"})).unwrap();
        add(&script, json!({"kind": "a", "times": 0})).unwrap();
        assert_eq!(take(&script, &[Letter::A, Letter::B], ""), "baaaaa");
        script.clear(Some("b"));
        assert_eq!(script.list(Some("a"))[0]["hits"], 5);
        assert_eq!(script.list(Some("b")), json!([]));
        script.clear(Some("a"));
        assert_eq!(take(&script, &[Letter::A], ""), "......");
    }

    #[test]
    fn a_fault_about_a_text_spares_the_others() {
        let script = Script::default();
        add(&script, json!({"kind": "a", "about": "DAAS"})).unwrap();
        assert_eq!(take(&script, &[Letter::A], "FAAS_0"), "......");
        assert_eq!(take(&script, &[Letter::A], "DAAS_0"), "a.....");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let script = Script::default();
        assert!(add(&script, json!({"kind": "c"})).unwrap_err().contains("expected `a` or `b`"));
        assert!(add(&script, json!({"kind": "a", "colour": 1})).unwrap_err().contains("colour"));
        assert!(add(&script, json!({"kind": "a", "times": -1})).is_err());
        assert!(add(&script, json!({"kind": "a", "about": "x".repeat(201)})).unwrap_err().contains("200"));
    }
}
