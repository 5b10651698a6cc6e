//! The operations API: submit, list, show, watch, explain, and ask for something.

pub mod calls;
pub mod control;
pub mod explain;
mod explanation;
pub mod get;
mod id_part;
pub mod journal;
pub mod list;
mod order;
pub mod plan;
mod progress;
pub mod signal;
pub mod signal_one;
pub mod stream;
pub mod submit;
pub mod totals;
mod wanted;
pub mod watchers;

use engine::{Capability, Inspection, OperationId};

use crate::app_state::AppState;
use crate::error;
use crate::grants::check_operation;
use crate::http::Failure;
use crate::principal::Principal;

/// Everything about an operation that must be there, for a caller that may do this with it.
async fn inspect(
    app: &AppState,
    principal: &Principal,
    needed: Capability,
    id: OperationId,
) -> Result<Inspection, Failure> {
    let inspection = app.engine.inspect(id).await?.ok_or_else(|| error::no_such_operation(id))?;
    check_operation(principal, needed, id, &inspection.shown.summary.workflow)?;
    Ok(inspection)
}
