//! Many writes in one transaction, sent in one go: one statement of each kind, over arrays.

use std::collections::{HashMap, HashSet};

use engine::store::{Receipt, StoreError, Write};
use tokio_postgres::{Error, Row};
use uuid::Uuid;

use super::columns::{Audits, Consumed, Creates, Finishes, Journal, Parks, Phases, Touches};
use super::connection::{Param, SessionOptions};
use super::failure::TransactionFailure;
use super::work::{Job, Work};
use super::{batch_statements as batch_sql, resource_statements as resource_sql, statements as sql};
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
    /// All events but those of operations that are created.
    journal: Journal<'a>,
    /// Those of them that neither end an operation nor make it wait.
    appended: Journal<'a>,
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
            appended: Journal::default(),
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
                self.appended.add(append.id.0, draft)?;
                self.phases.add(append);
                self.consumed.extend(append.consumes.as_deref());
            }
            Write::Park(park) => self.parks.add(park)?,
            Write::Finish(finish) => self.finishes.add(finish, draft)?,
            // These are not written by the batch.
            Write::Wish { .. } | Write::Signal { .. } | Write::Resource(_) => {}
        }
        draft.write.touches().for_each(|touch| self.touches.add(touch));
        Ok(())
    }

    fn is_only_appends(&self) -> bool {
        self.appended.ids.len() == self.jobs.len()
            && self.phases.ids.is_empty()
            && self.consumed.keys.is_empty()
            && self.touches.ids.is_empty()
    }

    /// Whether one statement may be enough: nothing but operations that begin here, go on and end, without records and
    /// without queues.
    fn is_plain(&self) -> bool {
        let (appended, created, finished) = (&self.appended.ids, &self.creates.ids, &self.finishes.ids);
        appended.len() + created.len() + finished.len() == self.jobs.len()
            && self.phases.ids.is_empty()
            && self.consumed.keys.is_empty()
            && self.touches.ids.is_empty()
            && self.creates.owners.iter().all(Option::is_some)
            && !self.creates.may_waste_keys()
            && !self.jobs.iter().any(|job| job.is_contested)
    }

    /// Those whose number exists already.
    pub(super) async fn given(&self, session: &SessionOptions) -> Result<Vec<Uuid>, Error> {
        let rows = session.query(sql::GIVEN, &[&self.journal.ids, &self.journal.seqs]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    pub(super) async fn run(&self, session: &SessionOptions) -> Result<WriteOutcome, TransactionFailure> {
        if self.is_only_appends() {
            session.execute(batch_sql::APPEND, &self.journal.params()).await?;
            let answers = self.jobs.iter().map(|_| WriteResult::Done(Ok(Receipt::Saved))).collect();
            return Ok(WriteOutcome { answers, rings: false });
        }
        if self.is_plain() {
            return Ok(self.write(session).await?);
        }
        Ok(Box::pin(self.transaction(session)).await?)
    }

    /// One statement is a transaction of its own.
    async fn write(&self, session: &SessionOptions) -> Result<WriteOutcome, Error> {
        let (creates, appended) = (self.creates.params(), self.appended.params());
        let finishes = self.finishes.params();
        let events = self.finishes.events();
        let params = [&creates[..], &appended, &finishes, &events].concat();
        let rows = session.query(batch_sql::WRITE, &params).await?;
        let written: HashSet<Uuid> = rows.iter().map(|row| row.get(0)).collect();
        let answer = |job: &Job| match job.work.draft().map(|draft| &draft.write) {
            Some(Write::Create(create)) if !written.contains(&create.id.0) => WriteResult::Contested,
            Some(Write::Finish(finish)) if !written.contains(&finish.hold.id.0) => WriteResult::Contested,
            _ => WriteResult::Done(Ok(Receipt::Saved)),
        };
        Ok(WriteOutcome { answers: self.jobs.iter().map(answer).collect(), rings: false })
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
            session.query_if(some(&self.journal.ids), batch_sql::APPEND, &journal),
            session.query_if(some(&self.creates.ids), batch_sql::CREATE, &creates),
            session.query_if(self.creates.may_waste_keys(), sql::UNUSE_KEYS, &unused),
            session.query_if(some(&self.phases.ids), sql::SET_PHASES, &phases),
            session.query_if(!self.consumed.keys.is_empty(), sql::TAKE_SIGNALS, &consumed),
            session.query_if(some(&self.touches.ids), resource_sql::TOUCH, &touches),
            session.query_if(some(&self.parks.ids), sql::PARK, &parks),
            session.query_if(some(&self.finishes.ids), batch_sql::FINISH, &finishes),
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

#[cfg(test)]
mod tests {
    use engine::store::{Append, Create, Finish, Idempotency, Ownership};
    use engine::{Body, Changes, Event, NodeId, OperationId, Phase, Timestamp};
    use tokio::time::Instant;

    use super::*;

    const HOLD: Ownership = Ownership { id: OperationId(Uuid::nil()), node: NodeId(Uuid::nil()), epoch: 1 };

    fn event() -> Event {
        let body = Body::Stepped { changes: Changes::default(), started: None };
        Event { seq: 2, at: Timestamp(2), body }
    }

    fn create() -> Create {
        Create {
            name: None,
            id: HOLD.id,
            workflow: "w".into(),
            tenant: "t".into(),
            resource: None,
            params: "{}".into(),
            created_at: Timestamp(1),
            deadline_at: Timestamp(9),
            owner: Some(HOLD.node),
            event: event(),
            idempotency: None,
            queue: false,
            subject: None,
            beside: None,
            supersedes: None,
        }
    }

    fn append() -> Append {
        let (id, event) = (HOLD.id, event().into());
        Append { id, event, phase: None, processed: None, consumes: None, record_update: None }
    }

    fn finish() -> Finish {
        let (settles, record_update) = (None, None);
        Finish {
            hold: HOLD,
            event: Some(event()),
            phase: Phase::Succeeded,
            cause: None,
            at: Timestamp(3),
            memory: "{}".into(),
            seq: 0,
            settles,
            record_update,
        }
    }

    fn job(write: Write) -> Job {
        let (caller, _) = tokio::sync::oneshot::channel();
        Job { work: Work::Write(Draft::new(write)), caller, until: Instant::now(), is_contested: false }
    }

    #[track_caller]
    fn check(other: Job, is_plain: bool) {
        let whole =
            [Write::Create(Box::new(create())), Write::Append(append()), Write::Finish(Box::new(finish()))];
        let jobs: Vec<Job> = whole.into_iter().map(job).chain([other]).collect();
        assert_eq!(Batch::new(&jobs).unwrap().is_plain(), is_plain);
    }

    #[test]
    fn only_what_one_statement_does_as_a_whole_is_left_to_one() {
        let new = |create| job(Write::Create(Box::new(create)));
        let same = || Some(Idempotency { scope: "s".into(), key: "k".into(), digest: "d".into() });
        let resource = || Some("r".to_owned());
        check(job(Write::Append(append())), true);
        check(new(Create { idempotency: same(), ..create() }), true);
        check(new(Create { resource: resource(), ..create() }), true);
        check(new(Create { resource: resource(), idempotency: same(), ..create() }), false);
        // Another node has to hear of it.
        check(new(Create { owner: None, ..create() }), false);
        check(job(Write::Append(Append { phase: Some(Phase::Undoing), ..append() })), false);
        check(job(Write::Append(Append { processed: Some(1), ..append() })), false);
        // The next one in a queue has its turn.
        check(job(Write::Finish(Box::new(Finish { settles: resource(), ..finish() }))), false);
        check(Job { is_contested: true, ..job(Write::Finish(Box::new(finish()))) }, false);
    }
}
