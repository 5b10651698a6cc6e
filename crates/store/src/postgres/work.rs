//! What a committer is asked to write.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use engine::AuditRow;
use engine::store::{Receipt, StoreError, Write};
use tokio::sync::oneshot;
use tokio::time::Instant;
use uuid::Uuid;

use crate::draft::Draft;

pub(super) enum Work {
    Write(Draft),
    Audit(AuditRow),
}

impl Work {
    pub(super) fn draft(&self) -> Option<&Draft> {
        match self {
            Work::Write(draft) => Some(draft),
            Work::Audit(_) => None,
        }
    }

    pub(super) fn weight(&self) -> usize {
        match self {
            Work::Write(draft) => draft.weight(),
            Work::Audit(row) => row.request.len() + row.result.len() + row.target.len(),
        }
    }

    /// Two writes with the same answer here must not be in the same statement.
    pub(super) fn operation(&self) -> Option<Uuid> {
        self.draft().and_then(Draft::operation).map(|id| id.0)
    }

    /// What needs a look before it is written, and so is done one after the other.
    pub(super) fn is_contended(&self) -> bool {
        match self.draft().map(|draft| &draft.write) {
            Some(Write::Wish { .. } | Write::Signal { .. } | Write::Resource(_)) => true,
            Some(Write::Create(create)) => {
                create.subject.is_some() || create.beside.is_some() || create.supersedes.is_some()
            }
            _ => false,
        }
    }

    /// Whether this touches the record of one of these resources. Those that it touches are among them from
    /// now on.
    pub(super) fn touches_again(&self, names: &mut HashSet<String>) -> bool {
        let mut again = false;
        for touch in self.draft().into_iter().flat_map(|draft| draft.write.touches()) {
            again |= !names.insert(touch.name.to_owned());
        }
        again
    }

    pub(super) fn spread(&self) -> usize {
        let mut hasher = DefaultHasher::new();
        match self {
            Work::Write(Draft { write: Write::Wish { id, .. }, .. }) => id.hash(&mut hasher),
            Work::Write(Draft { write: Write::Signal { key, .. }, .. }) => key.hash(&mut hasher),
            Work::Write(Draft { write: Write::Resource(write), .. }) => write.name.hash(&mut hasher),
            other => other.operation().hash(&mut hasher),
        }
        usize::try_from(hasher.finish() >> 32).unwrap_or_default()
    }
}

pub(super) struct Job {
    pub(super) work: Work,
    pub(super) caller: oneshot::Sender<Result<Receipt, StoreError>>,
    /// It waits no longer than this for a row that others hold.
    pub(super) until: Instant,
    /// The shortest way did not do; see [`super::batch_statements::WRITE`].
    pub(super) is_contested: bool,
}

impl Job {
    pub(super) fn is_create(&self) -> bool {
        matches!(&self.work, Work::Write(Draft { write: Write::Create(_), .. }))
    }

    pub(super) fn answer(self, answer: Result<Receipt, StoreError>) {
        // The caller goes on with the event that it asked to save, and should be the only one that has it.
        let Job { work, caller, .. } = self;
        drop(work);
        // The transaction that asked may have gone away; what is saved stays saved.
        let _ = caller.send(answer);
    }
}
