//! Decisions that do not depend on the database.

use engine::store::{Idempotency, Receipt, StoreError, Wish};
use engine::{OperationId, Phase, Timestamp, Turn, Verb};

/// Whether this is the only one of the admins.
pub(crate) fn is_last(admins: &[String], name: &str) -> bool {
    matches!(admins, [only] if only == name)
}

/// What a wish finds when the operation is not finished.
#[derive(Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) phase: Phase,
    pub(crate) queued: bool,
    pub(crate) owned: bool,
}

/// What a wish does to an operation that is not finished.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    /// It no longer waits for its resource, and never had it.
    pub(crate) leaves_queue: bool,
    /// It is due at once. An owner hears of it with its next heartbeat instead.
    pub(crate) wakes: bool,
}

impl Standing {
    pub(crate) fn hear(self, wish: &Wish) -> Result<Heard, Receipt> {
        if !self.phase.allows(wish.verb) {
            return Err(Receipt::NotNow(self.phase));
        }
        let leaves_queue = self.queued && wish.verb == Verb::Cancel;
        Ok(Heard { leaves_queue, wakes: !self.owned && (leaves_queue || !self.queued) })
    }
}

/// A finished operation that somebody wants something of.
#[derive(Clone, Copy)]
pub(crate) struct Finished {
    pub(crate) phase: Phase,
    pub(crate) created_at: Timestamp,
    pub(crate) deadline_at: Timestamp,
}

impl Finished {
    /// The phase in which it begins again, and its new deadline: the time that it had slept in the archive
    /// does not count.
    pub(crate) fn revive(self, wish: &Wish) -> Result<(Phase, Timestamp), Receipt> {
        match self.phase.after(Turn::Revived).filter(|_| self.phase.allows(wish.verb)) {
            Some(phase) => Ok((phase, wish.at.plus(self.deadline_at.since(self.created_at)))),
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
