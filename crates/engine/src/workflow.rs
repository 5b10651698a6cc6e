//! A kind of operation: what is asked, what is learned, what is put together.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::clock::Timestamp;
use crate::operation::Operation;
use crate::outcome::Cause;
use crate::phase::Phase;
use crate::secret::Sealer;
use crate::store::RecordUpdate;

/// Anything that may be saved. `SecretString` is not among them, so a secret in a saved type does not compile.
pub trait Record: Serialize + DeserializeOwned + Send + Sync + 'static {}
impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Record for T {}

pub trait Workflow: Send + Sync + 'static {
    /// Name for ever, such as `runtime.provision`.
    const KIND: &'static str;
    /// One sentence for people.
    const ABOUT: &'static str;
    /// It serves other operations, such as by delivering a message: lists for people leave it out unless it is asked for.
    const HOUSEKEEPING: bool = false;
    /// How long an operation may take from its creation until it is given up.
    const DEADLINE: Duration = Duration::from_hours(24);
    /// What was asked. Saved once, never changed.
    type Params: Record;
    /// What all steps share. Saved when it changes.
    type State: Record + Default;
    /// What one pass puts together. Never saved: empty when a pass begins.
    type Input: Default + Send + Sync;

    /// Turns what came in through an API into what is saved. The place to seal secrets and to check what the
    /// types alone do not say. The text of an error names the field and the fix.
    fn admit(asked: Value, _sealer: &Sealer) -> Result<Self::Params, String> {
        parse(asked)
    }

    /// JSON Schema of what a client sends: for forms, completion and people. [`admit`](Self::admit) decides.
    fn schema() -> Value {
        serde_json::json!({"type": "object"})
    }

    /// What people call that which an operation with these params works on, where its submission has no name.
    fn operation_name(_params: &Self::Params) -> Option<String> {
        None
    }

    /// What the record of its resource looks like once the operation rests: it is over, however it ended, or it
    /// is stuck. Saved in the commit that says so. The place to forget what only the operation needed, and to
    /// leave word for others. Nothing leaves the record as its steps portrayed it.
    fn on_settled(_op: &Operation<Self>, _rest: &Settled<'_>) -> Option<RecordUpdate>
    where
        Self: Sized,
    {
        None
    }
}

/// How an operation came to rest.
#[derive(Debug, Clone, Copy)]
pub struct Settled<'a> {
    /// A final phase, or stuck.
    pub phase: Phase,
    /// The step at which it went wrong, where one did.
    pub step: Option<&'a str>,
    pub cause: Option<&'a Cause>,
    pub at: Timestamp,
}

/// Reads a value into a type; an error names the field.
pub fn parse<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| match error.path().to_string().as_str() {
        "." => error.inner().to_string(),
        path => format!("{path}: {}", error.inner()),
    })
}

/// A value that one step remembers between passes, declared in the step's own file.
pub trait Fact: Record {
    /// Name for ever, such as `hello_world.greeting`.
    const KEY: &'static str;
}

/// The record of what operations work on. It is written in the same commit as the operation that changes it.
pub trait Resource: Record {
    /// Name for ever, such as `runtime`.
    const KIND: &'static str;

    /// What lists can filter by.
    fn labels(&self) -> Vec<(&'static str, String)>;

    /// Since when it does not exist any longer.
    fn gone_at(&self) -> Option<Timestamp> {
        None
    }

    /// When the sweep of its product handles it again.
    fn due_at(&self) -> Option<Timestamp> {
        None
    }

    fn record_update(&self) -> Result<RecordUpdate, String> {
        let labels = self.labels().into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let record = serde_json::to_string(self).map_err(|error| error.to_string())?;
        let kind = Self::KIND.to_owned();
        Ok(RecordUpdate { kind, record, labels, gone_at: self.gone_at(), due_at: self.due_at() })
    }
}
