//! Calls that make something, and whose answer may never come. The far side goes on with a call whose caller is gone,
//! so what is not found yet may appear later.

use engine::Timestamp;
use engine::prelude::*;

use crate::launch::Launch;
use crate::launch::settings::LaunchSettings;

/// One kind of call, by the name under which it is remembered.
pub(super) struct Call(pub(super) &'static str);

/// What is known about the calls of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Made {
    /// The first one.
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    /// The last one whose end nobody knows.
    pub(super) open: Option<Timestamp>,
    /// The one before that, which a later one does not settle by failing.
    earlier: Option<Timestamp>,
    /// One was made while the end of another was not known, so the far side may have carried out both.
    #[serde(default)]
    pub(super) is_doubled: bool,
}

impl Call {
    pub(super) fn made(&self, op: &Operation<Launch>) -> Result<Option<Made>, Halt> {
        op.recall_as(self.0)
    }

    /// One of them was made without a known end.
    pub(super) fn is_open(&self, op: &Operation<Launch>) -> Result<bool, Halt> {
        Ok(self.made(op)?.is_some_and(|made| made.open.is_some()))
    }

    /// One is made now. To be saved before it is made.
    pub(super) fn begins(&self, op: &mut Operation<Launch>) -> Result<(), Halt> {
        let now = op.now();
        let before = self.made(op)?;
        let first = before.map_or(now, |made| made.first);
        let earlier = before.and_then(|made| made.open);
        let is_doubled = earlier.is_some() || before.is_some_and(|made| made.is_doubled);
        op.remember_as(self.0, &Made { first, last: now, open: Some(now), earlier, is_doubled })
    }

    /// What was asked for is there, and what was made is known.
    pub(super) fn succeeded(&self, op: &mut Operation<Launch>) -> Result<(), Halt> {
        self.leaves(op, |_| None)
    }

    /// It failed. If it may have happened all the same, it stays open from now on; if not, an earlier one that may
    /// have is still open.
    pub(super) fn failed(&self, op: &mut Operation<Launch>, is_unclear: bool) -> Result<(), Halt> {
        let now = op.now();
        self.leaves(op, |made| if is_unclear { Some(now) } else { made.earlier })
    }

    fn leaves(
        &self,
        op: &mut Operation<Launch>,
        open: impl FnOnce(Made) -> Option<Timestamp>,
    ) -> Result<(), Halt> {
        let Some(made) = self.made(op)? else { return Ok(()) };
        op.remember_as(self.0, &Made { open: open(made), earlier: None, ..made })
    }

    /// Waits while one may still be on its way.
    pub(super) fn settles(&self, op: &Operation<Launch>, settings: &LaunchSettings) -> Result<(), Halt> {
        let left = self.unsettled(op, settings)?;
        wait_for(left, UNSETTLED)
    }

    /// The same, with looks every so often in between.
    pub(super) fn settles_soon(
        &self,
        op: &Operation<Launch>,
        settings: &LaunchSettings,
        pause: Duration,
    ) -> Result<(), Halt> {
        let left = self.unsettled(op, settings)?;
        wait_for(left.min(pause), UNSETTLED)
    }

    /// How long one may still be on its way.
    fn unsettled(&self, op: &Operation<Launch>, settings: &LaunchSettings) -> Result<Duration, Halt> {
        let open = self.made(op)?.and_then(|made| made.open);
        Ok(open.map_or(Duration::ZERO, |open| open.plus(settings.settle).since(op.now())))
    }

    /// Waits while the far side may not show yet what the last one made.
    pub(super) fn shows(&self, op: &Operation<Launch>, settings: &LaunchSettings) -> Result<(), Halt> {
        let Some(made) = self.made(op)? else { return Ok(()) };
        wait_for(made.last.plus(settings.settle).since(op.now()), "what was made may not be visible yet")
    }
}

const UNSETTLED: &str = "a call whose answer was lost may still be carried out";

fn wait_for(after: Duration, reason: &str) -> Result<(), Halt> {
    if after.is_zero() {
        return Ok(());
    }
    Err(Halt::Wait { after, reason: reason.to_owned(), key: None })
}
