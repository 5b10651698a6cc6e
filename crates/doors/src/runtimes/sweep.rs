//! What is due without anybody asking: plans and credentials whose time is over.

use std::time::Duration;

use engine::store::{Expect, ResourceQuery, ResourceRow, StoreError};
use engine::{Alongside, Command, Engine, Resource, SubmitError, Timestamp};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use workflows::runtime::{Binding, Instance, UNBIND};

use super::Found;
use super::expire::expire;

/// For the journal.
const BY: &str = "expiry";
const PAGE: usize = 100;
/// Of each kind in one sweep; the next one goes on.
const LOOKED_AT_MAX: usize = 1000;
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Runtime,
    Binding,
}

/// Does what is due by `now`, a bounded part of it. Any number of nodes may do so at once.
pub async fn sweep(engine: &Engine, now: Timestamp) -> Result<Swept, StoreError> {
    let (expired, busy) = sweep_kind(engine, Kind::Runtime, now).await?;
    let (unbound, untouched) = sweep_kind(engine, Kind::Binding, now).await?;
    Ok(Swept { expired, unbound, left: busy + untouched })
}

/// How many are done, and how many are left.
async fn sweep_kind(engine: &Engine, kind: Kind, now: Timestamp) -> Result<(usize, usize), StoreError> {
    let (mut done, mut left) = (0, 0);
    loop {
        // A binding stays due until its credentials are gone.
        let offset = if kind == Kind::Binding { done + left } else { left };
        let rows = due(engine, kind, now, offset).await?;
        let is_last = rows.len() < PAGE;
        for row in rows {
            let name = row.name.clone();
            let swept = match kind {
                Kind::Runtime => over(engine, row).await,
                Kind::Binding => unbind(engine, row, now).await,
            };
            match swept {
                Ok(true) => done += 1,
                Ok(false) | Err(SubmitError::Changed | SubmitError::Busy { .. }) => left += 1,
                Err(SubmitError::Store(error)) => return Err(error),
                Err(error) => {
                    warn!(resource = name, %error, "its time is over, but nothing can be done about it");
                    left += 1;
                }
            }
        }
        if is_last || done + left >= LOOKED_AT_MAX {
            return Ok((done, left));
        }
    }
}

/// Sweeps again and again until the process stops.
pub async fn keep_sweeping(engine: Engine, every: Duration, closing: CancellationToken) {
    loop {
        match sweep(&engine, engine.now()).await {
            Ok(Swept { expired: 0, unbound: 0, .. }) => {}
            Ok(Swept { expired, unbound, left }) => info!(expired, unbound, left, "swept what was due"),
            Err(error) => warn!(%error, "cannot look for what is due; trying again later"),
        }
        tokio::select! {
            () = closing.cancelled() => return,
            () = tokio::time::sleep(every) => {}
        }
    }
}

/// The oldest that are due, after so many.
async fn due(
    engine: &Engine,
    kind: Kind,
    now: Timestamp,
    offset: usize,
) -> Result<Vec<ResourceRow>, StoreError> {
    let kind = match kind {
        Kind::Runtime => Instance::KIND,
        Kind::Binding => Binding::KIND,
    };
    let query = ResourceQuery {
        kind: kind.to_owned(),
        due_by: Some(now),
        offset,
        limit: PAGE,
        ..ResourceQuery::default()
    };
    Ok(engine.resources(&query).await?.rows)
}

async fn over(engine: &Engine, row: ResourceRow) -> Result<bool, SubmitError> {
    let instance = read(&row)?;
    expire(engine, &Found { row, instance }, BY).await.map(|_| true)
}

async fn unbind(engine: &Engine, row: ResourceRow, now: Timestamp) -> Result<bool, SubmitError> {
    if row.phase.is_some_and(|phase| !phase.is_final()) {
        return Ok(false);
    }
    let has_failed = row.workflow.as_deref() == Some(UNBIND);
    if has_failed && now.since(row.updated_at) < TRY_AGAIN {
        return Ok(false);
    }
    let mut binding: Binding = read(&row)?;
    let instance = engine.resource(&Instance::resource(&binding.instance_id)).await?;
    let instance: Option<Instance> = instance.as_ref().map(read).transpose()?;
    let instance = instance.filter(|instance| instance.gone_at.is_none());
    let Some((instance, runtime)) = instance.and_then(|found| found.runtime_id.clone().map(|id| (found, id)))
    else {
        // The credentials went with the cluster that they were for.
        binding.gone_at = Some(now);
        let portrait = binding.portrait().map_err(SubmitError::Invalid)?;
        return engine
            .write_resource(&row.name, &row.tenant, Expect::Version(row.version), Some(portrait))
            .await;
    };
    let params = json!({
        "instance_id": binding.instance_id,
        "binding_id": binding.binding_id,
        "runtime_id": runtime,
        "account": instance.account,
        "subaccount": instance.subaccount,
    });
    let command = Command {
        workflow: UNBIND.to_owned(),
        tenant: row.tenant,
        resource: Some(row.name),
        params,
        by: BY.to_owned(),
        idempotency_key: None,
        queue: false,
    };
    let subject = Some((Expect::Version(row.version), None));
    let along = Alongside { subject, ..Alongside::default() };
    engine.accept(command, along).await.map(|_| true)
}

fn read<R: Resource>(row: &ResourceRow) -> Result<R, SubmitError> {
    let unreadable = |error| SubmitError::Invalid(format!("its record cannot be read: {error}"));
    serde_json::from_str(&row.record).map_err(unreadable)
}
