//! Signs the letter with the idempotency key of the operation.

use engine::prelude::*;

use crate::workflows::hello::Hello;

pub(crate) struct SignLetter;

/// The signature. The same however often the step runs.
#[derive(Serialize, Deserialize)]
struct Signature(String);

impl Fact for Signature {
    const KEY: &'static str = "sign_letter.signature";
}

#[async_trait]
impl Step<Hello> for SignLetter {
    named!("sign_letter", "Signing the letter");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Hello>) -> Outcome {
        op.need("the letter", |state| state.letter.as_ref())?;
        op.remember(&Signature(op.idempotency_key("signature")))?;
        done()
    }
}
