//! Writes to rows that a transaction holds, such as a person in a transaction of `psql`. They wait in a queue of their
//! own, so that no other write waits with them.

use std::collections::HashSet;

use engine::store::StoreError;
use uuid::Uuid;

use super::committer::{CommitQueue, refuse};
use super::connection::BATCH_TIMEOUT;
use super::statements as sql;
use super::work::Job;

impl CommitQueue {
    /// A lock was not to be had for this batch. Those who need a row that others hold leave it, and the rest is
    /// tried again; where it is not about the row of an operation, by halves.
    pub(super) async fn apart(&self, mut part: Vec<Job>, why: String) -> Vec<Vec<Job>> {
        if part.len() == 1 {
            self.wait_apart(part, &why);
            return Vec::new();
        }
        let unlocked = self.unlocked(&part).await;
        let is_held = |job: &Job| job.work.operation().is_some_and(|id| !unlocked.contains(&id));
        let (held, mut rest): (Vec<Job>, Vec<Job>) = part.drain(..).partition(is_held);
        if held.is_empty() {
            let half = rest.split_off(rest.len() / 2);
            return vec![half, rest];
        }
        self.wait_apart(held, &why);
        vec![rest]
    }

    /// The operations of this batch whose rows can be locked, or are not there.
    async fn unlocked(&self, part: &[Job]) -> HashSet<Uuid> {
        let ids: Vec<Uuid> = part.iter().filter_map(|job| job.work.operation()).collect();
        let all = || ids.iter().copied().collect();
        let Ok(session) = self.line.session().await else { return all() };
        match session.in_time(BATCH_TIMEOUT, session.query(sql::UNLOCKED, &[&ids])).await {
            Ok(Ok(rows)) => rows.iter().map(|row| row.get(0)).collect(),
            _ => all(),
        }
    }

    /// They are tried again in the queue of those that wait, until their time is over.
    pub(super) fn wait_apart(&self, jobs: Vec<Job>, why: &str) {
        let queue = self.locked.upgrade();
        for job in jobs {
            let refused = match &queue {
                Some(queue) if tokio::time::Instant::now() < job.until => queue.send(job).err().map(|e| e.0),
                _ => Some(job),
            };
            if let Some(job) = refused {
                refuse(vec![job], &StoreError::Unavailable(why.to_owned()));
            }
        }
    }
}
