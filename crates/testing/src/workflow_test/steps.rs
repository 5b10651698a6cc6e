//! Steps around the steps of a workflow: one that runs twice, one that fails, one that loses its calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use engine::{Effect, LoseCalls, Operation, Outcome, RetryPolicy, Step, Workflow, fail, wait};

/// Passes everything on but `run` and `undo`.
macro_rules! same_as_inner {
    () => {
        fn name(&self) -> &str {
            self.inner().name()
        }
        fn title(&self) -> &str {
            self.inner().title()
        }
        fn effect(&self) -> Effect {
            self.inner().effect()
        }
        fn driver(&self) -> Option<&str> {
            self.inner().driver()
        }
        fn gate(&self) -> Option<Arc<tokio::sync::Semaphore>> {
            self.inner().gate()
        }
        fn limit(&self) -> Option<Duration> {
            self.inner().limit()
        }
        fn retries(&self) -> Option<RetryPolicy> {
            self.inner().retries()
        }
    };
}

/// Does its work, then asks for a new pass, once.
pub(super) struct Twice<W: Workflow> {
    pub(super) step: Box<dyn Step<W>>,
    pub(super) is_first: AtomicBool,
}

impl<W: Workflow> Twice<W> {
    fn inner(&self) -> &dyn Step<W> {
        &*self.step
    }
}

#[async_trait]
impl<W: Workflow> Step<W> for Twice<W> {
    same_as_inner!();

    async fn run(&self, op: &mut Operation<W>) -> Outcome {
        let done = self.step.run(op).await?;
        if self.is_first.swap(false, Ordering::SeqCst) { wait(Duration::ZERO, "once more") } else { Ok(done) }
    }

    async fn undo(&self, op: &mut Operation<W>) -> Outcome {
        self.step.undo(op).await
    }
}

/// Fails after the work of one step is done; every undo runs twice.
pub(super) struct FailsAt<W: Workflow> {
    pub(super) step: Box<dyn Step<W>>,
    pub(super) name: String,
}

impl<W: Workflow> FailsAt<W> {
    fn inner(&self) -> &dyn Step<W> {
        &*self.step
    }
}

#[async_trait]
impl<W: Workflow> Step<W> for FailsAt<W> {
    same_as_inner!();

    async fn run(&self, op: &mut Operation<W>) -> Outcome {
        let done = self.step.run(op).await?;
        if self.name == self.step.name() { fail("injected") } else { Ok(done) }
    }

    async fn undo(&self, op: &mut Operation<W>) -> Outcome {
        self.step.undo(op).await?;
        self.step.undo(op).await
    }
}

/// Loses calls of its attempts.
pub(super) struct LosesCalls<W: Workflow> {
    pub(super) step: Box<dyn Step<W>>,
    pub(super) lose: LoseCalls,
}

impl<W: Workflow> LosesCalls<W> {
    fn inner(&self) -> &dyn Step<W> {
        &*self.step
    }
}

#[async_trait]
impl<W: Workflow> Step<W> for LosesCalls<W> {
    same_as_inner!();

    async fn run(&self, op: &mut Operation<W>) -> Outcome {
        op.lose_calls(Arc::clone(&self.lose));
        self.step.run(op).await
    }

    async fn undo(&self, op: &mut Operation<W>) -> Outcome {
        self.step.undo(op).await
    }
}
