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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::ids::OperationId;

    #[test]
    fn each_workflow_is_counted_by_phase() {
        let summary = |workflow: &str, phase| Summary {
            id: OperationId(uuid::Uuid::nil()),
            workflow: workflow.into(),
            tenant: String::new(),
            name: None,
            resource: None,
            phase,
            step: None,
            reason: None,
            due_at: None,
            created_at: Timestamp(0),
            deadline_at: Timestamp(0),
            finished_at: None,
            owner: None,
            control: None,
        };
        let found = [("b", Phase::Stuck), ("a", Phase::Failed), ("b", Phase::Stuck), ("b", Phase::Running)];
        let totals = Total::count(found.map(|(workflow, phase)| summary(workflow, phase)).to_vec());
        let shown: Vec<_> =
            totals.iter().map(|total| (total.workflow.as_str(), total.phase, total.count)).collect();
        let expected = [("a", Phase::Failed, 1), ("b", Phase::Running, 1), ("b", Phase::Stuck, 2)];
        assert_eq!(shown, expected);
    }
}
