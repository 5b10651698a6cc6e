//! The records of what operations work on: one row per resource, written in the same commit as the operation.

use crate::clock::Timestamp;
use crate::ids::OperationId;
use crate::phase::Phase;
use crate::store::{Ownership, StoreError, Write};

/// What is known about one resource, and about the newest operation on it.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceRow {
    /// The order in which resources were made; the cursor of lists.
    pub number: i64,
    /// The same name as in the operations on it.
    pub name: String,
    pub kind: String,
    pub tenant: String,
    /// Goes up with every write, also when its operation settles or begins again.
    pub version: i64,
    /// JSON; its secrets are sealed.
    pub record: String,
    /// The newest operation that was accepted for it.
    pub operation: Option<OperationId>,
    pub workflow: Option<String>,
    /// `Running` from the moment that operation was accepted, its final phase once that is over.
    pub phase: Option<Phase>,
    pub created_at: Timestamp,
    /// When something besides the version changed last.
    pub updated_at: Timestamp,
    /// Since when it does not exist any longer. The row stays as a tombstone until it is pruned.
    pub gone_at: Option<Timestamp>,
    /// When the sweep of its product handles it again.
    pub due_at: Option<Timestamp>,
}

/// What a resource looks like from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordUpdate {
    pub kind: String,
    pub record: String,
    /// What lists can filter by. Replaces all that were there.
    pub labels: Vec<(String, String)>,
    pub gone_at: Option<Timestamp>,
    pub due_at: Option<Timestamp>,
}

/// A write to a resource on condition that it has not changed since it was read.
#[derive(Debug, Clone)]
pub struct ResourceWrite {
    pub name: String,
    pub tenant: String,
    pub expect: Expect,
    /// `None` leaves it as it is, only the version goes up. What is absent cannot be left as it is: that is
    /// refused.
    pub record_update: Option<RecordUpdate>,
    pub at: Timestamp,
}

impl ResourceWrite {
    /// Nothing can be made of nothing.
    pub fn check(&self) -> Result<(), StoreError> {
        if self.expect == Expect::Absent && self.record_update.is_none() {
            let text = format!("{} does not exist yet and has no record: give it one", self.name);
            return Err(StoreError::Refused(text));
        }
        Ok(())
    }
}

/// What the writer saw when it looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    Absent,
    Version(i64),
}

/// What a write of an operation does to the record of its resource, in the same commit.
#[derive(Debug, Clone, Copy)]
pub struct Touch<'a> {
    pub name: &'a str,
    pub operation: OperationId,
    /// What must be held for the write to be accepted. An event needs its number only.
    pub hold: Option<Ownership>,
    pub record_update: Option<&'a RecordUpdate>,
    /// The phase in which the operation ended: the record learns it if this is still its newest operation.
    pub settles: Option<Phase>,
    pub at: Timestamp,
}

impl Touch<'_> {
    /// An operation that is cancelled while it queues never has its resource, and its end will not name it.
    pub fn left_queue(name: &str, operation: OperationId, at: Timestamp) -> Touch<'_> {
        Touch { name, operation, hold: None, record_update: None, settles: Some(Phase::Cancelled), at }
    }
}

impl Write {
    /// At most one for each name.
    pub fn touches(&self) -> impl Iterator<Item = Touch<'_>> {
        let (operation, hold, at, record_update, settles) = match self {
            Write::Append(append) => {
                (append.id, None, append.event.at, append.record_update.as_deref(), None)
            }
            Write::Park(park) => (park.hold.id, Some(park.hold), park.at, park.record_update.as_ref(), None),
            Write::Finish(finish) => {
                let settles = finish.settles.as_deref().map(|name| (name, finish.phase));
                (finish.hold.id, Some(finish.hold), finish.at, finish.record_update.as_ref(), settles)
            }
            _ => return [None, None].into_iter().flatten(),
        };
        let written_record = record_update.map(|(name, record_update)| {
            let settles = settles.filter(|(of, _)| of == name).map(|(_, phase)| phase);
            Touch { name, operation, hold, record_update: Some(record_update), settles, at }
        });
        let settled = settles.filter(|(name, _)| written_record.is_none_or(|touch| touch.name != *name));
        let settled = settled.map(|(name, phase)| Touch {
            name,
            operation,
            hold,
            record_update: None,
            settles: Some(phase),
            at,
        });
        [written_record, settled].into_iter().flatten()
    }
}

