//! `Operation<W>`: the handle a step gets.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::attempt::LoseCalls;
use crate::clock::{Clock, Timestamp};
use crate::event::{Body, Changes, Event};
use crate::event_feed::EventFeed;
use crate::ids::OperationId;
use crate::memory::Memory;
use crate::outcome::{Abandon, Halt};
use crate::phase::Phase;
use crate::secret::{Sealed, Sealer, SecretError, SecretString};
use crate::store::{Append, Ownership, Receipt, RecordUpdate, Store, StoreError, TakenSignal, Write};
use crate::unknown::Unknown;
use crate::workflow::{Fact, Record, Resource, Workflow};

/// One durable run of a workflow for one resource, as its steps see it.
pub struct Operation<W: Workflow> {
    pub id: OperationId,
    pub tenant: String,
    pub resource: Option<String>,
    pub created_at: Timestamp,
    pub deadline_at: Timestamp,
    /// What was asked: saved, fixed.
    pub params: W::Params,
    /// What the steps share: saved when it changes.
    pub state: W::State,
    /// What this pass puts together: empty when a pass begins.
    pub input: W::Input,
    pub(crate) journal: JournalWriter,
}

/// The engine's side of an operation: its memory, and the pen that writes the journal.
pub(crate) struct JournalWriter {
    pub(crate) memory: Memory,
    pub(crate) seq: u32,
    pub(crate) hold: Ownership,
    /// What steps learned since the last event.
    pub(crate) pending: Changes,
    /// Attempts whose call is still to be made in this pass.
    pub(crate) announced: BTreeSet<String>,
    pub(crate) lose_calls: Option<LoseCalls>,
    /// What the resource looks like now, until that is saved.
    pub(crate) record_update: Option<(String, RecordUpdate)>,
    /// What it looked like when it was last saved, as far as this node knows.
    pub(crate) written_record: Option<RecordUpdate>,
    /// What the saved state has that this release does not know.
    pub(crate) unknown: Option<Unknown>,
    pub(crate) sealer: Sealer,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) event_feed: EventFeed,
}

/// What is saved in the same commit as an event, outside the journal.
#[derive(Default)]
pub(crate) struct AppendExtras {
    pub(crate) phase: Option<Phase>,
    /// The control request that the event deals with.
    pub(crate) processed: Option<i64>,
    pub(crate) consumes: Option<TakenSignal>,
}

impl<W: Workflow> Operation<W> {
    /// What a step remembered in this or an earlier pass.
    pub fn recall<F: Fact>(&self) -> Result<Option<F>, Halt> {
        self.recall_as(F::KEY)
    }

    /// Remembers a value. It is saved together with the step's outcome, whatever that is, before anything else
    /// happens; to have it saved at once, in the middle of a step, call [`save`](Self::save) after it.
    pub fn remember<F: Fact>(&mut self, fact: &F) -> Result<(), Halt> {
        self.remember_as(F::KEY, fact)
    }

    /// Like [`recall`](Self::recall), for a step whose name, and with it the key, comes from configuration.
    pub fn recall_as<T: Record>(&self, key: &str) -> Result<Option<T>, Halt> {
        let saved = self.journal.pending.facts.get(key).or_else(|| self.journal.memory.facts.get(key));
        let Some(value) = saved else { return Ok(None) };
        serde_json::from_value(value.clone()).map(Some).map_err(|error| {
            Halt::fail(format!("the fact {key} was saved by another release and cannot be read: {error}"))
        })
    }

    /// Like [`remember`](Self::remember), for a step whose name comes from configuration.
    pub fn remember_as<T: Record>(&mut self, key: &str, fact: &T) -> Result<(), Halt> {
        let value = serde_json::to_value(fact)
            .map_err(|error| Halt::fail(format!("cannot remember {key}: {error}")))?;
        let value = self.with_unknown::<T>(key, value);
        if self.journal.memory.facts.get(key) == Some(&value) {
            self.journal.pending.facts.remove(key);
        } else {
            self.journal.pending.facts.insert(key.to_owned(), value);
        }
        Ok(())
    }

    /// A fact that another release saved before may have fields that this one does not know.
    fn with_unknown<T: Record>(&self, key: &str, value: Value) -> Value {
        let saved = self.journal.memory.facts.get(key);
        let read = saved.and_then(|saved| serde_json::from_value::<T>(saved.clone()).ok());
        match saved.zip(read).and_then(|(saved, read)| Unknown::of(saved, &read)) {
            Some(unknown) => unknown.restore::<T>(value),
            None => value,
        }
    }

    /// Saves facts and state now. Costs a commit, and nothing when there is nothing new. A call that may not
    /// be repeated blindly is an [`attempt`](Self::attempt), which saves by itself.
    pub async fn save(&mut self) -> Result<(), Halt> {
        self.collect();
        if self.journal.pending.is_empty() {
            return Ok(());
        }
        let started = self.journal.memory.open.clone();
        self.journal.append(|changes| Body::Stepped { changes, started }).await
    }

    /// The record of the resource that this operation works on.
    pub async fn subject<R: Resource>(&self) -> Result<Option<R>, Halt> {
        match &self.resource {
            Some(name) => self.record(name).await,
            None => Ok(None),
        }
    }

    /// The record of another resource, which others write.
    pub async fn record<R: Resource>(&self, name: &str) -> Result<Option<R>, Halt> {
        let found = self.journal.store.resource(name).await.map_err(unsaved)?;
        let Some(row) = found.filter(|row| row.kind == R::KIND) else { return Ok(None) };
        serde_json::from_str(&row.record)
            .map(Some)
            .map_err(|error| Halt::fail(format!("the record of {name} cannot be read: {error}")))
    }

