//! A call that may not be repeated blindly. The intent is saved before the call and its end after it, so that the pass
//! after a crash or a lost answer knows that the end is unknown, and since when.
//!
//! A step that finds the end [unknown](Attempt::unknown) looks in the external system for what the call made, by its
//! idempotency key. It [adopts](Attempt::adopt) what is there, [waits](Attempt::settle) while something may still
//! arrive, and calls again after that.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::operation::Operation;
use crate::outcome::Halt;
use crate::workflow::Workflow;

/// What is saved about the calls of one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Saved")]
pub struct Calls {
    pub first: Timestamp,
    pub last: Timestamp,
    /// The last call whose end is unknown.
    #[serde(rename = "open")]
    pub unknown_since: Option<Timestamp>,
    /// The unknown call before that one, which a later call does not settle by failing.
    earlier: Option<Timestamp>,
    /// A call was made while the end of another was unknown, so the external system may have carried out both.
    pub is_doubled: bool,
    pub times: u32,
    /// What came instead of an answer, where the step noted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// All shapes that releases have written.
#[derive(Deserialize)]
#[serde(untagged)]
enum Saved {
    Calls {
        first: Timestamp,
        last: Timestamp,
        open: Option<Timestamp>,
        earlier: Option<Timestamp>,
        #[serde(default)]
        is_doubled: bool,
        #[serde(default)]
        times: u32,
        note: Option<String>,
    },
    Counted {
        at: Option<Timestamp>,
        times: u32,
        trouble: Option<String>,
    },
    Time(Option<Timestamp>),
    Flag(bool),
}

impl From<Saved> for Calls {
    fn from(saved: Saved) -> Calls {
        let of = |open: Option<Timestamp>, times, note| {
            let first = open.unwrap_or(Timestamp(0));
            Calls { first, last: first, unknown_since: open, earlier: None, is_doubled: false, times, note }
        };
        match saved {
            Saved::Calls { first, last, open, earlier, is_doubled, times, note } => {
                Calls { first, last, unknown_since: open, earlier, is_doubled, times, note }
            }
            Saved::Counted { at, times, trouble } => of(at, times, trouble),
            Saved::Time(open) => of(open, 1, None),
            Saved::Flag(is_open) => of(is_open.then_some(Timestamp(0)), 1, None),
        }
    }
}

/// A call whose end is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownCall {
    pub since: Timestamp,
    pub calls: Calls,
}

/// One kind of call in the hands of a step; see [`Operation::attempt`].
pub struct Attempt<'a, W: Workflow> {
    op: &'a mut Operation<W>,
    name: &'a str,
}

/// How a test makes a call go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostCall {
    /// It never reaches the external system.
    Request,
    /// It is carried out, and the answer does not come back.
    Answer,
}

/// Decides for the calls of an attempt whether they are lost.
pub type LoseCalls = Arc<dyn Fn(&str) -> Option<LostCall> + Send + Sync>;

const UNSETTLED: &str = "a call whose answer was lost may still be carried out";

impl<W: Workflow> Operation<W> {
    /// A call that may not be repeated blindly, by the name under which it is saved for ever.
    pub fn attempt<'a>(&'a mut self, name: &'a str) -> Attempt<'a, W> {
        Attempt { op: self, name }
    }

    /// What is saved about the calls of this name; nothing if none was ever made.
    pub fn calls(&self, name: &str) -> Result<Option<Calls>, Halt> {
        self.recall_as(name)
    }

    /// For tests: from now on this decides which calls are lost.
    pub fn lose_calls(&mut self, lose: LoseCalls) {
        self.journal.lose_calls = Some(lose);
    }
}

