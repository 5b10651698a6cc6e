//! Which calls came in, so that a test can compare how many an engine needs.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use time::OffsetDateTime;

use super::action::AwsAction;
use super::call_error::AwsError;

/// The counts go on; only the newest calls are kept one by one.
const KEPT_MAX: usize = 1000;

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct ActionCounts {
    calls: u64,
    answered: u64,
    refused: u64,
    /// Rehearsals that would have been carried out.
    #[serde(rename = "rehearsed")]
    dry_run: u64,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct RecordedCalls {
    #[serde(with = "time::serde::rfc3339")]
    pub(super) at: OffsetDateTime,
    pub(super) action: AwsAction,
    /// None where the caller was not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) region: Option<String>,
    /// What it was refused with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<String>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Calls {
    counts: BTreeMap<AwsAction, ActionCounts>,
    newest: VecDeque<RecordedCalls>,
}

impl Calls {
    pub(super) fn keep(&mut self, mut kept: RecordedCalls, call_error: Option<&AwsError>) {
        let counts = self.counts.entry(kept.action).or_default();
        counts.calls += 1;
        match call_error {
            None => counts.answered += 1,
            Some(call_error) if call_error.is_dry_run() => counts.dry_run += 1,
            Some(_) => counts.refused += 1,
        }
        kept.code = call_error.map(|call_error| call_error.code.clone().into_owned());
        if self.newest.len() >= KEPT_MAX {
            self.newest.pop_front();
        }
        self.newest.push_back(kept);
    }
}
