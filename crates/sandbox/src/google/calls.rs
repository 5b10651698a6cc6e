//! Which calls came in, so that a test can compare how many an engine needs and what they say about themselves.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;

const KEPT_MAX: usize = 1000;

#[derive(Debug, Default, Serialize)]
pub(super) struct GceCalls {
    counts: BTreeMap<&'static str, u64>,
    newest: VecDeque<GceCallRecord>,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct GceCallRecord {
    pub(super) action: &'static str,
    pub(super) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) caller: Option<String>,
    /// The project that pays for the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) user_project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_reason: Option<String>,
    /// What it was refused with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

impl GceCalls {
    pub(super) fn keep(&mut self, call: GceCallRecord) {
        *self.counts.entry(call.action).or_default() += 1;
        if self.newest.len() >= KEPT_MAX {
            self.newest.pop_front();
        }
        self.newest.push_back(call);
    }
}
