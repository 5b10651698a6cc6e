//! The operations door: submit, list, show, watch, explain, and ask for something.

pub(crate) mod calls;
pub(crate) mod control;
pub(crate) mod explain;
mod explanation;
pub(crate) mod get;
pub(crate) mod journal;
pub(crate) mod list;
pub(crate) mod plan;
mod progress;
pub(crate) mod signal;
pub(crate) mod stream;
pub(crate) mod submit;
pub(crate) mod watchers;

use engine::{Inspection, OperationId};

use crate::error;
use crate::hall::Hall;
use crate::http::Failure;

/// Everything about an operation that must be there.
async fn inspect(hall: &Hall, id: OperationId) -> Result<Inspection, Failure> {
    hall.engine.inspect(id).await?.ok_or_else(|| error::no_such_operation(id))
}
