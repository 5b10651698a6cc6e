//! All declarations of a database, and what this process has read of them.

mod load;
mod save;
mod tidy;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::secret::{ExposeSecret, Sealed};
use engine::store::{SignalLimit, StoreError};
use engine::{Engine, Inspection, SignalError, SubmitError};
use external_step::{Reach, StepClient};
use serde_json::Value;

use crate::declaration::{Declaration, Wrong};
use crate::files::FileError;
use crate::plan::{Front, WorkflowShared};
use crate::record::{Head, Source};
use crate::step::{signal_key, signal_right};

/// How many signals of one operation may be unread: its token is handed to services, which may send any key.
pub const SIGNALS_MAX: u64 = 100;
/// How many bytes they may have together.
pub const SIGNAL_BYTES_MAX: u64 = 1024 * 1024;

/// The declarations that a process knows. Cheap to share.
pub struct Declarations {
    engine: Engine,
    front: Arc<Front>,
    read: Mutex<BTreeMap<String, Read>>,
    /// One change at a time in this process; the database decides between processes.
    saving: tokio::sync::Mutex<()>,
    file_errors: Mutex<BTreeMap<String, FileError>>,
}

/// What this process has read of one workflow.
struct Read {
    /// The version of the row, which goes up with every change.
    row: i64,
    head: Head,
    shared: WorkflowShared,
    /// The versions that the engine has.
    kept: BTreeSet<u32>,
}

/// A declaration as a process knows it.
#[derive(Debug, Clone)]
pub struct Declared {
    pub head: Head,
}

/// What became of a declaration that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    pub workflow: String,
    pub version: u32,
    /// The same content is not a new version.
    pub is_new: bool,
}

/// One call that a dry run lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCall {
    pub step: String,
    pub weight: u16,
    pub title: String,
    pub url: String,
    pub undo: Option<String>,
    /// What decides whether it is made, where that is known only later.
    pub depends_on: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum DeclareError {
    #[error("{0}")]
    Wrong(Wrong),
    /// It does not fit what is there.
    #[error("{0}")]
    Conflict(String),
    #[error("there is no declared workflow {0:?}")]
    Missing(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Wrong> for DeclareError {
    fn from(wrong: Wrong) -> DeclareError {
        DeclareError::Wrong(wrong)
    }
}

impl From<SubmitError> for DeclareError {
    fn from(error: SubmitError) -> DeclareError {
        match error {
            SubmitError::Store(error) => DeclareError::Store(error),
            other => DeclareError::Conflict(other.to_string()),
        }
    }
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Declarations {
    pub fn new(engine: Engine, client: StepClient) -> Arc<Declarations> {
        Arc::new(Declarations {
            engine,
            front: Front::new(client),
            read: Mutex::default(),
            saving: tokio::sync::Mutex::default(),
            file_errors: Mutex::default(),
        })
    }

    pub(crate) fn now(&self) -> engine::Timestamp {
        self.engine.now()
    }

    pub fn front(&self) -> &Arc<Front> {
        &self.front
    }

    /// Reads and checks a declaration as this server would, and keeps nothing.
    pub fn check(&self, text: &str) -> Result<Declaration, DeclareError> {
        let declaration = Declaration::parse(text, self.front.client.reach())?;
        if self.engine.is_compiled(&declaration.workflow) {
            let message =
                format!("{} is a workflow of the program itself; choose another name", declaration.workflow);
            return Err(DeclareError::Wrong(Wrong::nowhere(message)));
        }
        Ok(declaration)
    }

    /// All that this process knows, also those that were deleted and still have operations.
    pub fn all(&self) -> Vec<Declared> {
        open(&self.read).values().map(|read| Declared { head: read.head.clone() }).collect()
    }

    pub fn get(&self, workflow: &str) -> Option<Declared> {
        open(&self.read).get(workflow).map(|read| Declared { head: read.head.clone() })
    }

    /// What is wrong with files of the folder, by file.
    pub fn file_errors(&self) -> Vec<FileError> {
        open(&self.file_errors).values().cloned().collect()
    }

    pub(crate) fn note_file(&self, file: &str, error: Option<FileError>) {
        let mut errors = open(&self.file_errors);
        match error {
            Some(error) => errors.insert(file.to_owned(), error),
            None => errors.remove(file),
        };
    }

    pub(crate) fn source_of(&self, workflow: &str) -> Option<Source> {
        open(&self.read).get(workflow).map(|read| read.head.source.clone())
    }

    /// Whether this is the token that the services of an operation have.
    pub fn opens(&self, inspection: &Inspection, token: &str) -> bool {
        let summary = &inspection.shown.summary;
        let place = summary.resource.as_deref().unwrap_or(&summary.workflow);
        let sealer = self.engine.sealer(&summary.tenant, place);
        let opened = Sealed::parse(token).ok().and_then(|sealed| sealer.open(&sealed).ok());
        opened.is_some_and(|right| right.expose_secret() == signal_right(summary.id))
    }

    /// Tells an operation something; it is kept until the operation asks for it.
    pub async fn signal(
        &self,
        inspection: &Inspection,
        key: &str,
        payload: Value,
    ) -> Result<usize, SignalError> {
        let id = inspection.shown.summary.id;
        let limit =
            SignalLimit { prefix: signal_key(id, ""), signals_max: SIGNALS_MAX, bytes_max: SIGNAL_BYTES_MAX };
        self.engine.signal_within(&signal_key(id, key), payload, limit).await
    }

    /// The calls that an operation with these params would make, in their order. Nothing is called.
    pub async fn dry_run(
        &self,
        workflow: &str,
        tenant: &str,
        asked: &Value,
    ) -> Result<Vec<PlannedCall>, DeclareError> {
        let missing = || DeclareError::Missing(workflow.to_owned());
        let version = self.get(workflow).and_then(|declared| declared.head.offered).ok_or_else(missing)?;
        let record = self.version(workflow, version).await?.ok_or_else(missing)?;
        let declaration = Declaration::parse(&record.text, Reach::ALL)?;
        let refused = |why: String| DeclareError::Wrong(Wrong::nowhere(why));
        let sealer = self.engine.sealer(tenant, workflow);
        let params = declaration.params.admit(asked, &sealer).map_err(refused)?;
        if let Some(resource) = &declaration.resource {
            resource.fill(tenant, &params).map_err(refused)?;
        }
        let calls = declaration.steps.into_iter().filter_map(|step| {
            let depends_on = step.when.as_ref().and_then(|when| when.step()).map(str::to_owned);
            let applies = step.when.as_ref().is_none_or(|when| when.is_true(&params, |_, _| None));
            (applies || depends_on.is_some()).then(|| PlannedCall {
                step: step.name,
                weight: step.weight,
                title: step.title,
                url: step.url.to_string(),
                undo: step.undo.map(|url| url.to_string()),
                depends_on,
            })
        });
        Ok(calls.collect())
    }
}
