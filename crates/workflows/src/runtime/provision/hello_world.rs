//! The example of a step that calls a service and hands its answer to the runtime, part of it secret.

use drivers::greeter::Greeter;
use engine::prelude::*;

use super::Provision;
use crate::overrides::{plain, secret};

pub(super) struct HelloWorld {
    greeter: Arc<dyn Greeter>,
}

/// What the service said. Remembered, so that it is asked once and not once per pass.
#[derive(Serialize, Deserialize)]
struct Greeting {
    text: String,
    token: Sealed,
}

impl Fact for Greeting {
    const KEY: &'static str = "hello_world.greeting";
}

const COMPONENT: &str = "hello";

impl HelloWorld {
    pub(super) fn new(greeter: &Arc<dyn Greeter>) -> HelloWorld {
        HelloWorld { greeter: Arc::clone(greeter) }
    }
}

#[async_trait]
impl Step<Provision> for HelloWorld {
    fn name(&self) -> &'static str {
        "hello_world"
    }

    fn title(&self) -> &'static str {
        "Greeting the new runtime"
    }

    fn driver(&self) -> Option<&'static str> {
        Some("greeter")
    }

    async fn run(&self, op: &mut Operation<Provision>) -> Outcome {
        let greeting = if let Some(greeting) = op.recall::<Greeting>()? {
            greeting
        } else {
            // Named after the instance, so that deprovisioning finds it whatever becomes of this operation.
            let instance = op.input.instance()?;
            let (token, name) = (instance.token("hello_world"), instance.shoot.clone());
            let answer = self.greeter.greet(&token, &name).await?;
            let greeting = Greeting { text: answer.text, token: op.seal(&answer.token) };
            op.remember(&greeting)?;
            greeting
        };
        // Overrides live for one pass only, so they are set on every pass. Other steps may add to the same component.
        let token = op.open(&greeting.token)?;
        op.input
            .overrides
            .append(COMPONENT, [plain("greeting.text", greeting.text), secret("greeting.token", token)]);
        done()
    }

    /// A dry run asks nobody.
    async fn preview(&self, op: &mut Operation<Provision>) -> Result<(), Halt> {
        let token = SecretString::from("what the greeter would answer");
        let text = "<what the greeter would answer>";
        op.input.overrides.append(COMPONENT, [plain("greeting.text", text), secret("greeting.token", token)]);
        Ok(())
    }
}
