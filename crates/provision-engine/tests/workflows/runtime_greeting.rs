//! Steps that greet a runtime and take the greeting back, as earlier releases had them: examples of a step that hands the
//! answer of a service to the runtime, and of a clean-up.

use crate::world::Drivers;
use ::greeter::Greeter;
use ::runtimes::workflows::deprovision::{self, Deprovision};
use ::runtimes::workflows::provision::{self, Provision};
use engine::overrides::{plain, secret};
use engine::prelude::*;

const NAME: &str = "hello_world";

/// What the service said. Remembered, so that it is asked once and not once per pass.
#[derive(Serialize, Deserialize)]
struct Greeting {
    text: String,
    token: Sealed,
}

impl Fact for Greeting {
    const KEY: &'static str = "hello_world.greeting";
}

struct Greet(Arc<dyn Greeter>);

#[async_trait]
impl Step<Provision> for Greet {
    named!(NAME, "Greeting the new runtime");

    fn driver(&self) -> Option<&'static str> {
        Some("greeter")
    }

    async fn run(&self, op: &mut Operation<Provision>) -> Outcome {
        let greeting = if let Some(greeting) = op.recall::<Greeting>()? {
            greeting
        } else {
            let answer = self.0.greet(&op.idempotency_key(NAME), "runtime").await?;
            let greeting = Greeting { text: answer.text, token: op.seal(&answer.token) };
            op.remember(&greeting)?;
            greeting
        };
        // Overrides live for one pass only, so they are set on every pass.
        let token = op.open(&greeting.token)?;
        let overrides = [plain("greeting.text", greeting.text), secret("greeting.token", token)];
        op.input.overrides.append("hello", overrides);
        done()
    }
}

struct Forget(Arc<dyn Greeter>);

#[async_trait]
impl Step<Deprovision> for Forget {
    named!(NAME, "Taking back the greeting");

    async fn run(&self, op: &mut Operation<Deprovision>) -> Outcome {
        self.0.forget(&op.idempotency_key(NAME)).await?;
        done()
    }
}

pub(crate) fn provision_with_greeting(drivers: &Drivers) -> Plan<Provision> {
    provision::plan(drivers).insert(4, Greet(Arc::clone(&drivers.greeter)))
}

pub(crate) fn deprovision_with_greeting(drivers: &Drivers) -> Plan<Deprovision> {
    deprovision::plan(drivers).insert_clean_up(3, Forget(Arc::clone(&drivers.greeter)))
}
