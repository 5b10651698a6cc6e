//! What drives orchestrations: a sweep over the records that are due, on every node at once. Each change of an
//! orchestration replaces the version of its record that it was decided by, so that two nodes never begin too many.

mod begin;
mod requeue;
mod resolve;
mod settle;

pub(crate) use resolve::chosen;

use std::sync::Arc;
use std::time::Duration;

use engine::due::{self, Backoff, Handled, Swept};
use engine::store::{Expect, LabelQuery, ResourceQuery, ResourceRow, StoreError};
use engine::{Engine, Resource, SubmitError, Timestamp};
use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::model::orchestration::decide::{self, Counts};
use crate::model::orchestration::window::Windows;
use crate::model::orchestration::{OrchestrationRecord, OrchestrationState, TargetRecord, TargetState};
use crate::model::settings::RuntimesSettings;

/// For the journal of the upgrades, and the scope of their keys.
pub const BY: &str = "upgrades";
/// The tenant of the records, which belong to no customer.
pub const TENANT: &str = "upgrades";
/// Records that are read or written at a time.
const PAGE: usize = 500;

/// Looks for orchestrations that are due until the process stops.
pub async fn keep_advancing(
    engine: Engine,
    runtimes: Arc<RuntimesSettings>,
    every: Duration,
    closing: CancellationToken,
) {
    let mut backoff = Backoff::default();
    loop {
        if let Err(error) = sweep(&engine, &runtimes.windows, every, &mut backoff).await {
            warn!(%error, "looking for upgrades that are due failed, retrying later");
        }
        tokio::select! {
            () = closing.cancelled() => return,
            () = tokio::time::sleep(every) => {}
        }
    }
}

/// Advances all orchestrations that are due. Any number of nodes may do so at once.
pub async fn sweep(
    engine: &Engine,
    windows: &Windows,
    check: Duration,
    backoff: &mut Backoff,
) -> Result<Swept, StoreError> {
    let advance = |row, record| async move { advance(engine, windows, check, row, record).await };
    due::sweep(engine, engine.now(), backoff, advance).await
}

/// An orchestration in the hands of one node, with the version that it has read.
struct OrchestrationRound<'a> {
    engine: &'a Engine,
    windows: &'a Windows,
    check: Duration,
    name: String,
    version: i64,
    record: OrchestrationRecord,
}

/// A target with the version that was read.
struct StoredTarget {
    row: ResourceRow,
    target: TargetRecord,
}

/// One round: what ended is noted, and as many begin as may.
async fn advance(
    engine: &Engine,
    windows: &Windows,
    check: Duration,
    row: ResourceRow,
    record: OrchestrationRecord,
) -> Result<Handled, SubmitError> {
    let mut job = OrchestrationRound { engine, windows, check, name: row.name, version: row.version, record };
    if !job.record.is_resolved
        && matches!(job.record.state, OrchestrationState::Pending | OrchestrationState::InProgress)
    {
        job.resolve().await?;
    }
    job.settle().await?;
    if job.record.retry.is_some() && job.record.state != OrchestrationState::Canceling {
        job.requeue_failed().await?;
    }
    match job.record.state {
        OrchestrationState::Canceling => job.cancel_pending().await?,
        OrchestrationState::Pending => {
            let begins_at = job.record.strategy.begins_at;
            if begins_at.is_none_or(|at| at <= engine.now()) {
                job.record.state = OrchestrationState::InProgress;
                "upgrading".clone_into(&mut job.record.description);
            }
        }
        _ => {}
    }
    job.begin().await?;
    job.finish().await?;
    Ok(Handled::Done)
}

