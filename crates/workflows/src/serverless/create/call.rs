//! Calls that make something, and whose answer may never come. OpenNebula goes on with a call whose caller is gone, so
//! what is not found yet may appear later.

use drivers::opennebula::NebulaError;
use engine::Timestamp;
use engine::prelude::*;

use super::Create;
use crate::serverless::settings::ServerlessSettings;

/// One kind of call, by the name under which its time is remembered.
pub(super) struct Call(pub(super) &'static str);

impl Call {
    /// Whether it was ever made without a known end.
    pub(super) fn is_open(&self, op: &Operation<Create>) -> Result<bool, Halt> {
        Ok(self.made_at(op)?.is_some())
    }

    /// It is made now. This is saved with whatever is saved next.
    pub(super) fn begins(&self, op: &mut Operation<Create>) -> Result<(), Halt> {
        let now = Some(op.now());
        op.remember_as(self.0, &now)
    }

    /// It ended like this; what may have happened all the same stays open from now on.
    pub(super) fn failed(&self, op: &mut Operation<Create>, error: &NebulaError) -> Result<(), Halt> {
        let open_since = error.may_have_happened().then(|| op.now());
        op.remember_as(self.0, &open_since)
    }

    /// Waits while the call may still be on its way.
    pub(super) fn settles(&self, op: &Operation<Create>, settings: &ServerlessSettings) -> Result<(), Halt> {
        let Some(made_at) = self.made_at(op)? else { return Ok(()) };
        let left = made_at.plus(settings.settle).since(op.now());
        if left.is_zero() {
            return Ok(());
        }
        let after = settings.pause(op.now().since(made_at)).min(left);
        let reason = "a call whose answer was lost may still be carried out".to_owned();
        Err(Halt::Wait { after, reason, key: None })
    }

    fn made_at(&self, op: &Operation<Create>) -> Result<Option<Timestamp>, Halt> {
        Ok(op.recall_as::<Option<Timestamp>>(self.0)?.flatten())
    }
}
