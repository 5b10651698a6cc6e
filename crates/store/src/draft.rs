//! A write on its way to the database.

use engine::store::{RecordUpdate, ResourceWrite, Write};
use engine::{Event, OperationId};

/// A write whose event is text already: callers do that work, many at a time, and the one place that all
/// writes pass through does not.
pub(crate) struct Draft {
    pub(crate) write: Write,
    /// The body of the event, empty where there is none.
    pub(crate) body: String,
}

/// What a write costs besides its texts.
const ROW_BYTES: usize = 64;

impl Draft {
    pub(crate) fn new(write: Write) -> Draft {
        let body = event_of(&write).map(|event| event.body.to_text()).unwrap_or_default();
        Draft { write, body }
    }

    pub(crate) fn event(&self) -> Option<&Event> {
        event_of(&self.write)
    }

    /// The operation that only one writer at a time may touch. Wishes and signals come from any transaction.
    pub(crate) fn operation(&self) -> Option<OperationId> {
        match &self.write {
            Write::Create(create) => Some(create.id),
            Write::Append(append) => Some(append.id),
            Write::Park(park) => Some(park.hold.id),
            Write::Finish(finish) => Some(finish.hold.id),
            Write::Wish { .. } | Write::Signal { .. } | Write::Resource(_) => None,
        }
    }

    /// About how many bytes this adds to a transaction.
    pub(crate) fn weight(&self) -> usize {
        let texts = match &self.write {
            Write::Create(create) => create.params.len() + written(create.subject.as_ref()),
            Write::Park(park) => park.memory.as_ref().map_or(0, |(memory, _)| memory.len()),
            Write::Finish(finish) => finish.memory.len(),
            Write::Resource(write) => written(Some(write)),
            Write::Append(_) | Write::Wish { .. } | Write::Signal { .. } => 0,
        };
        let touched = self.write.touches().filter_map(|touch| touch.record_update).map(record_update_bytes);
        ROW_BYTES + self.body.len() + texts + touched.sum::<usize>()
    }
}

fn event_of(write: &Write) -> Option<&Event> {
    match write {
        Write::Create(create) => Some(&create.event),
        Write::Append(append) => Some(&append.event),
        Write::Park(park) => park.event.as_ref(),
        Write::Finish(finish) => finish.event.as_ref(),
        Write::Wish { .. } | Write::Signal { .. } | Write::Resource(_) => None,
    }
}

fn written(write: Option<&ResourceWrite>) -> usize {
    write.and_then(|write| write.record_update.as_ref()).map_or(0, record_update_bytes)
}

fn record_update_bytes(record_update: &RecordUpdate) -> usize {
    record_update.record.len() + record_update.labels.len() * ROW_BYTES
}