impl OrchestrationRound<'_> {
    /// Decides what follows the round, and saves it.
    async fn finish(&mut self) -> Result<(), SubmitError> {
        let now = self.engine.now();
        if self.record.running.is_empty() {
            let counts = counts(self.engine, &self.record).await?;
            if let Some((state, description)) = decide::next_state(&self.record, &counts) {
                info!(
                    orchestration = self.record.id,
                    state = state.as_str(),
                    description,
                    "orchestration changed"
                );
                self.record.state = state;
                self.record.description = description;
                self.record.finished_at = state.is_final().then_some(now);
            }
        }
        self.record.due_at = self.next_look(now).await?;
        self.save().await
    }

    async fn next_look(&self, now: Timestamp) -> Result<Option<Timestamp>, SubmitError> {
        let soon = now.plus(self.check);
        if !self.record.running.is_empty() {
            return Ok(Some(soon));
        }
        match self.record.state {
            state if state.is_final() => Ok(None),
            OrchestrationState::Paused => Ok(None),
            OrchestrationState::Pending => Ok(Some(self.record.strategy.begins_at.unwrap_or(soon).max(soon))),
            OrchestrationState::InProgress => {
                let next = self.pending(Timestamp(i64::MAX), 1).await?.pop();
                Ok(Some(next.map_or(soon, |next| next.target.begins_at.max(soon))))
            }
            _ => Ok(Some(soon)),
        }
    }

    /// Replaces the record that was read, and no later one.
    async fn save(&mut self) -> Result<(), SubmitError> {
        let update = self.record.record_update().map_err(SubmitError::Invalid)?;
        let expect = Expect::Version(self.version);
        if !self.engine.write_resource(&self.name, TENANT, expect, Some(update)).await? {
            return Err(SubmitError::Changed);
        }
        self.version += 1;
        Ok(())
    }

    /// Pending targets whose time has come, the earliest first. One that runs may still be among them.
    async fn pending(&self, due_by: Timestamp, limit: usize) -> Result<Vec<StoredTarget>, SubmitError> {
        let label = TargetRecord::progress(&self.record.id, TargetState::Pending);
        let query = ResourceQuery {
            labels: vec![("progress".to_owned(), vec![label])],
            due_by: Some(due_by),
            limit,
            ..of_targets()
        };
        read_targets(self.engine, &query).await
    }

    fn is_running(&self, instance_id: &str) -> bool {
        self.record.running.iter().any(|running| running.instance_id == instance_id)
    }

    /// Writes many targets at once. `Changed` when another node has written one of them.
    async fn write_targets(&self, targets: Vec<StoredTarget>) -> Result<(), SubmitError> {
        let writes = targets.iter().map(|stored| self.write_target(stored));
        for is_written in join_all(writes).await {
            if !is_written? {
                return Err(SubmitError::Changed);
            }
        }
        Ok(())
    }

    async fn write_target(&self, stored: &StoredTarget) -> Result<bool, SubmitError> {
        let update = stored.target.record_update().map_err(SubmitError::Invalid)?;
        let expect = Expect::Version(stored.row.version);
        self.engine.write_resource(&stored.row.name, TENANT, expect, Some(update)).await
    }
}

pub(crate) fn of_targets() -> ResourceQuery {
    ResourceQuery { kind: TargetRecord::KIND.to_owned(), ..ResourceQuery::default() }
}

async fn read_targets(engine: &Engine, query: &ResourceQuery) -> Result<Vec<StoredTarget>, SubmitError> {
    let rows = engine.resources(query).await?.rows;
    let read = |row: ResourceRow| match serde_json::from_str(&row.record) {
        Ok(target) => Ok(StoredTarget { row, target }),
        Err(error) => {
            Err(SubmitError::Invalid(format!("the record of {} cannot be read: {error}", row.name)))
        }
    };
    rows.into_iter().map(read).collect()
}

/// How the targets stand, all at one moment. What runs is what the orchestration says: its record is written first.
pub(crate) async fn counts(engine: &Engine, record: &OrchestrationRecord) -> Result<Counts, StoreError> {
    let query = LabelQuery {
        kind: TargetRecord::KIND.to_owned(),
        key: "progress".to_owned(),
        values: TargetState::ALL.map(|state| TargetRecord::progress(&record.id, state)).to_vec(),
        also_gone: true,
    };
    let found = engine.label_counts(&query).await?;
    let of = |state| found.get(&TargetRecord::progress(&record.id, state)).copied().unwrap_or_default();
    let open = of(TargetState::Pending) + of(TargetState::InProgress);
    let in_progress = open.min(record.running.len() as u64);
    Ok(Counts {
        pending: open - in_progress,
        in_progress,
        succeeded: of(TargetState::Succeeded),
        failed: of(TargetState::Failed),
        canceled: of(TargetState::Canceled),
        skipped: of(TargetState::Skipped),
    })
}
