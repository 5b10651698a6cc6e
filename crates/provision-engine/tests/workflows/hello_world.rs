//! Greets once more, under an idempotency key of its own, and hands the greeting to `hello` as overrides.

use ::greeter::Greeter;
use engine::prelude::*;

use crate::workflows::hello::Hello;
use engine::overrides::{plain, secret};

pub(super) struct HelloWorld {
    greeter: Arc<dyn Greeter>,
}

/// What the greeter said. Remembered, so that it is asked once and not once per pass.
#[derive(Serialize, Deserialize)]
struct Greeting {
    text: String,
    token: Sealed,
}

impl Fact for Greeting {
    const KEY: &'static str = "hello_world.greeting";
}

impl HelloWorld {
    pub(super) fn new(greeter: &Arc<dyn Greeter>) -> HelloWorld {
        HelloWorld { greeter: Arc::clone(greeter) }
    }
}

#[async_trait]
impl Step<Hello> for HelloWorld {
    named!("hello_world", "Greeting the world");

    fn driver(&self) -> Option<&'static str> {
        Some("greeter")
    }

    async fn run(&self, op: &mut Operation<Hello>) -> Outcome {
        let greeting = if let Some(greeting) = op.recall::<Greeting>()? {
            greeting
        } else {
            // A silent greeter becomes a retry, a refusing one a failure: `?` knows which.
            let answer = self.greeter.greet(&op.idempotency_key("hello_world"), &op.params.name).await?;
            let greeting = Greeting { text: answer.text, token: op.seal(&answer.token) };
            op.remember(&greeting)?;
            greeting
        };
        // Overrides live for one pass only, so they are set on every pass.
        let token = op.open(&greeting.token)?;
        let overrides = [plain("greeting.text", greeting.text), secret("greeting.token", token)];
        op.input.overrides.set("hello", overrides);
        done()
    }

    async fn undo(&self, op: &mut Operation<Hello>) -> Outcome {
        self.greeter.forget(&op.idempotency_key("hello_world")).await?;
        done()
    }
}
