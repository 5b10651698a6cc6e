//! What a status means for a step that waits. Infrastructure Manager never says which generation a status belongs to.

use std::time::Duration;

use http_client::shorten;
use serde::{Deserialize, Serialize};

use super::observed::{ObservedRuntime, RuntimeState};

/// What a waiting step does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    /// It may still become ready, with the reason to show.
    Wait(String),
    /// It stays so until its spec, a label or an annotation changes.
    Failed(String),
    /// It is on its way out, whatever its state is.
    BeingDeleted,
}

/// The state decides: Infrastructure Manager writes Failed when it does not try again, and Pending with the reason of
/// an error when it does.
pub fn classify(runtime: &ObservedRuntime) -> Readiness {
    if runtime.is_being_deleted() {
        return Readiness::BeingDeleted;
    }
    match &runtime.state {
        Some(RuntimeState::Ready) => Readiness::Ready,
        Some(RuntimeState::Failed) => Readiness::Failed(explanation(runtime)),
        Some(RuntimeState::Terminating) => Readiness::BeingDeleted,
        Some(RuntimeState::Pending) => Readiness::Wait(explanation(runtime)),
        Some(RuntimeState::Other(state)) => {
            Readiness::Wait(format!("state {:?}: {}", shorten(state), explanation(runtime)))
        }
        None => Readiness::Wait("Infrastructure Manager has not looked at it yet".to_owned()),
    }
}

/// The condition that is not true, what the shoot is doing, and its last errors.
fn explanation(runtime: &ObservedRuntime) -> String {
    let mut parts = Vec::new();
    let of_the_last = runtime.conditions.iter().rev();
    let not_true = of_the_last.clone().find(|condition| condition.status == "False");
    let not_true = not_true.or_else(|| of_the_last.clone().find(|condition| condition.status != "True"));
    if let Some(condition) = not_true.or_else(|| runtime.conditions.last()) {
        let reason = if condition.reason.is_empty() { &condition.kind } else { &condition.reason };
        parts.push(match condition.message.as_str() {
            "" => reason.clone(),
            message => format!("{reason}: {message}"),
        });
    }
    if let Some(operation) = &runtime.shoot_last_operation
        && operation.state != "Succeeded"
    {
        let description = Some(&operation.description).filter(|text| !text.is_empty());
        let description = description.map_or_else(String::new, |text| format!(" ({text})"));
        parts.push(format!(
            "shoot {} {} {} %{description}",
            operation.kind, operation.state, operation.progress
        ));
    }
    for error in &runtime.shoot_last_errors {
        let codes =
            if error.codes.is_empty() { String::new() } else { format!(" [{}]", error.codes.join(", ")) };
        parts.push(format!("{}{codes}", error.description));
    }
    match shorten(&parts.join("; ")) {
        text if text.is_empty() => "no condition is set".to_owned(),
        text => text,
    }
}

/// What to remember of a change of the spec while waiting for it, so that a status from before is not taken for its
/// result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedChange {
    pub uid: String,
    pub generation: i64,
    /// Of the status at the moment of the change.
    pub status_digest: String,
    /// When the condition `Provisioned` last changed, if no work was under way at the moment of the change. Only work
    /// changes it again.
    #[serde(default)]
    pub provisioned_at: Option<String>,
    /// A status that was written after the change and is not Ready was seen.
    #[serde(default)]
    pub was_taken_up: bool,
}

impl AppliedChange {
    /// `before` is the generation that was read before the change. None when the change changed nothing that
    /// Infrastructure Manager acts on, so that there is nothing to wait for.
    pub fn of(before: i64, patched: &ObservedRuntime) -> Option<AppliedChange> {
        (patched.generation != before).then(|| AppliedChange::at(patched))
    }

    /// A change that the resource has as it was read.
    pub fn at(runtime: &ObservedRuntime) -> AppliedChange {
        AppliedChange {
            uid: runtime.uid.clone(),
            generation: runtime.generation,
            status_digest: runtime.status_digest.clone(),
            provisioned_at: provisioned_at(runtime).filter(|_| is_settled(runtime)),
            was_taken_up: false,
        }
    }

