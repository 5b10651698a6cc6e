//! What is counted for people: operations by phase, and what ended when.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Summary;
use crate::phase::Phase;

/// How many operations of one workflow are in one phase.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Total {
    pub workflow: String,
    pub phase: Phase,
    pub count: u64,
}

/// The operations that ended in one span of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndedOperations {
    /// Counted from the first moment that was asked for.
    pub nth: u32,
    pub count: u64,
    /// How many of them did not succeed.
    pub failed: u64,
    /// How long all of them took together, from creation to end.
    pub took: Duration,
}

impl Total {
    /// Counts what a list found.
    pub(super) fn count(found: Vec<Summary>) -> Vec<Total> {
        let mut totals: BTreeMap<(String, Phase), u64> = BTreeMap::new();
        for summary in found {
            *totals.entry((summary.workflow, summary.phase)).or_default() += 1;
        }
        totals.into_iter().map(|((workflow, phase), count)| Total { workflow, phase, count }).collect()
    }
}
