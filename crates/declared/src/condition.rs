//! `when`: one comparison that says whether a step runs.

use engine::Operation;
use serde_json::Value;

use crate::kept::StepFact;
use crate::params::Params;
use crate::plan::DeclaredWorkflow;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StepCondition {
    Param { name: String, value: String, is_equal: bool },
    Fact { step: String, key: String, value: String },
    Has { step: String, key: String },
}

const FORMS: &str = "when must be one of: PARAM = VALUE, PARAM != VALUE, fact STEP.KEY = VALUE, has STEP.KEY";

impl StepCondition {
    pub(crate) fn parse(text: &str, params: &Params) -> Result<StepCondition, String> {
        if let Some(fact) = text.strip_prefix("has ") {
            let (step, key) = fact_name(fact)?;
            return Ok(StepCondition::Has { step, key });
        }
        let (left, value, is_equal) = match (text.split_once("!="), text.split_once('=')) {
            (Some((left, value)), _) => (left.trim(), value.trim(), false),
            (None, Some((left, value))) => (left.trim(), value.trim(), true),
            (None, None) => return Err(FORMS.into()),
        };
        if value.is_empty() || value.contains('=') {
            return Err(FORMS.into());
        }
        let value = value.to_owned();
        if let Some(fact) = left.strip_prefix("fact ") {
            let (step, key) = fact_name(fact)?;
            return if is_equal { Ok(StepCondition::Fact { step, key, value }) } else { Err(FORMS.into()) };
        }
        if left.is_empty() || left.contains(char::is_whitespace) {
            return Err(FORMS.into());
        }
        params.check_name(left).map_err(|why| format!("when: {why}"))?;
        Ok(StepCondition::Param { name: left.to_owned(), value, is_equal })
    }

    /// The step whose facts it looks at.
    pub(crate) fn step(&self) -> Option<&str> {
        match self {
            StepCondition::Param { .. } => None,
            StepCondition::Fact { step, .. } | StepCondition::Has { step, .. } => Some(step),
        }
    }

    pub(crate) fn holds(&self, op: &Operation<DeclaredWorkflow>) -> bool {
        self.is_true(&op.params.0, |step, key| {
            let kept = op.recall_as::<StepFact>(step).ok().flatten();
            kept.and_then(|mut kept| kept.facts.remove(key))
        })
    }

    pub(crate) fn is_true(
        &self,
        params: &serde_json::Map<String, Value>,
        fact: impl Fn(&str, &str) -> Option<Value>,
    ) -> bool {
        match self {
            StepCondition::Param { name, value, is_equal } => is_same(params.get(name), value) == *is_equal,
            StepCondition::Fact { step, key, value } => is_same(fact(step, key).as_ref(), value),
            StepCondition::Has { step, key } => fact(step, key).is_some(),
        }
    }
}

fn fact_name(text: &str) -> Result<(String, String), String> {
    match text.trim().split_once('.') {
        Some((step, key)) if !step.is_empty() && !key.is_empty() => Ok((step.to_owned(), key.to_owned())),
        _ => Err(FORMS.into()),
    }
}

/// A text is compared as it is, anything else as JSON. What is not there is the same as nothing.
fn is_same(found: Option<&Value>, value: &str) -> bool {
    match found {
        None => false,
        Some(Value::String(text)) => text == value,
        Some(other) => value == other.to_string().as_str(),
    }
}
