//! The runtimes API: what operators see of service instances, and how they step in.

pub(crate) mod all_events;
mod config;
pub(crate) mod events;
pub(crate) mod expire;
pub(crate) mod filter;
pub(crate) mod force_delete;
pub(crate) mod get;
pub(crate) mod info;
pub(crate) mod kubeconfig;
pub(crate) mod list;
pub(crate) mod operations;
pub(crate) mod repair;
mod show;
pub mod sweep;
pub(crate) mod version;

use std::ops::Deref;
use std::sync::Arc;

use crate::model::{InstanceRecord, Status};
use api::Code;
use engine::store::{ResourceQuery, ResourceRow};
use engine::{OperationId, Phase, Resource, SubmitError};
use tracing::error;

use crate::api::types;
use crate::backend::Backends;
use crate::model::catalog::Catalog;
use crate::model::settings::RuntimesSettings;
use server::AppState;
use server::error;
use server::http::Failure;

/// So often a change is decided anew because another request changed the record in between.
const TRIES: usize = 20;
const REASON_CHARS_MAX: usize = 500;

/// What the handlers share.
pub struct Operators {
    pub(super) app: server::Shared,
    pub(super) catalog: Arc<Catalog>,
    pub(super) runtimes: Arc<RuntimesSettings>,
    pub(super) backends: Option<Backends>,
    /// Whether the defaults are those of the broker whose place this takes.
    pub(super) compat_keb: bool,
}

/// How handlers get it.
pub type Shared = Arc<Operators>;

impl Deref for Operators {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.app
    }
}

/// A service instance that must be there.
pub(crate) struct ExistingInstance {
    row: ResourceRow,
    instance: InstanceRecord,
}

impl ExistingInstance {
    fn read(row: ResourceRow) -> Result<ExistingInstance, Failure> {
        match serde_json::from_str(&row.record) {
            Ok(instance) => Ok(ExistingInstance { row, instance }),
            Err(error) => {
                error!(resource = row.name, %error, "runtime record unreadable");
                Err(Failure::internal())
            }
        }
    }

    fn status(&self) -> Status {
        self.instance.status(self.row.workflow.as_deref(), self.row.phase)
    }

    /// The newest operation, while it is not over.
    fn running(&self) -> Option<OperationId> {
        self.row.operation.filter(|_| self.row.phase.is_some_and(|phase| !phase.is_final()))
    }
}

/// Finds a service instance by its id, or by that of its runtime. Tombstones are found too.
async fn find(app: &AppState, id: &str) -> Result<ExistingInstance, Failure> {
    if let Some(row) = app.engine.resource(&InstanceRecord::resource(id)).await? {
        return ExistingInstance::read(row);
    }
    let query = ResourceQuery {
        kind: InstanceRecord::KIND.to_owned(),
        labels: vec![("runtime_id".to_owned(), vec![id.to_owned()])],
        also_gone: true,
        limit: 1,
        ..ResourceQuery::default()
    };
    match app.engine.resources(&query).await?.rows.pop() {
        Some(row) => ExistingInstance::read(row),
        None => Err(missing(id)),
    }
}

/// Finds a service instance that still exists.
async fn find_alive(app: &AppState, id: &str) -> Result<ExistingInstance, Failure> {
    let found = find(app, id).await?;
    if found.status() == Status::Gone { Err(missing(id)) } else { Ok(found) }
}

fn missing(id: &str) -> Failure {
    let detail = format!("there is no service instance and no runtime {id:?}");
    Failure::new(Code::RuntimeNotFound, detail)
}

/// The operation that was accepted, or `None` when the record has changed and must be looked at again.
fn accepted(result: Result<engine::AcceptedOperation, SubmitError>) -> Result<Option<OperationId>, Failure> {
    match result {
        Ok(accepted) => Ok(Some(accepted.id)),
        Err(SubmitError::Changed) => Ok(None),
        Err(error) => Err(error::submit(error)),
    }
}

fn check_reason(reason: &types::Reason) -> Result<(), Failure> {
    let length = reason.reason.trim().chars().count();
    if !(1..=REASON_CHARS_MAX).contains(&length) || reason.reason.chars().any(char::is_control) {
        let rule = format!("reason: 1 to {REASON_CHARS_MAX} characters, and no control characters");
        return Err(Failure::new(Code::InvalidBody, rule).with("field", "reason"));
    }
    Ok(())
}

/// What an operation that is not over can be in.
fn unfinished() -> Vec<Phase> {
    Phase::ALL.into_iter().filter(|phase| !phase.is_final()).collect()
}
