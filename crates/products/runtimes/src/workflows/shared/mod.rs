//! Steps and state that several runtime workflows have in common.

mod change;
mod initialisation;
mod overrides_from;
mod service_manager_overrides;
mod start;

pub(crate) use change::{ChangeFacts, ChangeRuntime, OnceFacts, RemoteCall, RemoteChange, pause};
pub(crate) use initialisation::{Initialisation, opened};
pub(crate) use overrides_from::OverridesFrom;
pub(crate) use service_manager_overrides::ServiceManagerOverrides;
pub(crate) use start::Start;

use engine::prelude::*;
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

/// How long waiting for a back end may go on without an answer: it comes back, and the work goes on without us.
pub(crate) const PATIENT: RetryPolicy = RetryPolicy {
    first: Duration::from_secs(1),
    max: Duration::from_mins(1),
    budget: Duration::from_hours(12),
};
