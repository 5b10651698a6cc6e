//! Fails on purpose, to show how an operation is undone.

use engine::prelude::*;

use crate::workflows::hello::Hello;

pub(crate) struct Stumble;

#[async_trait]
impl Step<Hello> for Stumble {
    named!("stumble", "Failing on purpose");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, _op: &mut Operation<Hello>) -> Outcome {
        fail("the params asked for a failure")
    }
}
