//! What an operation was asked, what its steps share and remember, and the overrides that were sent. Secrets are
//! masked by the API.

use askama::Template;
use doors::wire::OperationDetail;
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
    /// `None` for a secret.
    value: Option<String>,
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

/// Steps keep their overrides in a list, each with its value under `plain` or `secret`.
fn overrides(fact: &str, value: &Value) -> Vec<Override> {
    let list = if fact.ends_with(".overrides") { value } else { &value["overrides"] };
    let one = |item: &Value| {
        Some(Override {
            from: fact.to_owned(),
            component: item["component"].as_str().map(str::to_owned),
            key: item["key"].as_str()?.to_owned(),
            value: item["value"]["plain"].as_str().map(str::to_owned),
        })
    };
    list.as_array().into_iter().flatten().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn overrides_are_found_and_a_secret_has_no_value() {
        let answer = json!({"is_done": true, "overrides": [
            {"component": "hello", "key": "motto", "value": {"plain": "onward"}},
            {"key": "token", "value": {"secret": "<sealed>"}},
        ]});
        let found = overrides("motto.answer", &answer);
        assert_eq!(found[0].value.as_deref(), Some("onward"));
        assert_eq!((found[1].component.as_deref(), found[1].value.as_deref()), (None, None));
        assert!(overrides("greet.greeting", &json!({"text": "x"})).is_empty());
        assert_eq!(overrides("create_runtime.overrides", &answer["overrides"]).len(), 2);
    }
}
