//! Opens what was asked for, and checks that the plan is still there.

use engine::prelude::*;
use serde_json::{Map, Value};

use super::OnInstance;
use crate::model::parameters::Parameters;
use crate::model::settings::RuntimesSettings;

pub(crate) struct Initialisation {
    pub(crate) runtimes: Arc<RuntimesSettings>,
}

#[async_trait]
impl<W: OnInstance> Step<W> for Initialisation {
    named!("initialisation", "Reading the request");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<W>) -> Outcome {
        let instance = op.input.instance()?;
        self.runtimes.plan(&instance.plan_id).map_err(Halt::fail)?;
        let parameters = opened(op, &instance.parameters)?;
        let context = opened(op, &instance.context)?;
        op.input.parameters = Parameters::read(&parameters).map_err(Halt::fail)?;
        op.input.context = context;
        done()
    }
}

/// Nothing of the text may get into an error: it holds secrets.
pub(crate) fn opened<W: Workflow>(op: &Operation<W>, sealed: &Sealed) -> Result<Map<String, Value>, Halt> {
    let text = op.open(sealed)?;
    serde_json::from_str(text.expose_secret()).map_err(|_| Halt::fail("what was sealed is not JSON"))
}
