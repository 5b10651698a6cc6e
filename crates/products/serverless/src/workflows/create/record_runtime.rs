//! Writes into the document what the runtime is made of, and puts the answer together.

use engine::prelude::*;
use opennebula::{AttributeName, NebulaTemplate, Text};

use super::{Create, name_of};
use crate::model::caller_credentials::credentials;
use crate::model::function::ObservedFunction;
use crate::model::report::{OPENNEBULA, brisk, stop};
use crate::model::runtime::ServerlessRuntime;
use crate::model::settings::Serverless;
use crate::model::state::RuntimeState;

pub(crate) struct RecordRuntime {
    serverless: Arc<Serverless>,
}

const BODY: AttributeName = AttributeName::of("BODY");

impl RecordRuntime {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> RecordRuntime {
        RecordRuntime { serverless: Arc::clone(serverless) }
    }
}

#[async_trait]
impl Step<Create> for RecordRuntime {
    named!("record_runtime", "Recording the runtime");

    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(brisk(&self.serverless.settings))
    }

    async fn run(&self, op: &mut Operation<Create>) -> Outcome {
        if op.state.runtime.is_some() {
            return done();
        }
        let nebula = &self.serverless.nebula;
        let credentials = credentials(op).await?;
        let document = *op.need("the document", |state| state.document.as_ref())?;
        let service = *op.need("the service", |state| state.service.as_ref())?;
        let ids = op.need("the VMs", |state| state.machines.as_ref())?.clone();
        let all: Vec<i32> = ids.values().copied().collect();
        let machines = nebula.machines(&credentials, &all).await;
        let machines =
            machines.map_err(|error| stop(op, "Failed to read the VMs of the Serverless Runtime", error))?;
        let mut runtime = ServerlessRuntime::asked(document, &name_of(op), &op.params.spec);
        for (role, _) in op.params.spec.functions() {
            let id = ids.get(&role).copied();
            let machine = machines.iter().find(|machine| Some(machine.id) == id);
            let seen = machine.map(ObservedFunction::of);
            let seen =
                seen.unwrap_or_else(|| ObservedFunction::without_machine(id, RuntimeState::Pending, None));
            // Clients take a new runtime for failed if it is anything else, however quick it was.
            runtime.show(role, &ObservedFunction { state: RuntimeState::Pending, error: None, ..seen });
        }
        runtime.set_service(service);
        // Only the body: the operator who removes the runtime at this moment has left a mark beside it.
        let mut template = NebulaTemplate::new();
        template.set(BODY, Text::ours(runtime.to_document()));
        let saved = nebula.amend_document(&credentials, document, &template).await;
        saved.map_err(|error| stop(op, "Failed to update Serverless Runtime Document", error))?;
        op.state.runtime = Some(runtime.to_answer());
        op.state.runtime_error = None;
        done()
    }
}
