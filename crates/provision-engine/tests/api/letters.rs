//! A small workflow that does what its params say: finishes, waits, retries, fails or gets stuck.

use engine::prelude::*;
use engine::secret::Sealer;
use serde_json::Value;

pub(crate) struct Letters;

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Then {
    Succeed,
    /// Waits for the signal `key`.
    Wait,
    /// Breaks in a way that may heal, and never does.
    Retry,
    /// Fails, and is taken back.
    Fail,
    /// Fails, and cannot be taken back.
    Stick,
    /// Breaks the API itself.
    Panic,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignalWait {
    then: Then,
    #[serde(default)]
    key: String,
    #[serde(default)]
    password: String,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Params {
    then: Then,
    key: String,
    password: Sealed,
}

#[derive(Serialize, Deserialize, Default)]
pub(crate) struct State {
    written: u32,
}

impl Workflow for Letters {
    const KIND: &'static str = "test.letters";
    const ABOUT: &'static str = "Writes letters.";
    type Params = Params;
    type State = State;
    type Input = ();

    fn admit(asked: Value, sealer: &Sealer) -> Result<Params, String> {
        let asked: SignalWait = serde_json::from_value(asked).map_err(|error| format!("params: {error}"))?;
        assert!(asked.then != Then::Panic, "a very secret panic");
        let password = sealer.seal(&SecretString::from(asked.password));
        Ok(Params { then: asked.then, key: asked.key, password })
    }
}

pub(crate) fn plan() -> Plan<Letters> {
    Plan::new(OnFailure::Unwind)
        .step(1, Think)
        .step(10, Write)
        .step_when(|op| op.params.key == "stamp", 15, Stamp)
        .step(20, Post)
}

pub(crate) struct Think;
struct Write;
struct Stamp;
struct Post;

#[derive(Serialize, Deserialize)]
struct WrittenLetter {
    address: String,
    password: Sealed,
}

impl Fact for WrittenLetter {
    const KEY: &'static str = "write.letter";
}

#[async_trait]
impl Step<Letters> for Think {
    fn name(&self) -> &'static str {
        "think"
    }
    fn title(&self) -> &'static str {
        "Thinking of something to say"
    }
    fn effect(&self) -> Effect {
        Effect::Pure
    }
    async fn run(&self, _op: &mut Operation<Letters>) -> Outcome {
        done()
    }
}

#[async_trait]
impl Step<Letters> for Write {
    fn name(&self) -> &'static str {
        "write"
    }
    fn title(&self) -> &'static str {
        "Writing the letter"
    }
    async fn run(&self, op: &mut Operation<Letters>) -> Outcome {
        op.state.written = 1;
        let written = WrittenLetter { address: "somewhere".into(), password: op.params.password.clone() };
        op.remember(&written)?;
        done()
    }
    async fn undo(&self, op: &mut Operation<Letters>) -> Outcome {
        if op.params.then == Then::Stick { fail("the bin is full") } else { done() }
    }
}

#[async_trait]
impl Step<Letters> for Stamp {
    fn name(&self) -> &'static str {
        "stamp"
    }
    fn title(&self) -> &'static str {
        "Putting a stamp on it"
    }
    async fn run(&self, _op: &mut Operation<Letters>) -> Outcome {
        done()
    }
}

#[async_trait]
impl Step<Letters> for Post {
    fn name(&self) -> &'static str {
        "post"
    }
    fn title(&self) -> &'static str {
        "Posting the letter"
    }
    fn driver(&self) -> Option<&'static str> {
        Some("postman")
    }
    async fn run(&self, op: &mut Operation<Letters>) -> Outcome {
        match op.params.then {
            Then::Wait if op.signalled(&op.params.key).is_none() => {
                wait_for(op.params.key.clone(), Duration::from_secs(3600), "the postman is on his way")
            }
            Then::Retry => retry("no answer from <b>the external system</b>"),
            Then::Fail | Then::Stick => fail("the quota of letters is used up"),
            _ => done(),
        }
    }
}
