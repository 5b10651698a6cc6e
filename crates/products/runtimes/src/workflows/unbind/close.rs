//! Turns the record of the binding into a tombstone, without its credentials.

use engine::prelude::*;

use super::Unbind;
use crate::model::binding::Binding;

pub(crate) struct Close;

#[async_trait]
impl Step<Unbind> for Close {
    named!("close", "Closing the record");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Unbind>) -> Outcome {
        let Some(mut binding) = op.subject::<Binding>().await? else { return done() };
        binding.kubeconfig = None;
        binding.gone_at = binding.gone_at.or(Some(op.now()));
        op.set_record(&binding)?;
        done()
    }
}
