//! Decisions that do not depend on the database.

use engine::store::{ControlRequest, Idempotency, Receipt, StoreError};
use engine::{OperationId, Phase, PhaseVerb, Timestamp, Turn};

/// Whether this is the only one of the admins.
pub(crate) fn is_last(admins: &[String], name: &str) -> bool {
    matches!(admins, [only] if only == name)
}

/// What a control request finds when the operation is not finished.
#[derive(Clone, Copy)]
pub(crate) struct RequestTarget {
    pub(crate) phase: Phase,
    pub(crate) queued: bool,
    pub(crate) owned: bool,
}

/// What a control request does to an operation that is not finished.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RequestEffect {
    /// It no longer waits for its resource, and never had it.
    pub(crate) leaves_queue: bool,
    /// It is due at once. An owner hears of it with its next heartbeat instead.
    pub(crate) wakes: bool,
}

impl RequestTarget {
    pub(crate) fn hear(self, control: &ControlRequest) -> Result<RequestEffect, Receipt> {
        if !self.phase.allows(control.verb) {
            return Err(Receipt::NotNow(self.phase));
        }
        let leaves_queue = self.queued && control.verb == PhaseVerb::Cancel;
        Ok(RequestEffect { leaves_queue, wakes: !self.owned && (leaves_queue || !self.queued) })
    }
}

/// A finished operation that a transaction wants something of.
#[derive(Clone, Copy)]
pub(crate) struct Finished {
    pub(crate) phase: Phase,
    pub(crate) created_at: Timestamp,
    pub(crate) deadline_at: Timestamp,
}

impl Finished {
    /// The phase in which it begins again, and its new deadline: the time that it had slept in the archive
    /// does not count.
    pub(crate) fn revive(self, control: &ControlRequest) -> Result<(Phase, Timestamp), Receipt> {
        match self.phase.after(Turn::Revived).filter(|_| self.phase.allows(control.verb)) {
            Some(phase) => Ok((phase, control.at.plus(self.deadline_at.since(self.created_at)))),
            None => Err(Receipt::NotNow(self.phase)),
        }
    }
}

/// The answer to a key that was used before, for `operation`.
pub(crate) fn used_before(asked: &Idempotency, operation: OperationId, digest: &str) -> Receipt {
    if asked.digest == digest { Receipt::Repeated(operation) } else { Receipt::KeyReused }
}

/// What a database at schema version `found` still lacks. A newer one than this program knows is not touched.
pub(crate) fn missing<'a>(
    migrations: &'a [(u32, &'static str)],
    found: u32,
) -> Result<&'a [(u32, &'static str)], StoreError> {
    let known = migrations.last().map_or(0, |(version, _)| *version);
    if found > known {
        return Err(StoreError::Refused(format!(
            "the database has schema version {found} and this program knows only {known}: use a newer program"
        )));
    }
    Ok(&migrations[migrations.partition_point(|(version, _)| *version <= found)..])
}
