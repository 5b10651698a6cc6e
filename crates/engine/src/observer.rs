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

/// Names of workflows and steps come from code, so that labels made of them are few.
pub trait Observer: Send + Sync + 'static {
    fn step_ran(&self, workflow: &'static str, step: &'static str, result: StepResult, took: Duration);
    fn finished(&self, workflow: &'static str, phase: Phase, took: Duration);
}

/// Counts nothing.
pub struct Unobserved;

impl Observer for Unobserved {
    fn step_ran(&self, _: &'static str, _: &'static str, _: StepResult, _: Duration) {}
    fn finished(&self, _: &'static str, _: Phase, _: Duration) {}
}
