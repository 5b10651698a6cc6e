//! The API of orchestrations: upgrades of many runtimes, for operators.

pub(crate) mod control;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod operations;
mod request;
pub(crate) mod retry;
pub(crate) mod start;
pub mod wire;

use std::collections::BTreeMap;
use std::time::Duration;

use api::Code;
use engine::store::{Expect, ResourceRow};
use engine::{Engine, Resource, SubmitError};
use server::ToWire;
use server::error;
use server::http::Failure;
use tracing::error;
use uuid::Uuid;

use crate::model::orchestration::decide::{Counts, remaining};
use crate::model::orchestration::{OrchestrationRecord, TargetState};
use crate::workflows::orchestration::TENANT;

/// So often a change is decided anew because the record changed in between: it does with every runtime that begins.
const TRIES: usize = 50;

/// An orchestration with the row that has it.
pub(crate) struct StoredOrchestration {
    row: ResourceRow,
    record: OrchestrationRecord,
}

async fn find(engine: &Engine, id: &str) -> Result<StoredOrchestration, Failure> {
    let row = engine.resource(&OrchestrationRecord::resource(id)).await?;
    let missing = || Failure::new(Code::OrchestrationNotFound, format!("there is no orchestration {id:?}"));
    read(row.ok_or_else(missing)?)
}

fn read(row: ResourceRow) -> Result<StoredOrchestration, Failure> {
    match serde_json::from_str(&row.record) {
        Ok(record) => Ok(StoredOrchestration { row, record }),
        Err(error) => {
            error!(resource = row.name, %error, "orchestration record unreadable");
            Err(Failure::internal())
        }
    }
}

/// Changes the record by what is decided from it. The decision is made anew where the record has changed meanwhile;
/// `false` leaves it as it is.
async fn change(
    engine: &Engine,
    id: &str,
    decide: impl Fn(&mut OrchestrationRecord) -> Result<bool, Failure>,
) -> Result<OrchestrationRecord, Failure> {
    for _ in 0..TRIES {
        let StoredOrchestration { row, mut record } = find(engine, id).await?;
        if !decide(&mut record)? {
            return Ok(record);
        }
        record.due_at = Some(engine.now());
        let update = record.record_update().map_err(|_| Failure::internal())?;
        let expect = Expect::Version(row.version);
        let written = engine.write_resource(&row.name, TENANT, expect, Some(update)).await;
        if written.map_err(error::submit)? {
            return Ok(record);
        }
    }
    Err(error::submit(SubmitError::Changed))
}

fn uuid_of(record: &OrchestrationRecord) -> Uuid {
    record.id.parse().unwrap_or_default()
}

/// Everything about an orchestration. Lists leave the counts out.
fn shown(stored: &StoredOrchestration, counts: Option<&Counts>) -> wire::OrchestrationStatus {
    let StoredOrchestration { row, record } = stored;
    let stats = |counts: &Counts| -> BTreeMap<String, u64> {
        TargetState::ALL.into_iter().map(|state| (state.as_str().to_owned(), counts.of(state))).collect()
    };
    wire::OrchestrationStatus {
        orchestration_id: uuid_of(record),
        kind: record.kind,
        state: record.state,
        description: record.description.clone(),
        created_at: row.created_at.to_wire(),
        updated_at: row.updated_at.to_wire(),
        finished_at: record.finished_at.to_wire(),
        created_by: record.created_by.clone(),
        parameters: request::shown(record),
        operation_stats: counts.map(stats).unwrap_or_default(),
        remaining_seconds: counts.and_then(|counts| remaining(record, counts)).map(whole_seconds),
    }
}

/// Rounded up: what is not over takes a second at least.
fn whole_seconds(left: Duration) -> u64 {
    left.as_secs() + u64::from(left.subsec_nanos() > 0)
}
