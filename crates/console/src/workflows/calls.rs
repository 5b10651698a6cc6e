//! How often the steps of a workflow were called in this process, and how that ended.

use std::collections::BTreeMap;
use std::time::Duration;

use api::types::{StepCalls, StepHealth, WorkflowCalls};

use crate::api::ApiClient;
use crate::page_error::PageError;
use crate::parts::{Chip, Icon, Tone, span};
use crate::path;

/// The calls of every step of a workflow, by the step's name.
pub(super) async fn of(api: &ApiClient, workflow: &str) -> Result<BTreeMap<String, StepCalls>, PageError> {
    let found: WorkflowCalls = api.get(&format!("/workflows/{}/calls", path::part(workflow))).await?;
    Ok(found.steps.into_iter().map(|calls| (calls.step.clone(), calls)).collect())
}

pub(super) fn count(calls: &StepCalls) -> u64 {
    calls.results.values().sum()
}

/// Such as `3 done, 1 failed`.
pub(super) fn told(calls: &StepCalls) -> String {
    calls.results.iter().map(|(result, count)| format!("{count} {result}")).collect::<Vec<_>>().join(", ")
}

/// How long half of them and nearly all of them took at most; their mean where that is not known.
pub(super) fn times(calls: &StepCalls) -> String {
    let written = |seconds: f64| Duration::try_from_secs_f64(seconds).map(span).unwrap_or_default();
    if let (Some(p50), Some(p99)) = (calls.p50_seconds, calls.p99_seconds) {
        return format!("p50 {}, p99 {}", written(p50), written(p99));
    }
    let count = f64::from(u32::try_from(count(calls).max(1)).unwrap_or(u32::MAX));
    format!("{} each", written(calls.seconds / count))
}

/// Whether what the step works with answers.
pub(super) fn health(calls: &StepCalls) -> Chip {
    match calls.health {
        StepHealth::Unknown => Chip::new(Tone::Quiet, Icon::Clock, "not called yet"),
        StepHealth::Good => Chip::new(Tone::Good, Icon::Check, "answers"),
        StepHealth::Mixed => Chip::new(Tone::Waits, Icon::Alert, "fails now and then"),
        StepHealth::Bad => Chip::new(Tone::Bad, Icon::Cross, "fails"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_in_one_line_with_their_times() {
        let results = [("done".to_owned(), 3), ("failed".to_owned(), 1)].into();
        let calls = StepCalls { results, seconds: 0.3, ..StepCalls::default() };
        assert_eq!((count(&calls), told(&calls).as_str()), (4, "3 done, 1 failed"));
        assert_eq!(times(&calls), "75 ms each");
        let calls = StepCalls { p50_seconds: Some(0.05), p99_seconds: Some(1.5), ..calls };
        assert_eq!(times(&calls), "p50 50 ms, p99 1.5 s");
    }
}