/// Which resources, in the order in which they were made or in its reverse.
#[derive(Debug, Clone, Default)]
pub struct ResourceQuery {
    pub kind: String,
    pub tenant: Option<String>,
    pub names: Vec<String>,
    /// Each key with the values of which one is wanted.
    pub labels: Vec<(String, Vec<String>)>,
    /// The newest operation is of this workflow and in one of these phases; one line must fit. No lines: any.
    pub states: Vec<(String, Vec<Phase>)>,
    /// Also tombstones.
    pub also_gone: bool,
    /// A caller had to look at it by this moment. These come in the order of that time.
    pub due_by: Option<Timestamp>,
    /// The page begins with the newest.
    pub newest_first: bool,
    /// Only what comes after this number: the last one of the page before.
    pub after: Option<i64>,
    /// How many of those to leave out.
    pub offset: usize,
    pub limit: usize,
    /// Whether `total` is wanted.
    pub counts: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResourcePage {
    pub rows: Vec<ResourceRow>,
    /// How many fit the query with no regard to `after`, `offset` and `limit`.
    pub total: Option<u64>,
}

/// Of which resources the values of one label are counted.
#[derive(Debug, Clone, Default)]
pub struct LabelQuery {
    pub kind: String,
    pub key: String,
    /// The values to count.
    pub values: Vec<String>,
    /// Also tombstones.
    pub also_gone: bool,
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::event::{Body, Changes, Event};
    use crate::ids::NodeId;
    use crate::store::{Append, Finish, Park};

    const ID: OperationId = OperationId(Uuid::nil());
    const HOLD: Ownership = Ownership { id: ID, node: NodeId(Uuid::nil()), epoch: 3 };

    fn update() -> RecordUpdate {
        let (kind, record) = ("kind".into(), "{}".into());
        RecordUpdate { kind, record, labels: Vec::new(), gone_at: None, due_at: None }
    }

    fn finish(settles: Option<&str>, written: Option<&str>) -> Write {
        Write::Finish(Box::new(Finish {
            hold: HOLD,
            event: None,
            phase: Phase::Failed,
            cause: None,
            at: Timestamp(9),
            memory: "{}".into(),
            seq: 0,
            settles: settles.map(str::to_owned),
            record_update: written.map(|name| (name.to_owned(), update())),
        }))
    }

    /// Name, whether something must be held, whether there is a record, and how it settles.
    fn touched(write: &Write) -> Vec<(&str, bool, bool, Option<Phase>)> {
        write
            .touches()
            .map(|touch| (touch.name, touch.hold.is_some(), touch.record_update.is_some(), touch.settles))
            .collect()
    }

    #[test]
    fn a_write_touches_the_record_that_it_writes_and_the_one_that_it_settles() {
        let failed = Some(Phase::Failed);
        assert_eq!(touched(&finish(Some("r"), Some("r"))), [("r", true, true, failed)]);
        assert_eq!(touched(&finish(Some("r"), None)), [("r", true, false, failed)]);
        let both = [("s", true, true, None), ("r", true, false, failed)];
        assert_eq!(touched(&finish(Some("r"), Some("s"))), both);
        assert_eq!(touched(&finish(None, None)), []);
        let event = Event {
            seq: 2,
            at: Timestamp(9),
            body: Body::Stepped { changes: Changes::default(), started: None },
        };
        let append = Write::Append(Append {
            id: ID,
            event: event.into(),
            phase: None,
            processed: None,
            consumes: None,
            record_update: Some(Box::new(("r".into(), update()))),
        });
        assert_eq!(touched(&append), [("r", false, true, None)]);
        let park = Write::Park(Box::new(Park {
            hold: HOLD,
            event: None,
            phase: Phase::Waiting,
            at: Timestamp(9),
            due_at: None,
            key: None,
            step: None,
            reason: None,
            memory: None,
            processed: 0,
            not_before: None,
            record_update: Some(("r".into(), update())),
        }));
        assert_eq!(touched(&park), [("r", true, true, None)]);
        let (key, payload) = ("k".into(), serde_json::Value::Null);
        let signal = Write::Signal { key, payload, at: Timestamp(9), limit: None };
        assert_eq!(touched(&signal), []);
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        for (expect, record_update, is_fine) in [
            (Expect::Absent, None, false),
            (Expect::Absent, Some(update()), true),
            (Expect::Version(1), None, true),
            (Expect::Version(1), Some(update()), true),
        ] {
            let (name, tenant, at) = ("r".into(), "t".into(), Timestamp(0));
            let write = ResourceWrite { name, tenant, expect, record_update, at };
            assert_eq!(write.check().is_ok(), is_fine, "{write:?}");
        }
    }
}
