//! The runtime is upgraded: later updates begin with its new version of Kyma.

use engine::prelude::*;
use serde_json::Value;

use super::Upgrade;
use crate::workflows::shared::opened;

pub(crate) struct Keep;

#[async_trait]
impl Step<Upgrade> for Keep {
    named!("keep", "Saving the new versions");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Upgrade>) -> Outcome {
        let Some(version) = op.params.change.kyma_version.clone() else { return done() };
        let mut parameters = opened(op, &op.input.instance()?.parameters)?;
        let version = Value::String(version);
        if parameters.get("kymaVersion") == Some(&version) {
            return done();
        }
        parameters.insert("kymaVersion".to_owned(), version);
        let sealed = op.seal(&SecretString::from(Value::Object(parameters).to_string()));
        let instance = op.input.change(|instance| instance.parameters = sealed)?;
        op.set_record(&instance)?;
        done()
    }
}
