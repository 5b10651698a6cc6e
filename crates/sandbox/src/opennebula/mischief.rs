//! Mischief on demand: what goes wrong inside OpenNebula, while its answers stay proper.
//!
//! A fault hits a call on its way. Mischief hits the world behind the call: a machine that never boots, a
//! resize that changes nothing, a service that is gone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::answer::{JsonBody, Refusal};

const SCRIPTED_MAX: usize = 1000;
const ABOUT_CHARS_MAX: usize = 200;

/// Each kind is taken by the one place that carries it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mischief {
    /// A resize is accepted, takes its time, and leaves the machine as it was.
    ResizeDoesNothing,
    /// A resize is refused, because the quota of the user is used up.
    ResizeRefusedQuota,
    /// A machine ends in `BOOT_FAILURE`.
    BootFails,
    /// A machine stays in BOOT for ever.
    NeverRuns,
    /// oned has no `ONEGATE_ENDPOINT`, so no machine may have a token.
    NoOnegate,
    /// oned has no leader for the next call.
    Election,
    /// A service takes long until it has nodes.
    DelayedNodes,
    /// A service never gets nodes.
    NoNodes,
    /// A service has failed at the first look.
    FailsDeployingNow,
    /// A service fails after it has nodes.
    FailsDeployingLater,
    /// Deleting a service is refused.
    DeleteRefused,
    /// Deleting a service is accepted and then fails.
    UndeployFails,
    /// A forced delete is answered as done, and nothing is deleted.
    RecoverDeleteLies,
    /// A service is gone, but its machines are not.
    ServiceVanishes,
    /// A service no longer knows one of its machines.
    ForgetsVm,
}

/// What people send to `POST /opennebula/mischief`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scripted {
    kind: Mischief,
    /// How often it happens; 0 means every time until it is cleared.
    #[serde(default = "once")]
    times: u32,
    /// How many chances go by unharmed first.
    #[serde(default)]
    after: u32,
    /// Text that the name of the thing must have, such as `DAAS`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    #[serde(skip_deserializing)]
    hits: u32,
}

fn once() -> u32 {
    1
}

#[derive(Debug, Default)]
pub(crate) struct MischiefScript {
    scripted: Mutex<Vec<Scripted>>,
}

impl MischiefScript {
    /// Whether this mischief happens now. The oldest one that is meant is used up by it.
    pub(crate) fn take(&self, kind: Mischief, name: &str) -> bool {
        let mut scripted = self.scripted();
        let is_meant = |one: &Scripted| {
            one.kind == kind && one.about.as_ref().is_none_or(|about| name.contains(about.as_str()))
        };
        let Some(position) = scripted.iter().position(is_meant) else { return false };
        let one = &mut scripted[position];
        if one.after > 0 {
            one.after -= 1;
            return false;
        }
        one.hits += 1;
        if one.times != 0 && one.hits >= one.times {
            scripted.remove(position);
        }
        true
    }

    fn add(&self, one: Scripted) -> Result<(), String> {
        if one.about.as_ref().is_some_and(|about| about.chars().count() > ABOUT_CHARS_MAX) {
            return Err(format!("about must have at most {ABOUT_CHARS_MAX} characters"));
        }
        let mut scripted = self.scripted();
        if scripted.len() >= SCRIPTED_MAX {
            return Err(format!("at most {SCRIPTED_MAX} pieces of mischief can be scripted at once"));
        }
        scripted.push(one);
        Ok(())
    }

    fn scripted(&self) -> MutexGuard<'_, Vec<Scripted>> {
        self.scripted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn routes(script: Arc<MischiefScript>) -> Router {
    Router::new().route("/opennebula/mischief", post(add).get(list).delete(clear)).with_state(script)
}

async fn add(
    State(script): State<Arc<MischiefScript>>,
    JsonBody(one): JsonBody<Scripted>,
) -> Result<StatusCode, Refusal> {
    script.add(one).map_err(Refusal::bad_request)?;
    Ok(StatusCode::CREATED)
}

async fn list(State(script): State<Arc<MischiefScript>>) -> Response {
    Json(json!({"mischief": *script.scripted()})).into_response()
}

async fn clear(State(script): State<Arc<MischiefScript>>) -> StatusCode {
    script.scripted().clear();
    StatusCode::NO_CONTENT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(json: serde_json::Value) -> MischiefScript {
        let script = MischiefScript::default();
        script.add(serde_json::from_value(json).unwrap()).unwrap();
        script
    }

    #[test]
    fn mischief_happens_as_often_as_it_was_scripted() {
        let twice = script(json!({"kind": "boot_fails", "times": 2, "after": 1}));
        assert!(!twice.take(Mischief::NeverRuns, "x"));
        let taken: Vec<bool> = (0..4).map(|_| twice.take(Mischief::BootFails, "x")).collect();
        assert_eq!(taken, [false, true, true, false]);
        let always = script(json!({"kind": "no_nodes", "times": 0}));
        assert!((0..5).all(|_| always.take(Mischief::NoNodes, "")));
    }

    #[test]
    fn mischief_about_a_name_spares_the_others() {
        let script = script(json!({"kind": "boot_fails", "about": "DAAS"}));
        assert!(!script.take(Mischief::BootFails, "FAAS_0_(service_3)"));
        assert!(script.take(Mischief::BootFails, "DAAS_0_(service_3)"));
    }
}
