//! An answer of a broker, and the assertions of checks on it.

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::report::CheckOutcome;

const EXCERPT_CHARS_MAX: usize = 300;

#[derive(Debug, Clone)]
pub(crate) struct BrokerResponse {
    pub(crate) method: Method,
    /// The method, the path and the query; never a header, because those carry the password.
    pub(crate) request: String,
    /// 0 when there was no answer at all; then `text` says why.
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// Null when the body is not JSON.
    pub(crate) json: Value,
}

impl BrokerResponse {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub(crate) fn has(&self, statuses: &[u16]) -> bool {
        statuses.contains(&self.status)
    }

    pub(crate) fn is_json(&self) -> bool {
        let json = self.header("content-type").and_then(|kind| kind.split(';').next());
        json.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    }

    pub(crate) fn operation(&self) -> Option<&str> {
        self.json["operation"].as_str().filter(|operation| !operation.is_empty())
    }

    pub(crate) fn state(&self) -> Option<&str> {
        self.json["state"].as_str()
    }

    /// The beginning of a verdict: one of these statuses.
    pub(crate) fn is(&self, statuses: &[u16]) -> Verdict<'_> {
        Verdict::of(self).and(self.has(statuses), || format!("expected status {}", listed(statuses)))
    }

    pub(crate) fn is_error(&self, code: &str) -> Verdict<'_> {
        self.is(&[422]).and(self.json["error"] == code, || format!("expected the error {code}"))
    }

    fn excerpt(&self) -> String {
        let mut json = self.json.clone();
        let text = match json.get_mut("credentials") {
            Some(credentials) => {
                *credentials = Value::from("<hidden>");
                json.to_string()
            }
            None => self.text.clone(),
        };
        match text.char_indices().nth(EXCERPT_CHARS_MAX) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

fn listed(statuses: &[u16]) -> String {
    statuses.iter().map(u16::to_string).collect::<Vec<_>>().join(" or ")
}

/// What is wrong with one answer: the first expectation that does not hold.
#[must_use]
pub(crate) struct Verdict<'a> {
    answer: &'a BrokerResponse,
    fault: Option<String>,
}

impl<'a> Verdict<'a> {
    pub(crate) fn of(answer: &'a BrokerResponse) -> Verdict<'a> {
        Verdict { answer, fault: None }
    }

    pub(crate) fn and(mut self, holds: bool, otherwise: impl FnOnce() -> String) -> Self {
        if self.fault.is_none() && !holds {
            self.fault = Some(otherwise());
        }
        self
    }

    pub(crate) fn with_header(self, name: &str) -> Self {
        let there = self.answer.header(name).is_some_and(|value| !value.is_empty());
        self.and(there, || format!("expected the header {name}"))
    }

    pub(crate) fn with(self, field: &str, value: &Value) -> Self {
        let same = self.answer.json[field] == *value;
        self.and(same, || format!("expected {field} to be {value}"))
    }

    pub(crate) fn without(self, field: &str) -> Self {
        let absent = self.answer.json.get(field).is_none();
        self.and(absent, || format!("expected no {field}"))
    }

    /// A name that the operation can be asked for by, if the answer promises to finish later.
    pub(crate) fn with_operation_when_async(self) -> Self {
        let named = self.answer.status != 202 || self.answer.operation().is_some();
        self.and(named, || "expected an operation in a 202".to_owned())
    }

    pub(crate) fn with_description(self) -> Self {
        let said = self.answer.json["description"].as_str().is_some_and(|text| !text.trim().is_empty());
        self.and(said, || "expected a description that is not empty".to_owned())
    }
}

impl From<Verdict<'_>> for CheckOutcome {
    fn from(verdict: Verdict<'_>) -> CheckOutcome {
        let Verdict { answer, fault } = verdict;
        match fault {
            None => CheckOutcome::Passed,
            Some(fault) => {
                let BrokerResponse { request, status, .. } = answer;
                CheckOutcome::Failed(format!("{fault}; {request} -> {status} {}", answer.excerpt()))
            }
        }
    }
}

/// For what is not about a single answer: nothing found is good.
impl From<Option<String>> for CheckOutcome {
    fn from(fault: Option<String>) -> CheckOutcome {
        fault.map_or(CheckOutcome::Passed, CheckOutcome::Failed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(status: u16, json: Value) -> BrokerResponse {
        let (request, text) = ("PUT /v2/x".to_owned(), json.to_string());
        BrokerResponse { method: Method::PUT, request, status, headers: HeaderMap::new(), text, json }
    }

    #[test]
    fn the_first_expectation_that_fails_is_the_one_told() {
        let answer = answer(202, json!({ "operation": "" }));
        let outcome = CheckOutcome::from(answer.is(&[202]).with_operation_when_async().with_description());
        let expect = r#"expected an operation in a 202; PUT /v2/x -> 202 {"operation":""}"#;
        assert_eq!(outcome, CheckOutcome::Failed(expect.to_owned()));
    }

    #[test]
    fn a_failure_does_not_show_credentials() {
        let answer = answer(500, json!({ "credentials": { "key": "very-secret" } }));
        let CheckOutcome::Failed(why) = answer.is(&[201]).into() else { panic!("500 is not 201") };
        assert!(why.contains("<hidden>") && !why.contains("very-secret"), "{why}");
    }

    #[test]
    fn an_excerpt_is_short_and_ends_at_a_character() {
        let answer = answer(500, json!("ü".repeat(5_000)));
        assert_eq!(answer.excerpt().chars().count(), EXCERPT_CHARS_MAX + 1);
    }
}
