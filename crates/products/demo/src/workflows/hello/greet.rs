//! Asks the greeter for a greeting and hands it to the letter as overrides.

use engine::prelude::*;
use greeter::Greeter;

use crate::workflows::hello::Hello;
use engine::overrides::{plain, secret};

pub(crate) struct Greet {
    greeter: Arc<dyn Greeter>,
}

/// What the greeter said. Remembered, so that it is asked once and not once per pass.
#[derive(Serialize, Deserialize)]
struct GreetingFact {
    text: String,
    token: Sealed,
}

impl Fact for GreetingFact {
    const KEY: &'static str = "greet.greeting";
}

impl Greet {
    pub(crate) fn new(greeter: &Arc<dyn Greeter>) -> Greet {
        Greet { greeter: Arc::clone(greeter) }
    }
}

#[async_trait]
impl Step<Hello> for Greet {
    named!("greet", "Asking the greeter");

    fn driver(&self) -> Option<&'static str> {
        Some("greeter")
    }

    async fn run(&self, op: &mut Operation<Hello>) -> Outcome {
        let greeting = if let Some(greeting) = op.recall::<GreetingFact>()? {
            greeting
        } else {
            // A silent greeter becomes a retry, a refusing one a failure: `?` knows which.
            let answer = self.greeter.greet(&op.idempotency_key("greet"), &op.params.name).await?;
            let greeting = GreetingFact { text: answer.text, token: op.seal(&answer.token) };
            op.remember(&greeting)?;
            greeting
        };
        // Overrides live for one pass only, so they are set on every pass.
        let token = op.open(&greeting.token)?;
        op.input
            .overrides
            .set("letter", [plain("greeting.text", greeting.text), secret("greeting.token", token)]);
        done()
    }

    async fn undo(&self, op: &mut Operation<Hello>) -> Outcome {
        self.greeter.forget(&op.idempotency_key("greet")).await?;
        done()
    }
}
