//! The only work of a launch that makes nothing: it shows that launches get through.

use engine::prelude::*;

use crate::workflows::launch::Launch;

pub(crate) const NAME: &str = "test_step";

pub(crate) struct TestStep;

#[async_trait]
impl Step<Launch> for TestStep {
    named!(NAME, "Doing nothing");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, _op: &mut Operation<Launch>) -> Outcome {
        done()
    }
}
