//! Takes back the greeting that provisioning got. What it cannot do now is done later: it must not keep the cluster
//! alive.

use drivers::greeter::Greeter;
use engine::prelude::*;

use super::Deprovision;

pub(super) struct HelloWorld {
    greeter: Arc<dyn Greeter>,
}

impl HelloWorld {
    pub(super) fn new(greeter: &Arc<dyn Greeter>) -> HelloWorld {
        HelloWorld { greeter: Arc::clone(greeter) }
    }
}

#[derive(Serialize, Deserialize)]
struct Forgotten(bool);

impl Fact for Forgotten {
    const KEY: &'static str = "hello_world.forgotten";
}

#[async_trait]
impl Step<Deprovision> for HelloWorld {
    fn name(&self) -> &'static str {
        "hello_world"
    }

    fn title(&self) -> &'static str {
        "Taking back the greeting"
    }

    fn driver(&self) -> Option<&'static str> {
        Some("greeter")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        let (first, max) = (Duration::from_secs(1), Duration::from_secs(30));
        Some(RetryPolicy { first, max, budget: Duration::from_mins(5) })
    }

    async fn run(&self, op: &mut Operation<Deprovision>) -> Outcome {
        if op.recall::<Forgotten>()?.is_none() {
            self.greeter.forget(&op.input.instance()?.token("hello_world")).await?;
            op.remember(&Forgotten(true))?;
        }
        done()
    }
}
