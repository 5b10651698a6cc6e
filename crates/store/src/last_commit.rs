//! Whether the last commit worked. A database that still answers questions may have no room left to write.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use engine::store::StoreError;

#[derive(Default)]
pub(crate) struct LastCommit {
    /// So that a commit that worked after another one that worked costs no lock.
    has_failed: AtomicBool,
    error: Mutex<Option<StoreError>>,
}

impl LastCommit {
    pub(crate) fn worked(&self) {
        if self.has_failed.swap(false, Ordering::AcqRel) {
            *self.error.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Only what may heal is about the database; the rest is about what was to be written.
    pub(crate) fn failed(&self, error: &StoreError) {
        if error.may_heal() {
            *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
            self.has_failed.store(true, Ordering::Release);
        }
    }

    /// What became of the commit.
    pub(crate) fn note<T>(&self, outcome: &Result<T, StoreError>) {
        match outcome {
            Ok(_) => self.worked(),
            Err(error) => self.failed(error),
        }
    }

    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if !self.has_failed.load(Ordering::Acquire) {
            return Ok(());
        }
        self.error.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_commit_that_worked_ends_a_failure() {
        let last = LastCommit::default();
        assert_eq!(last.check(), Ok(()));
        let full = StoreError::Full("no room".into());
        last.note::<()>(&Err(full.clone()));
        assert_eq!(last.check(), Err(full.clone()));
        last.note::<()>(&Err(StoreError::Fenced));
        last.note::<()>(&Err(StoreError::Refused("bad".into())));
        assert_eq!(last.check(), Err(full), "bad data says nothing about the database");
        last.note(&Ok(()));
        assert_eq!(last.check(), Ok(()));
        last.note::<()>(&Err(StoreError::Refused("bad".into())));
        assert_eq!(last.check(), Ok(()));
    }
}
