//! One piece of work inside an operation.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;

use crate::budget::RetryPolicy;
use crate::operation::Operation;
use crate::outcome::{Halt, Outcome, done};
use crate::workflow::Workflow;

/// One piece of work inside an operation.
///
/// A pass runs all steps from the lowest weight; after a wait or a retry the next pass begins at the first step
/// again. So `run` is called many times, also after it has answered `done`, and also by a new process after a
/// crash in the middle. It must find its own earlier work, by a fact or by a token, and go on from there.
#[async_trait]
pub trait Step<W: Workflow>: Send + Sync + 'static {
    /// Name in the journal, logs and events: the name of the step's file. Never give an old name a new meaning.
    fn name(&self) -> &str;

    /// What a person reads while the step runs, such as "Uploading the public key".
    fn title(&self) -> &str;

    /// Moves the operation forward. Never sleeps and never loops waiting: it answers `wait`.
    async fn run(&self, op: &mut Operation<W>) -> Outcome;

    /// Takes back what `run` left in the world. Called in reverse order for every step that ever started, even
    /// if `run` died half way, and maybe more than once: finding nothing to take back is success.
    async fn undo(&self, _op: &mut Operation<W>) -> Outcome {
        done()
    }

    /// Does to the input what `run` would do, and nothing to the world: for a dry run. What only the external system knows
    /// is left out or made up.
    async fn preview(&self, op: &mut Operation<W>) -> Result<(), Halt> {
        if self.effect() != Effect::Pure {
            return Ok(());
        }
        match self.run(op).await {
            Ok(_) | Err(Halt::Wait { .. }) => Ok(()),
            Err(other) => Err(other),
        }
    }

    /// What the external system offers after a crash with unknown outcome.
    fn effect(&self) -> Effect {
        Effect::Keyed
    }

    /// The driver whose concurrency limit this step counts against.
    fn driver(&self) -> Option<&str> {
        None
    }

    /// Where this step has a limit of its own: its calls take places here instead of those of its driver.
    fn gate(&self) -> Option<Arc<Semaphore>> {
        None
    }

    /// How long one call of `run` or `undo` may take; then it counts as a retry. The plan's default when `None`.
    fn limit(&self) -> Option<Duration> {
        None
    }

    /// How often and how long to try again. The plan's default when `None`.
    fn retries(&self) -> Option<RetryPolicy> {
        None
    }
}

/// Name and title of a step, in one line of its `impl`.
#[macro_export]
macro_rules! named {
    ($name:expr, $title:expr) => {
        fn name(&self) -> &'static str {
            $name
        }

        fn title(&self) -> &'static str {
            $title
        }
    };
}

/// What can be known about a call that was made just before a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Touches nothing outside: needs no record that it started, and no undo.
    Pure,
    /// The external system honours our token, or can be searched by it: running again is safe.
    Keyed,
    /// Neither. After a crash in the middle an operator decides; the engine never guesses.
    Once,
}

impl Effect {
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Pure => "pure",
            Effect::Keyed => "keyed",
            Effect::Once => "once",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_called_what_they_are() {
        assert_eq!(
            [Effect::Pure, Effect::Keyed, Effect::Once].map(Effect::as_str),
            ["pure", "keyed", "once"]
        );
    }
}