    /// Says what the resource looks like now. It is saved with whatever is saved next, at the latest when the
    /// operation waits or ends.
    pub fn set_record<R: Resource>(&mut self, record: &R) -> Result<(), Halt> {
        let Some(name) = self.resource.clone() else { return Ok(()) };
        let record_update = record.record_update();
        let record_update = record_update
            .map_err(|error| Halt::fail(format!("cannot save the record of {name}: {error}")))?;
        let is_new = self.journal.written_record.as_ref() != Some(&record_update);
        self.journal.record_update = is_new.then_some((name, record_update));
        Ok(())
    }

    /// The same for the same operation and label for ever, and different for any other. Every create call
    /// carries one, as key, name, tag or label, so that after a crash the step finds what it made. An operator
    /// who starts an operation again after it was undone begins a new round, with new tokens.
    pub fn idempotency_key(&self, label: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(self.journal.memory.round.to_be_bytes());
        hash.update(label.as_bytes());
        let digest = hash.finalize();
        let short = u64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes"));
        format!("{}-{short:016x}", self.id.0.simple())
    }

    pub fn seal(&self, secret: &SecretString) -> Sealed {
        self.journal.sealer.seal(secret)
    }

    pub fn open(&self, sealed: &Sealed) -> Result<SecretString, Halt> {
        self.journal.sealer.open(sealed).map_err(|error| match error {
            // Another node has rotated the ring; this one will have the new key in a moment.
            SecretError::UnknownKey(_) => Halt::Retry { after: None, cause: error.to_string().into() },
            _ => Halt::fail(error.to_string()),
        })
    }

    /// A value that an earlier step must have put into the state.
    pub fn need<'a, T>(
        &'a self,
        name: &str,
        field: impl FnOnce(&'a W::State) -> Option<&'a T>,
    ) -> Result<&'a T, Halt> {
        field(&self.state).ok_or_else(|| Halt::fail(format!("{name} is not known yet")))
    }

    /// The steps that were skipped and have not been done since.
    pub fn skipped(&self) -> Vec<String> {
        let JournalWriter { memory, pending, .. } = &self.journal;
        let names = memory.skipped.keys().chain(pending.skipped.keys());
        let names: BTreeSet<&String> = names.filter(|name| !pending.done.contains(*name)).collect();
        names.into_iter().cloned().collect()
    }

    /// What the outside said under this key, if it has said anything while this operation waited for it.
    pub fn signalled(&self, key: &str) -> Option<&Value> {
        self.journal.memory.signals.get(key)
    }

    /// How often a step was tried again since it last got on.
    pub fn tries(&self, step: &str, undo: bool) -> u32 {
        self.journal.memory.budget(step, undo).attempts
    }

    pub fn now(&self) -> Timestamp {
        self.journal.clock.now()
    }

    /// Notices what changed in the state since it was last saved.
    pub(crate) fn collect(&mut self) {
        let state = serde_json::to_value(&self.state).unwrap_or(Value::Null);
        let state = match &self.journal.unknown {
            Some(unknown) => unknown.restore::<W::State>(state),
            None => state,
        };
        self.journal.pending.state = (state != self.journal.memory.state).then_some(state);
    }

    /// Takes the state as the memory has it.
    pub(crate) fn restore_state(&mut self) {
        let saved = &self.journal.memory.state;
        self.state = serde_json::from_value(saved.clone()).unwrap_or_default();
        self.journal.unknown = Unknown::of(saved, &self.state);
    }

    /// Forgets what a pass put together.
    pub(crate) fn begin_pass(&mut self) {
        self.input = W::Input::default();
        self.journal.announced.clear();
    }
}

impl JournalWriter {
    /// The next line of the journal, with everything that is pending.
    pub(crate) fn next(&mut self, body: impl FnOnce(Changes) -> Body) -> Event {
        let changes = std::mem::take(&mut self.pending);
        Event { seq: self.seq + 1, at: self.clock.now(), body: body(changes) }
    }

    /// What the operation knows once this event is durable.
    pub(crate) fn learned(&mut self, event: Event) {
        self.seq = event.seq;
        self.memory.apply(event);
        self.event_feed.tell(self.hold.id, self.seq);
    }

    pub(crate) async fn append(&mut self, body: impl FnOnce(Changes) -> Body) -> Result<(), Halt> {
        self.append_with(body, AppendExtras::default()).await
    }

    pub(crate) async fn append_with(
        &mut self,
        body: impl FnOnce(Changes) -> Body,
        beside: AppendExtras,
    ) -> Result<(), Halt> {
        let event = Arc::new(self.next(body));
        let record_update = self.record_update.take();
        let saved = record_update.as_ref().map(|(_, record_update)| record_update.clone());
        let append = Append {
            id: self.hold.id,
            event: Arc::clone(&event),
            phase: beside.phase,
            processed: beside.processed,
            consumes: beside.consumes.map(Box::new),
            record_update: record_update.map(Box::new),
        };
        self.commit(Write::Append(append)).await?;
        self.written_record = saved.or(self.written_record.take());
        self.learned(Arc::unwrap_or_clone(event));
        Ok(())
    }

    pub(crate) async fn commit(&self, write: Write) -> Result<(), Halt> {
        match self.store.commit(write).await {
            Ok(Receipt::Saved) => Ok(()),
            Ok(other) => Err(lost(format!("unexpected receipt {other:?}"))),
            Err(StoreError::Fenced) => Err(Halt::LetGo(Abandon::Fenced)),
            Err(error) => Err(unsaved(error)),
        }
    }
}

fn unsaved(error: StoreError) -> Halt {
    match error {
        StoreError::Refused(_) => Halt::fail(error.to_string()),
        error => lost(error.to_string()),
    }
}

fn lost(why: String) -> Halt {
    Halt::LetGo(Abandon::StoreLost(why))
}
