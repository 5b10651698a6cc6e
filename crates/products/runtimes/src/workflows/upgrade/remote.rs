//! One upgrade at the back end: asked for once, found again when its answer was lost, and waited for.
//!
//! An update may be asked for twice, and an upgrade may not: what the back end did last is saved together with the
//! intent, and what is newer after a lost answer is ours, because no other operation of this instance runs.

use engine::prelude::*;
use serde_json::Value;

use super::Upgrade;
use crate::backend::{Activity, Backend, ChangeKind, ChangeState, PreparedCall, RuntimeRef, SavedChange};
use crate::workflows::shared::pause;

pub(super) struct RemoteUpgrade<'a> {
    pub(super) backend: &'a dyn Backend,
    pub(super) runtime: RuntimeRef<'a>,
    pub(super) kind: ChangeKind,
    /// How long after a call without an answer its effect may still show up.
    pub(super) settle: Duration,
    /// Under which the call is saved.
    pub(super) call: &'static str,
    /// Under which its progress is saved.
    pub(super) key: &'static str,
    /// Under which what was sent is saved for people, with its secrets masked.
    pub(super) shown: &'static str,
}

impl RemoteUpgrade<'_> {
    /// Asks for the upgrade where that was not done, and waits for its end. `prepare` answers nothing where the runtime is
    /// as it should be.
    pub(super) async fn carry_out<'c>(
        &self,
        op: &mut Operation<Upgrade>,
        prepare: impl FnOnce(SavedChange) -> Result<Option<PreparedCall<'c, SavedChange>>, Halt>,
    ) -> Outcome {
        let known = op.recall_as::<SavedChange>(self.key)?;
        let fresh = SavedChange { last: Some(String::new()), ..SavedChange::new(op.now()) };
        let mut saved = known.unwrap_or(fresh);
        if saved.is_over {
            return done();
        }
        if !saved.is_begun() {
            let Some(begun) = self.begin(op, saved, prepare).await? else { return done() };
            saved = begun;
            op.remember_as(self.key, &saved)?;
        }
        let state = self.backend.progress(self.runtime, self.kind, &mut saved, op.now()).await?;
        saved.is_over = state == ChangeState::Done;
        op.remember_as(self.key, &saved)?;
        match state {
            ChangeState::Done => done(),
            ChangeState::Failed(why) => fail(why),
            ChangeState::Pending(message) => {
                pause(self.backend.next_look(self.runtime, op.now().since(saved.at)), message)
            }
        }
    }

    /// What a call whose answer was lost has begun, or else a new call.
    async fn begin<'c>(
        &self,
        op: &mut Operation<Upgrade>,
        mut saved: SavedChange,
        prepare: impl FnOnce(SavedChange) -> Result<Option<PreparedCall<'c, SavedChange>>, Halt>,
    ) -> Result<Option<SavedChange>, Halt> {
        let has_asked = op.attempt(self.call).unknown()?.is_some();
        match self.backend.activity(self.runtime, self.kind, has_asked, &mut saved).await? {
            Activity::UnderWay(operation) if has_asked => {
                op.attempt(self.call).adopt()?;
                return Ok(Some(saved.with_operation(operation)));
            }
            Activity::UnderWay(_) => return Err(self.at_work("another upgrade")),
            Activity::Other(message) => return Err(self.at_work(&message)),
            Activity::Gone => return Err(Halt::fail("the runtime does not exist any longer")),
            Activity::Idle => {}
        }
        let settle = self.settle;
        op.attempt(self.call).settle(settle, |for_now| (for_now / 5).clamp(settle / 20, settle / 4))?;
        saved.at = op.now();
        let Some(prepared) = prepare(saved.clone())? else { return Ok(None) };
        // Both are saved together with the intent of the call.
        op.remember_as(self.key, &saved)?;
        op.remember_as::<Value>(self.shown, &prepared.shown)?;
        let answer = op.attempt(self.call).call(prepared.send, |error| !error.is_final()).await?;
        Ok(Some(answer?))
    }

    fn at_work(&self, message: &str) -> Halt {
        let cause = format!("{} is still at work on the runtime: {message}", self.backend.title());
        Halt::Retry { after: None, cause: cause.into() }
    }
}
