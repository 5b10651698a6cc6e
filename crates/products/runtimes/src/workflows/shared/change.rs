//! The frame of steps that have the back end change a runtime: look at what it does, ask, and wait for the end.
//!
//! An update may be asked for twice: a look at what the back end does before every call is enough. An upgrade may not: the
//! last operation of the back end is saved together with the intent of the call, and what is newer after a lost answer is
//! ours, because no other operation of this instance runs.

use std::marker::PhantomData;

use engine::prelude::*;

use super::{Input, PATIENT};
use crate::backend::{
    Activity, Backend, Backends, ChangeKind, ChangeState, NextLook, PreparedCall, RuntimeRef, SavedChange,
};
use crate::clients::Clients;
use crate::model::instance::InstanceRecord;
use crate::model::settings::RuntimesSettings;

/// The change that one step asks for.
#[async_trait]
pub(crate) trait RemoteCall<W: Workflow<Input = Input>>: Send + Sync + 'static {
    const NAME: &'static str;
    const TITLE: &'static str;
    const KIND: ChangeKind;
    const FACTS: ChangeFacts;

    /// Prepares the call and makes it with [`RemoteChange::ask`]. None where the runtime is as it should be.
    async fn ask(
        op: &mut Operation<W>,
        change: &RemoteChange<'_>,
        saved: SavedChange,
    ) -> Result<Option<SavedChange>, Halt>;
}

/// Under which a step saves what it knows about its change.
pub(crate) struct ChangeFacts {
    pub(crate) progress: &'static str,
    /// For a call that must not be made twice.
    pub(crate) once: Option<OnceFacts>,
}

pub(crate) struct OnceFacts {
    pub(crate) call: &'static str,
    /// What was sent, for people, with its secrets masked.
    pub(crate) request: &'static str,
}

/// The step.
pub(crate) struct ChangeRuntime<C> {
    backends: Backends,
    runtimes: Arc<RuntimesSettings>,
    call: PhantomData<fn() -> C>,
}

impl<C> ChangeRuntime<C> {
    pub(crate) fn new(clients: &Clients) -> ChangeRuntime<C> {
        let (backends, runtimes) = (Backends::new(clients), Arc::clone(&clients.runtimes));
        ChangeRuntime { backends, runtimes, call: PhantomData }
    }
}

#[async_trait]
impl<W: Workflow<Input = Input>, C: RemoteCall<W>> Step<W> for ChangeRuntime<C> {
    named!(C::NAME, C::TITLE);

    fn driver(&self) -> Option<&'static str> {
        Some("provisioner")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(PATIENT)
    }

    async fn run(&self, op: &mut Operation<W>) -> Outcome {
        let instance = op.input.instance()?.clone();
        let Some(runtime_id) = &instance.runtime_id else { return fail("the instance has no runtime") };
        let change = RemoteChange {
            backend: self.backends.of(&instance),
            runtime: instance.runtime(runtime_id),
            instance: &instance,
            runtimes: &self.runtimes,
            kind: C::KIND,
            facts: &C::FACTS,
        };
        let saved = match change.progress(op).await? {
            ChangeProgress::Over => return done(),
            ChangeProgress::UnderWay(saved) => saved,
            ChangeProgress::NotBegun(saved) => match C::ask(op, &change, saved).await? {
                Some(begun) => begun,
                None => return done(),
            },
        };
        change.follow(op, saved).await
    }
}

/// A change of one runtime, with its back end.
pub(crate) struct RemoteChange<'a> {
    pub(crate) backend: &'a dyn Backend,
    pub(crate) runtime: RuntimeRef<'a>,
    pub(crate) instance: &'a InstanceRecord,
    pub(crate) runtimes: &'a RuntimesSettings,
    kind: ChangeKind,
    facts: &'static ChangeFacts,
}

/// How far the change is.
enum ChangeProgress {
    /// Here is what the call needs to know.
    NotBegun(SavedChange),
    UnderWay(SavedChange),
    Over,
}

