//! The only work of a launch that makes nothing: it shows that launches get through.

use engine::prelude::*;

use crate::launch::Launch;

pub(in crate::launch) const NAME: &str = "test_step";

pub(in crate::launch) struct TestStep;

#[async_trait]
impl Step<Launch> for TestStep {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Doing nothing"
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, _op: &mut Operation<Launch>) -> Outcome {
        done()
    }
}
