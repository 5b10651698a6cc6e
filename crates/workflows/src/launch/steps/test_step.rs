//! The only work of a launch that makes nothing: it shows that launches get through.

use engine::prelude::*;

use crate::launch::Launch;
use crate::launch::status::shape::TEST_STEP;

pub(in crate::launch) struct TestStep;

#[async_trait]
impl Step<Launch> for TestStep {
    fn name(&self) -> &'static str {
        TEST_STEP.name
    }

    fn title(&self) -> &'static str {
        TEST_STEP.title
    }

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, _op: &mut Operation<Launch>) -> Outcome {
        done()
    }
}
