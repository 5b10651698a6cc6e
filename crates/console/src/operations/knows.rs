//! What an operation was asked, what its steps share and remember, and the overrides that were sent. Secrets are
//! masked by the API.

use api::types::OperationDetail;
use askama::Template;
use serde_json::Value;

use super::journal::pretty;

#[derive(Template)]
#[template(path = "operations/knows.html")]
pub(super) struct Knows {
    params: String,
    state: String,
    facts: Vec<(String, String)>,
    overrides: Vec<Override>,
}

/// A value that a step handed to a component.
#[derive(Debug, PartialEq, Eq)]
struct Override {
    /// The fact that tells of it.
    from: String,
    component: Option<String>,
    key: String,
    value: SentFact,
}

#[derive(Debug, PartialEq, Eq)]
enum SentFact {
    Shown(String),
    /// Params of the submit that are sealed.
    Private,
    Secret,
}

impl SentFact {
    fn read(value: &Value) -> SentFact {
        match value["plain"].as_str() {
            Some(text) => SentFact::Shown(text.to_owned()),
            None if value == "private" => SentFact::Private,
            None => SentFact::Secret,
        }
    }
}

impl Knows {
    pub(super) fn new(detail: &OperationDetail) -> Knows {
        Knows {
            params: pretty(&detail.params),
            state: pretty(&detail.state),
            facts: detail.facts.iter().map(|(key, value)| (key.clone(), shown(value))).collect(),
            overrides: detail.facts.iter().flat_map(|(key, value)| overrides(key, value)).collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.params.is_empty() && self.state.is_empty() && self.facts.is_empty()
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// Steps keep their overrides in a list of that name, each with its value under `plain`, or a word for why not.
fn overrides(fact: &str, value: &Value) -> Vec<Override> {
    let one = |item: &Value| {
        Some(Override {
            from: fact.to_owned(),
            component: item["component"].as_str().map(str::to_owned),
            key: item["key"].as_str()?.to_owned(),
            value: SentFact::read(&item["value"]),
        })
    };
    value["overrides"].as_array().into_iter().flatten().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn overrides_are_found_and_only_what_is_plain_has_a_value() {
        let answer = json!({"is_done": true, "overrides": [
            {"component": "hello", "key": "motto", "value": {"plain": "onward"}},
            {"key": "token", "value": {"secret": "<sealed>"}},
            {"key": "text", "value": "private"},
            {"key": "password", "value": "secret"},
        ]});
        let found = overrides("motto.answer", &answer);
        assert_eq!((found[0].component.as_deref(), found[1].component.as_deref()), (Some("hello"), None));
        let values: Vec<SentFact> = found.into_iter().map(|one| one.value).collect();
        assert_eq!(
            values,
            [SentFact::Shown("onward".to_owned()), SentFact::Secret, SentFact::Private, SentFact::Secret]
        );
        assert!(overrides("greet.greeting", &json!({"text": "x"})).is_empty());
    }
}
