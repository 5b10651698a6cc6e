//! What the engine tells those who count.

use std::time::Duration;

use crate::phase::Phase;

/// How one call of a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepResult {
    Done,
    Skipped,
    Waited,
    Retried,
    Failed,
}

impl StepResult {
    pub fn as_str(self) -> &'static str {
        match self {
            StepResult::Done => "done",
            StepResult::Skipped => "skipped",
            StepResult::Waited => "waited",
            StepResult::Retried => "retried",
            StepResult::Failed => "failed",
        }
    }
}

/// Names of workflows and steps come from code and from declarations, of which there is a limited number at a time. Over the
/// life of a process there is no limit.
pub trait Observer: Send + Sync + 'static {
    fn step_ran(&self, workflow: &str, step: &str, result: StepResult, took: Duration);
    fn finished(&self, workflow: &str, phase: Phase, took: Duration);
}

/// Counts nothing.
pub struct Unobserved;

impl Observer for Unobserved {
    fn step_ran(&self, _: &str, _: &str, _: StepResult, _: Duration) {}
    fn finished(&self, _: &str, _: Phase, _: Duration) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_result_has_its_word() {
        use StepResult::{Done, Failed, Retried, Skipped, Waited};
        let words = [Done, Skipped, Waited, Retried, Failed].map(StepResult::as_str);
        assert_eq!(words, ["done", "skipped", "waited", "retried", "failed"]);
    }
}
