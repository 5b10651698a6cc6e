//! `demo.hello`: asks a greeter over HTTP, waits, writes a letter; all of it is undone when it fails.

mod greet;
mod rest;
mod sign_letter;
mod stumble;
mod write_letter;

use engine::prelude::*;

use engine::overrides::Overrides;
use greeter::Greeter;

pub struct Hello;

/// What was asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Who is greeted.
    #[serde(default = "world")]
    pub name: String,
    /// How long the operation waits before it writes the letter.
    #[serde(default)]
    pub wait_ms: u64,
    /// Whether it fails after that, to show how everything is undone.
    #[serde(default)]
    pub fail: bool,
}

fn world() -> String {
    "world".into()
}

/// What the steps learned.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct State {
    pub letter: Option<String>,
}

/// What one pass puts together.
#[derive(Debug, Default)]
pub struct Input {
    pub overrides: Overrides,
}

const NAME_CHARS_MAX: usize = 200;
const WAIT_MS_MAX: u64 = 24 * 3600 * 1000;

impl Workflow for Hello {
    const KIND: &'static str = "demo.hello";
    const ABOUT: &'static str = "Greets a name through an HTTP service, waits, and writes a letter.";
    type Params = Params;
    type State = State;
    type Input = Input;

    fn schema() -> serde_json::Value {
        serde_json::json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "name": {"type": "string", "title": "Name", "description": "Who is greeted", "default": "world",
                         "minLength": 1, "maxLength": NAME_CHARS_MAX},
                "wait_ms": {"type": "integer", "title": "Wait", "minimum": 0, "maximum": WAIT_MS_MAX, "default": 0,
                            "description": "How many milliseconds to wait before the letter is written"},
                "fail": {"type": "boolean", "title": "Fail", "default": false,
                         "description": "Whether it fails after that, to show how everything is undone"},
            },
        })
    }

    fn operation_name(params: &Params) -> Option<String> {
        Some(params.name.clone())
    }

    fn admit(asked: serde_json::Value, _sealer: &engine::secret::Sealer) -> Result<Params, String> {
        let params: Params = engine::parse(asked)?;
        if !(1..=NAME_CHARS_MAX).contains(&params.name.chars().count()) {
            return Err(format!("name must have 1 to {NAME_CHARS_MAX} characters"));
        }
        if params.wait_ms > WAIT_MS_MAX {
            return Err(format!("wait_ms must be at most {WAIT_MS_MAX} (one day)"));
        }
        Ok(params)
    }
}

/// The table of steps and weights.
pub fn plan(greeter: &Arc<dyn Greeter>) -> Plan<Hello> {
    Plan::new(OnFailure::Unwind)
        .step(10, greet::Greet::new(greeter))
        .step_when(|op| op.params.wait_ms > 0, 20, rest::Rest)
        .step_when(|op| op.params.fail, 30, stumble::Stumble)
        .step(40, write_letter::WriteLetter)
        .step(50, sign_letter::SignLetter)
}