    /// Like `classify`, but a Ready or Failed counts only if it was written after the change. A change that asks for
    /// what already is leads to no other status: after `grace` the status counts as it is.
    ///
    /// The caller saves `self` when `was_taken_up` has changed.
    pub fn classify(
        &mut self,
        runtime: &ObservedRuntime,
        since_change: Duration,
        grace: Duration,
    ) -> Readiness {
        let readiness = classify(runtime);
        if readiness == Readiness::BeingDeleted {
            return readiness;
        }
        if runtime.generation < self.generation {
            return Readiness::Wait("the change is not in what was read yet".to_owned());
        }
        let is_new = runtime.status_digest != self.status_digest;
        if is_new && runtime.state != Some(RuntimeState::Ready) {
            self.was_taken_up = true;
        }
        // A step that looks seldom may see only the end of the work.
        if self.provisioned_at.is_some() && provisioned_at(runtime) != self.provisioned_at {
            self.was_taken_up = true;
        }
        match readiness {
            Readiness::Ready | Readiness::Failed(_) if !self.was_taken_up && since_change < grace => {
                Readiness::Wait("Infrastructure Manager has not taken up the change yet".to_owned())
            }
            readiness => readiness,
        }
    }
}

fn is_settled(runtime: &ObservedRuntime) -> bool {
    matches!(runtime.state, Some(RuntimeState::Ready | RuntimeState::Failed))
}

fn provisioned_at(runtime: &ObservedRuntime) -> Option<String> {
    let provisioned = runtime.conditions.iter().rev().find(|condition| condition.kind == "Provisioned")?;
    Some(provisioned.last_transition_time.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn runtime(generation: i64, status: &Value) -> ObservedRuntime {
        let metadata = json!({"name": "r", "uid": "u", "resourceVersion": "1", "generation": generation});
        serde_json::from_value(json!({"metadata": metadata, "status": status})).unwrap()
    }

    fn status(state: &str, reason: &str) -> Value {
        json!({"state": state, "conditions": [{"type": "Provisioned", "status": "Unknown", "reason": reason}]})
    }

    #[test]
    fn a_ready_from_before_the_change_is_not_its_result() {
        let (grace, soon) = (Duration::from_secs(60), Duration::from_secs(1));
        let old = status("Ready", "AdministratorsConfigured");
        assert_eq!(AppliedChange::of(2, &runtime(2, &old)), None);
        let mut change = AppliedChange::of(1, &runtime(2, &old)).unwrap();
        let wait = |readiness: Readiness| assert!(matches!(readiness, Readiness::Wait(_)), "{readiness:?}");
        wait(change.classify(&runtime(1, &status("Ready", "x")), grace * 2, grace));
        wait(change.classify(&runtime(2, &old), soon, grace));
        // Infrastructure Manager ended what it did before the change: still not its result.
        wait(change.classify(&runtime(2, &status("Ready", "late")), soon, grace));
        assert_eq!(change.clone().classify(&runtime(2, &old), grace, grace), Readiness::Ready);
        wait(change.classify(&runtime(2, &status("Pending", "Processing")), soon, grace));
        assert!(change.was_taken_up);
        assert_eq!(change.classify(&runtime(2, &old), soon, grace), Readiness::Ready);
    }

    #[test]
    fn a_failure_from_before_the_change_is_not_its_result() {
        let (grace, soon) = (Duration::from_secs(60), Duration::from_secs(1));
        let old = status("Failed", "ProcessingErr");
        let mut change = AppliedChange::of(1, &runtime(2, &old)).unwrap();
        assert!(matches!(change.classify(&runtime(2, &old), soon, grace), Readiness::Wait(_)));
        let new = status("Failed", "ConversionErr");
        assert_eq!(
            change.classify(&runtime(2, &new), soon, grace),
            Readiness::Failed("ConversionErr".to_owned())
        );
    }
}
