//! Many writes in one transaction, sent in one go: one statement of each kind, over arrays.

use std::collections::{HashMap, HashSet};

use engine::store::{Receipt, StoreError, Write};
use tokio_postgres::{Error, Row};
use uuid::Uuid;

use super::columns::{Audits, Consumed, Creates, Finishes, Journal, Parks, Phases, Touches};
use super::connection::{Param, SessionOptions};
use super::failure::TransactionFailure;
use super::resource_statements as resource_sql;
use super::statements as sql;
use super::work::{Job, Work};
use crate::draft::Draft;

/// What became of one write of a batch.
pub(super) enum WriteResult {
    Done(Result<Receipt, StoreError>),
    /// Another transaction has the key or the resource: it has to be looked at alone.
    Contested,
}

pub(super) struct WriteOutcome {
    pub(super) answers: Vec<WriteResult>,
    /// Something is free to be claimed now.
    pub(super) rings: bool,
}

/// The columns of all that is to be written.
pub(super) struct Batch<'a> {
    jobs: &'a [Job],
    journal: Journal<'a>,
    creates: Creates<'a>,
    phases: Phases<'a>,
    consumed: Consumed<'a>,
    parks: Parks<'a>,
    finishes: Finishes<'a>,
    touches: Touches<'a>,
    audits: Audits<'a>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(jobs: &'a [Job]) -> Result<Batch<'a>, StoreError> {
        let mut batch = Batch {
            jobs,
            journal: Journal::default(),
            creates: Creates::default(),
            phases: Phases::default(),
            consumed: Consumed::default(),
            parks: Parks::default(),
            finishes: Finishes::default(),
            touches: Touches::default(),
            audits: Audits::default(),
        };
        for job in jobs {
            match &job.work {
                Work::Write(draft) => batch.add(draft)?,
                Work::Audit(row) => batch.audits.add(row),
            }
        }
        Ok(batch)
    }

    fn add(&mut self, draft: &'a Draft) -> Result<(), StoreError> {
        if let (Some(id), false) = (draft.operation(), matches!(draft.write, Write::Create(_))) {
            self.journal.add(id.0, draft)?;
        }
        match &draft.write {
            Write::Create(create) => self.creates.add(create, draft)?,
            Write::Append(append) => {
                self.phases.add(append);
                self.consumed.extend(append.consumes.as_deref());
            }
            Write::Park(park) => self.parks.add(park)?,
            Write::Finish(finish) => self.finishes.add(finish)?,
            // These are not written by the batch.
            Write::Wish { .. } | Write::Signal { .. } | Write::Resource(_) => {}
        }
        draft.write.touches().for_each(|touch| self.touches.add(touch));
        Ok(())
    }

    fn is_only_appends(&self) -> bool {
        self.journal.ids.len() == self.jobs.len()
            && self.phases.ids.is_empty()
            && self.consumed.keys.is_empty()
            && self.parks.ids.is_empty()
            && self.finishes.ids.is_empty()
            && self.touches.ids.is_empty()
    }

    /// Those whose number exists already.
    pub(super) async fn given(&self, session: &SessionOptions) -> Result<Vec<Uuid>, Error> {
        let rows = session.query(sql::GIVEN, &[&self.journal.ids, &self.journal.seqs]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    pub(super) async fn run(&self, session: &SessionOptions) -> Result<WriteOutcome, TransactionFailure> {
        if self.is_only_appends() {
            session.execute(sql::APPEND, &self.journal.params()).await?;
            let answers = self.jobs.iter().map(|_| WriteResult::Done(Ok(Receipt::Saved))).collect();
            return Ok(WriteOutcome { answers, rings: false });
        }
        Ok(Box::pin(self.transaction(session)).await?)
    }

    /// All statements are sent before the first answer is awaited. When one fails, so do those after it, and
    /// the commit becomes a rollback; so the first error is the one that counts.
    async fn transaction(&self, session: &SessionOptions) -> Result<WriteOutcome, Error> {
        let keys: Vec<&str> = self.parks.keys.iter().flatten().copied().collect();
        let lock: [Param<'_>; 1] = [&keys];
        let (journal, creates, phases) = (self.journal.params(), self.creates.params(), self.phases.params());
        let unused = [&self.creates.ids as Param<'_>, &self.creates.scopes, &self.creates.keys];
        let (consumed, parks) = (self.consumed.params(), self.parks.params());
        let (finishes, finished) = (self.finishes.params(), [&self.finishes.ids as Param<'_>]);
        let (touches, touched) = (self.touches.params(), [&self.touches.names as Param<'_>]);
        let audits = self.audits.params();
        let tells = self.creates.owners.iter().any(Option::is_none);
        let some = |ids: &[Uuid]| !ids.is_empty();

        let done = tokio::join!(
            biased;
            session.say(sql::BEGIN),
            session.query_if(!keys.is_empty(), sql::SHARE_KEYS, &lock),
            session.query_if(some(&self.touches.ids), resource_sql::LOCK_RESOURCES, &touched),
            session.query_if(some(&self.journal.ids), sql::APPEND, &journal),
            session.query_if(some(&self.creates.ids), sql::CREATE, &creates),
            session.query_if(self.creates.may_waste_keys(), sql::UNUSE_KEYS, &unused),
            session.query_if(some(&self.phases.ids), sql::SET_PHASES, &phases),
            session.query_if(!self.consumed.keys.is_empty(), sql::TAKE_SIGNALS, &consumed),
            session.query_if(some(&self.touches.ids), resource_sql::TOUCH, &touches),
            session.query_if(some(&self.parks.ids), sql::PARK, &parks),
            session.query_if(some(&self.finishes.ids), sql::FINISH, &finishes),
            session.query_if(some(&self.finishes.ids), sql::PROMOTE, &finished),
            session.query_if(!self.audits.ats.is_empty(), sql::AUDIT, &audits),
            session.query_if(tells, sql::TELL, &[]),
            session.say(sql::COMMIT),
        );
        let (begun, shared, locked, appended, created, unused, phased, consumed, touched, parked, ..) = done;
        let (.., finished, promoted, audited, told, committed) = done;
        begun?;
        shared?;
        locked?;
        appended?;
        let created = created?;
        for other in [unused, phased, consumed, touched] {
            other?;
        }
        let (parked, finished, promoted) = (parked?, finished?, promoted?);
        for other in [audited, told] {
            other?;
        }
        committed?;
        Ok(self.written(&created, &parked, &finished, !promoted.is_empty()))
    }

    fn written(&self, created: &[Row], parked: &[Row], finished: &[Row], promoted: bool) -> WriteOutcome {
        let created: HashSet<Uuid> = created.iter().map(|row| row.get(0)).collect();
        let parked: HashMap<Uuid, bool> = parked.iter().map(|row| (row.get(0), row.get(1))).collect();
        let finished: HashSet<Uuid> = finished.iter().map(|row| row.get(0)).collect();
        let answer = |job: &Job| {
            let Work::Write(draft) = &job.work else { return WriteResult::Done(Ok(Receipt::Saved)) };
            let is_held = match &draft.write {
                Write::Create(create) if !created.contains(&create.id.0) => return WriteResult::Contested,
                Write::Park(park) => parked.contains_key(&park.hold.id.0),
                Write::Finish(finish) => finished.contains(&finish.hold.id.0),
                _ => true,
            };
            WriteResult::Done(if is_held { Ok(Receipt::Saved) } else { Err(StoreError::Fenced) })
        };
        let is_free = |(id, owner): (&Uuid, &Option<Uuid>)| owner.is_none() && created.contains(id);
        let rings = promoted
            || parked.values().any(|hurried| *hurried)
            || self.creates.ids.iter().zip(&self.creates.owners).any(is_free);
        WriteOutcome { answers: self.jobs.iter().map(answer).collect(), rings }
    }
}