impl<W: Workflow> Attempt<'_, W> {
    /// An earlier call whose end is unknown. One that was announced in this pass is still to be made.
    pub fn unknown(&self) -> Result<Option<UnknownCall>, Halt> {
        let calls = self.op.calls(self.name)?.filter(|_| !self.op.journal.announced.contains(self.name));
        Ok(calls.and_then(|calls| Some(UnknownCall { since: calls.unknown_since?, calls })))
    }

    /// Says that the call comes next in this pass. The intent is saved with whatever is saved next, such as the start of
    /// the step that makes the call, so that it costs no commit of its own.
    pub fn announce(self) -> Result<(), Halt> {
        let now = self.op.now();
        let before = self.op.calls(self.name)?;
        let earlier = before.as_ref().and_then(|calls| calls.unknown_since);
        let is_doubled = earlier.is_some() || before.as_ref().is_some_and(|calls| calls.is_doubled);
        let (first, times) = before.map_or((now, 0), |calls| (calls.first, calls.times));
        let (unknown_since, times) = (Some(now), times.saturating_add(1));
        let calls = Calls { first, last: now, unknown_since, earlier, is_doubled, times, note: None };
        self.op.journal.announced.insert(self.name.to_owned());
        self.op.remember_as(self.name, &calls)
    }

    /// Makes the call with its intent saved, and remembers how it ended. After an error that leaves open whether the call
    /// was carried out, its end is unknown from now on; after any other, that of an earlier call may still be.
    pub async fn call<T, E>(
        self,
        call: impl Future<Output = Result<T, E>>,
        may_have_happened: impl FnOnce(&E) -> bool,
    ) -> Result<Result<T, E>, Halt> {
        let Attempt { op, name } = self;
        if !op.journal.announced.contains(name) {
            op.attempt(name).announce()?;
        }
        if op.journal.pending.facts.contains_key(name) {
            op.save().await?;
        }
        op.journal.announced.remove(name);
        let lost = op.journal.lose_calls.as_ref().and_then(|lose| lose(name));
        if lost == Some(LostCall::Request) {
            return Err(op.attempt(name).lose()?);
        }
        let answer = call.await;
        if lost == Some(LostCall::Answer) {
            return Err(op.attempt(name).lose()?);
        }
        let now = op.now();
        op.attempt(name).ends(|earlier| match &answer {
            Ok(_) => None,
            Err(error) if may_have_happened(error) => Some(now),
            Err(_) => earlier,
        })?;
        Ok(answer)
    }

    /// What an unknown call made is found, and the step goes on with it.
    pub fn adopt(self) -> Result<(), Halt> {
        self.ends(|_| None)
    }

    /// Notes what came instead of an answer, for [`UnknownCall`]. It is saved as it is, so it must hold no secret.
    pub fn note(self, text: String) -> Result<(), Halt> {
        let Some(mut calls) = self.op.calls(self.name)? else { return Ok(()) };
        calls.note = Some(text);
        self.op.remember_as(self.name, &calls)
    }

    /// Waits until a call whose end is unknown is older than `within`: what it makes is there by then, or never comes.
    /// `pause` says after how long to look again, from how long ago the call was made.
    pub fn settle(self, within: Duration, pause: impl FnOnce(Duration) -> Duration) -> Result<(), Halt> {
        let Some(UnknownCall { since, .. }) = self.unknown()? else { return Ok(()) };
        let now = self.op.now();
        let left = since.plus(within).since(now);
        if left.is_zero() {
            return Ok(());
        }
        let after = pause(now.since(since)).min(left);
        Err(Halt::Wait { after, reason: UNSETTLED.to_owned(), key: None })
    }

    fn ends(self, unknown_since: impl FnOnce(Option<Timestamp>) -> Option<Timestamp>) -> Result<(), Halt> {
        let Some(mut calls) = self.op.calls(self.name)? else { return Ok(()) };
        calls.unknown_since = unknown_since(calls.earlier.take());
        self.op.remember_as(self.name, &calls)
    }

    fn lose(self) -> Result<Halt, Halt> {
        let now = self.op.now();
        self.ends(|_| Some(now))?;
        Ok(Halt::Retry { after: None, cause: "a test has lost the answer".into() })
    }
}
