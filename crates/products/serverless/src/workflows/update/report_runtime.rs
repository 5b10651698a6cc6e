//! Looks at the runtime once more, and puts the answer together.

use engine::prelude::*;

use super::Update;
use crate::model::caller_credentials::credentials;
use crate::model::report::{OPENNEBULA, brisk, refuse};
use crate::model::settings::Serverless;
use crate::model::state::RuntimeState;
use crate::model::{FunctionRole, view};

pub(crate) struct ReportRuntime {
    serverless: Arc<Serverless>,
}

impl ReportRuntime {
    pub(crate) fn new(serverless: &Arc<Serverless>) -> ReportRuntime {
        ReportRuntime { serverless: Arc::clone(serverless) }
    }
}

#[async_trait]
impl Step<Update> for ReportRuntime {
    named!("report_runtime", "Checking the runtime");

    fn effect(&self) -> Effect {
        Effect::Pure
    }
    fn driver(&self) -> Option<&'static str> {
        Some(OPENNEBULA)
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(brisk(&self.serverless.settings))
    }

    async fn run(&self, op: &mut Operation<Update>) -> Outcome {
        if op.state.runtime.is_some() {
            return done();
        }
        let credentials = credentials(op).await?;
        let mut runtime = match view::read(&self.serverless, &credentials, op.params.document).await {
            Ok(runtime) => runtime,
            Err(runtime_error) => return Err(refuse(op, runtime_error)),
        };
        for role in FunctionRole::ALL {
            // A VM that is on its way back is not new.
            if runtime.state(role) == Some(RuntimeState::Pending) {
                runtime.set_state(role, RuntimeState::Updating);
            }
        }
        op.state.runtime = Some(runtime.to_answer());
        op.state.runtime_error = None;
        done()
    }
}
