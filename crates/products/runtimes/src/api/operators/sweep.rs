//! What is due without any client asking: plans and credentials whose time is over.

use std::time::Duration;

use crate::model::{Binding, InstanceRecord, UNBIND};
use crate::workflows::unbind::{Params, Unbind};
use engine::due::{self, Backoff, Handled};
use engine::store::{Expect, ResourceRow, StoreError};
use engine::{Engine, RecordWrites, Resource, Submission, SubmitError, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::ExistingInstance;
use super::expire::expire;

/// For the journal.
const BY: &str = "expiry";
/// Credentials that could not be taken back are left alone for this long.
const TRY_AGAIN: Duration = Duration::from_mins(15);

/// What one sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Instances whose time is over since now.
    pub expired: usize,
    /// Bindings whose credentials are taken back since now.
    pub unbound: usize,
    /// What is due but could not be done yet, because an operation has it or another node was faster.
    pub left: usize,
}

/// What failed, of each kind.
#[derive(Debug, Default)]
pub struct Failures {
    instances: Backoff,
    bindings: Backoff,
}

/// Does what is due by `now`, a bounded part of it. Any number of nodes may do so at once.
pub async fn sweep(engine: &Engine, now: Timestamp, failures: &mut Failures) -> Result<Swept, StoreError> {
    let over = |row, instance| async move {
        expire(engine, &ExistingInstance { row, instance }, BY).await.map(|_| Handled::Done)
    };
    let expired = due::sweep(engine, now, &mut failures.instances, over).await?;
    let unbind = |row, binding| unbind(engine, row, binding, now);
    let unbound = due::sweep(engine, now, &mut failures.bindings, unbind).await?;
    Ok(Swept { expired: expired.handled, unbound: unbound.handled, left: expired.left + unbound.left })
}

/// Sweeps again and again until the process stops.
pub async fn keep_sweeping(engine: Engine, every: Duration, closing: CancellationToken) {
    let mut failures = Failures::default();
    loop {
        match sweep(&engine, engine.now(), &mut failures).await {
            Ok(Swept { expired: 0, unbound: 0, .. }) => {}
            Ok(Swept { expired, unbound, left }) => info!(expired, unbound, left, "expired what was due"),
            Err(error) => warn!(%error, "looking for what is due failed, retrying later"),
        }
        tokio::select! {
            () = closing.cancelled() => return,
            () = tokio::time::sleep(every) => {}
        }
    }
}

async fn unbind(
    engine: &Engine,
    row: ResourceRow,
    mut binding: Binding,
    now: Timestamp,
) -> Result<Handled, SubmitError> {
    if row.phase.is_some_and(|phase| !phase.is_final()) {
        return Ok(Handled::Left);
    }
    let has_failed = row.workflow.as_deref() == Some(UNBIND);
    if has_failed && now.since(row.updated_at) < TRY_AGAIN {
        return Ok(Handled::Left);
    }
    let instance = engine.resource(&InstanceRecord::resource(&binding.instance_id)).await?;
    let instance: Option<InstanceRecord> = instance.as_ref().map(read).transpose()?;
    let instance = instance.filter(|instance| instance.gone_at.is_none());
    let Some((instance, runtime)) = instance.and_then(|found| found.runtime_id.clone().map(|id| (found, id)))
    else {
        // The credentials went with the cluster that they were for.
        binding.gone_at = Some(now);
        let record_update = binding.record_update().map_err(SubmitError::Invalid)?;
        let expect = Expect::Version(row.version);
        let is_saved = engine.write_resource(&row.name, &row.tenant, expect, Some(record_update)).await?;
        return Ok(if is_saved { Handled::Done } else { Handled::Left });
    };
    let params = Params {
        instance_id: binding.instance_id.clone(),
        binding_id: binding.binding_id.clone(),
        runtime_id: Some(runtime),
        account: instance.account.clone(),
        subaccount: instance.subaccount.clone(),
    };
    let subject = Some((Expect::Version(row.version), None));
    let along = RecordWrites { subject, ..RecordWrites::default() };
    let submission = Submission::<Unbind>::new(&row.tenant, BY, &params);
    let submission =
        Submission { resource: Some(&row.name), name: instance.shown_name(), along, ..submission };
    engine.submit(submission).await.map(|_| Handled::Begun)
}

fn read<R: Resource>(row: &ResourceRow) -> Result<R, SubmitError> {
    let unreadable = |error| SubmitError::Invalid(format!("its record cannot be read: {error}"));
    serde_json::from_str(&row.record).map_err(unreadable)
}
