//! A change to a runtime that its back end makes in its own time. Asking for the same change twice is harmless, so it
//! needs no saved intent: a look at what the back end does comes before every call.

use engine::prelude::*;

use crate::backend::{Activity, Backend, ChangeKind, ChangeState, NextLook, RuntimeRef, SavedChange};

pub(crate) struct PendingChange<'a> {
    pub(crate) backend: &'a dyn Backend,
    pub(crate) runtime: RuntimeRef<'a>,
    /// Under which the step remembers it.
    pub(crate) key: &'static str,
    pub(crate) kind: ChangeKind,
}

/// How far the change is.
pub(crate) enum ChangeProgress {
    /// Here is what the call needs to know.
    NotBegun(SavedChange),
    UnderWay(SavedChange),
    Over,
}

impl PendingChange<'_> {
    /// From what the step remembers, or else from what the back end is at: that may be ours, with an answer that
    /// we lost. Tries again later while it is at something else.
    pub(crate) async fn progress<W: Workflow>(&self, op: &mut Operation<W>) -> Result<ChangeProgress, Halt> {
        let known = op.recall_as::<SavedChange>(self.key)?.filter(|saved| !saved.has_failed);
        let mut saved = match known {
            Some(saved) if saved.is_over => return Ok(ChangeProgress::Over),
            Some(saved) if saved.is_begun() => return Ok(ChangeProgress::UnderWay(saved)),
            saved => saved.unwrap_or_else(|| SavedChange::new(op.now())),
        };
        let fresh = saved.clone();
        match self.backend.activity(self.runtime, self.kind, false, &mut saved).await? {
            Activity::Idle => {}
            Activity::UnderWay(operation) => {
                return Ok(ChangeProgress::UnderWay(saved.with_operation(operation)));
            }
            Activity::Other(message) => {
                let cause = format!("{} is still at work on the runtime: {message}", self.backend.title());
                return Err(Halt::Retry { after: None, cause: cause.into() });
            }
            Activity::Gone => return Err(Halt::fail("the runtime does not exist any longer")),
        }
        // What has to be known about the time before the call is saved before it.
        if saved != fresh {
            op.remember_as(self.key, &saved)?;
            op.save().await?;
        }
        Ok(ChangeProgress::NotBegun(saved))
    }

    /// Waits until the change is made.
    pub(crate) async fn follow<W: Workflow>(&self, op: &mut Operation<W>, mut saved: SavedChange) -> Outcome {
        op.remember_as(self.key, &saved)?;
        if saved.is_over {
            return done();
        }
        let state = self.backend.progress(self.runtime, self.kind, &mut saved, op.now()).await?;
        match state {
            ChangeState::Done => saved.is_over = true,
            ChangeState::Failed(_) => saved.fail(),
            ChangeState::Pending(_) => {}
        }
        op.remember_as(self.key, &saved)?;
        match state {
            ChangeState::Done => done(),
            ChangeState::Failed(why) => fail(why),
            ChangeState::Pending(message) => {
                let look = self.backend.next_look(self.runtime, op.now().since(saved.at));
                pause(look, message)
            }
        }
    }
}

/// Waits until the back end has news, or until it is time to look.
pub(crate) fn pause(look: NextLook, reason: String) -> Outcome {
    match look.key {
        Some(key) => wait_for(key, look.after, reason),
        None => wait(look.after, reason),
    }
}
