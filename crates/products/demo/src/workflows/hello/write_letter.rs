//! Writes the letter from the overrides that the steps before it set.

use engine::prelude::*;

use crate::workflows::hello::Hello;
use engine::overrides::Value;

pub(crate) struct WriteLetter;

#[async_trait]
impl Step<Hello> for WriteLetter {
    named!("write_letter", "Writing the letter");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    async fn run(&self, op: &mut Operation<Hello>) -> Outcome {
        let overrides = op.input.overrides.take();
        let mut lines = Vec::new();
        for (component, entries) in &overrides.components {
            for (key, value) in entries {
                match value {
                    Value::Public(text) | Value::Plain(text) => {
                        lines.push(format!("{component}.{key}: {text}"));
                    }
                    // A secret is used, never written down.
                    Value::Secret(_) => lines.push(format!("{component}.{key}: (enclosed)")),
                }
            }
        }
        op.state.letter = Some(lines.join("\n"));
        done()
    }
}
