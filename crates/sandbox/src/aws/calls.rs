//! Which calls came in, so that a test can compare how many an engine needs.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use time::OffsetDateTime;

use super::action::Action;
use super::refusal::Refusal;

/// The counts go on; only the newest calls are kept one by one.
const KEPT_MAX: usize = 1000;

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Counts {
    calls: u64,
    answered: u64,
    refused: u64,
    /// Rehearsals that would have been carried out.
    rehearsed: u64,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Kept {
    #[serde(with = "time::serde::rfc3339")]
    pub(super) at: OffsetDateTime,
    pub(super) action: Action,
    /// Nobody where the caller was not known.
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
    counts: BTreeMap<Action, Counts>,
    newest: VecDeque<Kept>,
}

impl Calls {
    pub(super) fn keep(&mut self, mut kept: Kept, refusal: Option<&Refusal>) {
        let counts = self.counts.entry(kept.action).or_default();
        counts.calls += 1;
        match refusal {
            None => counts.answered += 1,
            Some(refusal) if refusal.is_rehearsal() => counts.rehearsed += 1,
            Some(_) => counts.refused += 1,
        }
        kept.code = refusal.map(|refusal| refusal.code.clone().into_owned());
        if self.newest.len() >= KEPT_MAX {
            self.newest.pop_front();
        }
        self.newest.push_back(kept);
    }
}
