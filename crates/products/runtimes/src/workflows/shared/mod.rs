//! Steps and state that several runtime workflows have in common.

mod change;
mod initialisation;
mod overrides_from;
mod service_manager_overrides;
mod start;

pub(crate) use change::{ChangeProgress, PendingChange};
pub(crate) use initialisation::{Initialisation, opened};
pub(crate) use overrides_from::OverridesFrom;
pub(crate) use service_manager_overrides::ServiceManagerOverrides;
pub(crate) use start::Start;

use director::Director;
use engine::prelude::*;
use provisioner::{OnBehalfOf, OperationStatus};
use serde_json::{Map, Value};

use crate::model::instance::InstanceRecord;
use crate::model::parameters::Parameters;
use engine::overrides::Overrides;

/// What one pass of a runtime workflow puts together.
#[derive(Debug, Default)]
pub struct Input {
    pub(crate) instance: Option<InstanceRecord>,
    pub(crate) parameters: Parameters,
    pub(crate) context: Map<String, Value>,
    pub overrides: Overrides,
    /// The request that a dry run would have sent, with its secrets masked.
    pub request: Option<Value>,
}

/// A workflow on one instance.
pub(crate) trait OnInstance: Workflow<Input = Input> {
    /// Whether it also works on an instance that is gone.
    const TAKES_GONE: bool = false;
}

impl Input {
    /// The record that the first step read.
    pub(crate) fn instance(&self) -> Result<&InstanceRecord, Halt> {
        self.instance.as_ref().ok_or_else(|| Halt::fail("the instance has not been read yet"))
    }

    /// Changes the record. It is saved with the step.
    pub(crate) fn change(
        &mut self,
        change: impl FnOnce(&mut InstanceRecord),
    ) -> Result<InstanceRecord, Halt> {
        let instance =
            self.instance.as_mut().ok_or_else(|| Halt::fail("the instance has not been read yet"))?;
        change(instance);
        Ok(instance.clone())
    }
}

impl InstanceRecord {
    /// On whose behalf the Provisioner works.
    pub(crate) fn caller(&self) -> OnBehalfOf<'_> {
        OnBehalfOf { tenant: &self.account, sub_account: Some(&self.subaccount) }
    }
}

/// The Provisioner does not tell a runtime that is gone from trouble of its own; the Director does.
pub(crate) async fn is_gone(
    director: Option<&dyn Director>,
    account: &str,
    runtime_id: &str,
) -> Result<bool, Halt> {
    let Some(director) = director else { return Ok(false) };
    Ok(director.runtime(account, runtime_id).await?.is_none())
}

/// How long waiting for the Provisioner may go on without an answer: it comes back, and the work goes on without
/// us.
pub(crate) const PATIENT: RetryPolicy = RetryPolicy {
    first: Duration::from_secs(1),
    max: Duration::from_mins(1),
    budget: Duration::from_hours(12),
};

/// Why an operation of the Provisioner failed, for people.
pub(crate) fn why(status: &OperationStatus) -> String {
    match &status.last_error {
        Some(error) => {
            format!("the Provisioner failed: {} ({}, {})", error.message, error.reason, error.component)
        }
        None if status.message.is_empty() => "the Provisioner failed and did not say why".into(),
        None => format!("the Provisioner failed: {}", status.message),
    }
}

/// How far an operation of the Provisioner is, for people.
pub(crate) fn progress(status: &OperationStatus) -> String {
    if status.message.is_empty() { "the Provisioner is working".into() } else { status.message.clone() }
}
