//! What is saved about a change that a back end makes in its own time.

use engine::Timestamp;
use infrastructure_manager::AppliedChange;
use serde::{Deserialize, Serialize};

/// Saved as a fact of the step that asked for the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedChange {
    /// The operation of the back end. Empty where it has none.
    pub operation: String,
    /// Since when it goes on.
    pub at: Timestamp,
    #[serde(default)]
    pub is_over: bool,
    /// It failed, and the step runs again: an operator wants another try.
    #[serde(default, skip_serializing_if = "is_false")]
    pub has_failed: bool,
    /// The generation of the resource before the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
    /// What tells a status of the change from one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<AppliedChange>,
    /// The last operation of the back end before the call, where a call must not be made twice: one that is newer after a
    /// lost answer is ours. Empty where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Fields that this installation of the back end does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

impl SavedChange {
    pub fn new(at: Timestamp) -> SavedChange {
        SavedChange {
            operation: String::new(),
            at,
            is_over: false,
            has_failed: false,
            before: None,
            applied: None,
            last: None,
            left_out: Vec::new(),
        }
    }

    #[must_use]
    pub fn with_operation(self, operation: String) -> SavedChange {
        SavedChange { operation, ..self }
    }

    /// A back end with operations tells for ever that one has failed; one with resources can try again.
    pub fn fail(&mut self) {
        self.has_failed = self.operation.is_empty();
    }

    /// Whether the back end was asked and has answered.
    pub fn is_begun(&self) -> bool {
        !self.operation.is_empty() || self.applied.is_some()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(value: &bool) -> bool {
    !value
}
