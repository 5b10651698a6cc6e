//! Version 2 of the contract: what a step of a declared workflow answers.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::secret::SecretString;
use serde_json::{Map, Value};

/// What a service answers. No `Debug`, because it may hold secrets.
#[derive(PartialEq)]
pub enum StepAnswer {
    Done { facts: Map<String, Value>, secrets: Secrets },
    Skip { reason: Option<String> },
    Wait { until: Until, reason: Option<String>, facts: Option<Map<String, Value>>, progress: Option<String> },
    Retry { reason: String, after: Option<Duration> },
    Fail { reason: String },
}

/// By name. Two are the same if they have the same names.
pub struct Secrets(pub BTreeMap<String, SecretString>);

impl PartialEq for Secrets {
    fn eq(&self, other: &Secrets) -> bool {
        self.0.keys().eq(other.0.keys())
    }
}

/// What a step waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Until {
    After(Duration),
    Signal { key: String, within: Option<Duration> },
}

/// The name of a fact, a secret or a signal.
const KEY_CHARS_MAX: usize = 253;
/// Facts stand deep inside the journal, and what is too deep there can never be read again.
const FACT_DEPTH_MAX: usize = 32;
const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// The fields that an outcome comes with.
const OUTCOMES: [(&str, &[&str]); 5] = [
    ("done", &["facts", "secrets"]),
    ("skip", &["reason"]),
    ("wait", &["after", "signal", "within", "reason", "facts", "progress"]),
    ("retry", &["reason", "after"]),
    ("fail", &["reason"]),
];

impl StepAnswer {
    /// Reads an answer. The error says what is wrong with which field, and repeats no value: any may be secret.
    pub fn read(body: &[u8]) -> Result<StepAnswer, String> {
        let value: Value = serde_json::from_slice(body).map_err(|error| {
            format!("it is not JSON, from line {} column {} on", error.line(), error.column())
        })?;
        let Value::Object(mut fields) = value else {
            return Err("it is not a JSON object with the field outcome".into());
        };
        let outcome = fields.remove("outcome");
        let outcome = outcome.as_ref().and_then(Value::as_str).unwrap_or_default();
        let known = OUTCOMES.iter().find(|(name, _)| *name == outcome);
        let (outcome, allowed) = known.ok_or("outcome must be done, skip, wait, retry or fail")?;
        if let Some(other) = fields.keys().find(|name| !allowed.contains(&name.as_str())) {
            let other = http_client::shorten(other);
            let allowed = allowed.join(", ");
            return Err(format!("the field {other} does not belong to {outcome}, which takes {allowed}"));
        }
        let mut fields = AnswerFields(fields);
        Ok(match *outcome {
            "done" => {
                StepAnswer::Done { facts: fields.facts()?.unwrap_or_default(), secrets: fields.secrets()? }
            }
            "skip" => StepAnswer::Skip { reason: fields.reason()? },
            "wait" => fields.wait()?,
            "retry" => StepAnswer::Retry { after: fields.period("after")?, reason: fields.needed_reason()? },
            _ => StepAnswer::Fail { reason: fields.needed_reason()? },
        })
    }
}

struct AnswerFields(Map<String, Value>);

impl AnswerFields {
    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    fn wait(&mut self) -> Result<StepAnswer, String> {
        let (after, within) = (self.period("after")?, self.period("within")?);
        let signal = self.take("signal").map(|value| key("signal", value.as_str().unwrap_or_default()));
        let until = match (after, signal.transpose()?) {
            (Some(_), None) if within.is_some() => return Err("within needs signal".into()),
            (Some(after), None) => Until::After(after),
            (None, Some(key)) => Until::Signal { key, within },
            _ => return Err("wait needs after or signal, and not both".into()),
        };
        let (reason, facts, progress) = (self.reason()?, self.facts()?, self.progress()?);
        Ok(StepAnswer::Wait { until, reason, facts, progress })
    }

    fn facts(&mut self) -> Result<Option<Map<String, Value>>, String> {
        let Some(value) = self.take("facts") else { return Ok(None) };
        let Value::Object(facts) = value else { return Err("facts must be an object".into()) };
        for name in facts.keys() {
            key("a key of facts", name)?;
        }
        if facts.values().any(|fact| is_deeper(fact, FACT_DEPTH_MAX)) {
            return Err(format!("facts may be nested {FACT_DEPTH_MAX} times and not more"));
        }
        Ok(Some(facts))
    }

    fn secrets(&mut self) -> Result<Secrets, String> {
        let Some(value) = self.take("secrets") else { return Ok(Secrets(BTreeMap::new())) };
        let Value::Object(secrets) = value else { return Err("secrets must be an object".into()) };
        let secret = |(name, value): (String, Value)| {
            let name = key("a key of secrets", &name)?;
            let Value::String(text) = value else { return Err("secrets must be texts".to_owned()) };
            Ok((name, SecretString::from(text)))
        };
        secrets.into_iter().map(secret).collect::<Result<_, _>>().map(Secrets)
    }

    fn reason(&mut self) -> Result<Option<String>, String> {
        match self.take("reason") {
            None => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(http_client::shorten(&text))),
            Some(_) => Err("reason must be a text that is not empty".into()),
        }
    }

    fn needed_reason(&mut self) -> Result<String, String> {
        self.reason()?.ok_or_else(|| "reason is missing".to_owned())
    }

    fn progress(&mut self) -> Result<Option<String>, String> {
        const WRONG: &str = "progress must be a number from 0 to 100 or a text that is not empty";
        match self.take("progress") {
            None => Ok(None),
            Some(Value::Number(number))
                if number.as_f64().is_some_and(|one| (0.0..=100.0).contains(&one)) =>
            {
                Ok(Some(format!("{number} %")))
            }
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(http_client::shorten(&text))),
            Some(_) => Err(WRONG.into()),
        }
    }

    fn period(&mut self, name: &str) -> Result<Option<Duration>, String> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let text = value.as_str().unwrap_or_default();
        let (number, unit) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
        let scale = UNITS.iter().find(|(known, _)| *known == unit).map(|(_, scale)| *scale);
        let millis =
            scale.zip(number.parse::<u64>().ok()).and_then(|(scale, number)| number.checked_mul(scale));
        let wrong =
            || format!("{name} must be a whole number and a unit, such as 250ms, 30s, 5m, 24h or 90d");
        millis.map(|millis| Some(Duration::from_millis(millis))).ok_or_else(wrong)
    }
}

fn key(what: &str, text: &str) -> Result<String, String> {
    if text.is_empty() || text.chars().count() > KEY_CHARS_MAX || text.chars().any(char::is_control) {
        return Err(format!("{what} must have 1 to {KEY_CHARS_MAX} characters that can be read"));
    }
    Ok(text.to_owned())
}

fn is_deeper(value: &Value, than: usize) -> bool {
    match value {
        Value::Array(items) => than == 0 || items.iter().any(|item| is_deeper(item, than - 1)),
        Value::Object(map) => than == 0 || map.values().any(|item| is_deeper(item, than - 1)),
        _ => false,
    }
}