impl RemoteChange<'_> {
    /// From what the step remembers, or else from what the back end is at: that may be ours, with an answer that
    /// we lost. Tries again later while it is at something else.
    async fn progress<W: Workflow>(&self, op: &mut Operation<W>) -> Result<ChangeProgress, Halt> {
        let once = self.facts.once.as_ref();
        let known = op.recall_as::<SavedChange>(self.facts.progress)?.filter(|saved| !saved.has_failed);
        let mut saved = match known {
            Some(saved) if saved.is_over => return Ok(ChangeProgress::Over),
            Some(saved) if saved.is_begun() => return Ok(ChangeProgress::UnderWay(saved)),
            Some(saved) => saved,
            None => SavedChange { last: once.map(|_| String::new()), ..SavedChange::new(op.now()) },
        };
        let before = saved.clone();
        let has_asked = match once {
            Some(once) => op.attempt(once.call).unknown()?.is_some(),
            None => false,
        };
        match self.backend.activity(self.runtime, self.kind, has_asked, &mut saved).await? {
            Activity::Idle => {}
            Activity::UnderWay(operation) => {
                match once {
                    Some(once) if has_asked => op.attempt(once.call).adopt()?,
                    Some(_) => return Err(self.at_work("another upgrade")),
                    None => {}
                }
                return Ok(ChangeProgress::UnderWay(saved.with_operation(operation)));
            }
            Activity::Other(message) => return Err(self.at_work(&message)),
            Activity::Gone => return Err(Halt::fail("the runtime does not exist any longer")),
        }
        match once {
            Some(once) => {
                // How long after a call without an answer its effect may still show up.
                let settle = self.runtimes.settle;
                op.attempt(once.call)
                    .settle(settle, |for_now| (for_now / 5).clamp(settle / 20, settle / 4))?;
                saved.at = op.now();
            }
            // What has to be known about the time before the call is saved before it.
            None if saved != before => {
                op.remember_as(self.facts.progress, &saved)?;
                op.save().await?;
            }
            None => {}
        }
        Ok(ChangeProgress::NotBegun(saved))
    }

    /// Makes the call. One that must not be made twice is saved before it, with what was known before.
    pub(crate) async fn ask<W: Workflow>(
        &self,
        op: &mut Operation<W>,
        saved: &SavedChange,
        prepared: PreparedCall<'_, SavedChange>,
    ) -> Result<SavedChange, Halt> {
        let Some(once) = &self.facts.once else { return Ok(prepared.send.await?) };
        op.remember_as(self.facts.progress, saved)?;
        op.remember_as(once.request, &prepared.shown)?;
        Ok(op.attempt(once.call).call(prepared.send, |error| !error.is_final()).await??)
    }

    /// Waits until the change is made.
    async fn follow<W: Workflow>(&self, op: &mut Operation<W>, mut saved: SavedChange) -> Outcome {
        op.remember_as(self.facts.progress, &saved)?;
        if saved.is_over {
            return done();
        }
        let state = self.backend.progress(self.runtime, self.kind, &mut saved, op.now()).await?;
        match state {
            ChangeState::Done => saved.is_over = true,
            ChangeState::Failed(_) => saved.fail(),
            ChangeState::Pending(_) => {}
        }
        op.remember_as(self.facts.progress, &saved)?;
        match state {
            ChangeState::Done => done(),
            ChangeState::Failed(why) => fail(why),
            ChangeState::Pending(message) => {
                let look = self.backend.next_look(self.runtime, op.now().since(saved.at));
                pause(look, message)
            }
        }
    }

    fn at_work(&self, message: &str) -> Halt {
        let cause = format!("{} is still at work on the runtime: {message}", self.backend.title());
        Halt::Retry { after: None, cause: cause.into() }
    }
}

/// Waits until the back end has news, or until it is time to look.
pub(crate) fn pause(look: NextLook, reason: String) -> Outcome {
    match look.key {
        Some(key) => wait_for(key, look.after, reason),
        None => wait(look.after, reason),
    }
}
