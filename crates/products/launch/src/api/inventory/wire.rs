//! An instance that is being terminated, as the API shows it.

use crate::workflows::termination::{TerminatedInstance, TerminationProgress};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::list::InventoryItem;

/// One instance with its state as the cloud has it now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InventoryInstance {
    #[serde(flatten)]
    pub item: InventoryItem,
    /// Null unless its termination was requested.
    pub termination: Option<Termination>,
}

/// How far the end of an instance is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Termination {
    pub instance_id: String,
    pub launch_id: uuid::Uuid,
    /// `terminating`, `terminated` or `failed`.
    pub state: String,
    /// The operation that carries it out, for `/operations`.
    pub operation_id: Option<String>,
    /// Why it was given up.
    pub error: Option<String>,
}

/// Instances of one launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Terminations {
    pub data: Vec<Termination>,
}

impl Termination {
    /// Nothing where it was not requested.
    pub(in crate::api) fn of(
        instance: &TerminatedInstance,
        standing: TerminationProgress,
    ) -> Option<Termination> {
        let (state, operation, error) = match standing {
            TerminationProgress::Untouched => return None,
            TerminationProgress::Terminating(operation) => ("terminating", Some(operation), None),
            TerminationProgress::Terminated => ("terminated", None, None),
            TerminationProgress::Failed(error) => ("failed", None, Some(error)),
        };
        Some(Termination {
            instance_id: instance.instance_id.clone(),
            launch_id: instance.launch(),
            state: state.to_owned(),
            operation_id: operation.map(|operation| operation.to_string()),
            error,
        })
    }
}
