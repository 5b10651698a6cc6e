//! The filters of lists: clauses like `labels.k="v"`, all of which must hold.

use serde_json::Value;

use super::call_error::GceError;

#[derive(Debug)]
pub(super) struct GceFilter(Vec<Clause>);

#[derive(Debug, PartialEq, Eq)]
struct Clause {
    field: String,
    is_equal: bool,
    value: String,
}

impl GceFilter {
    pub(super) fn parse(text: &str) -> Result<Self, GceError> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(GceFilter(Vec::new()));
        }
        let wrong = || {
            GceError::invalid(format!(
                "Invalid value for field 'filter': '{text}'. Invalid list filter expression."
            ))
        };
        let clauses: Option<Vec<Clause>> = text.split(" AND ").map(clause).collect();
        clauses.map(GceFilter).ok_or_else(wrong)
    }

    pub(super) fn fits(&self, item: &Value) -> bool {
        self.0.iter().all(|clause| {
            let found = clause.field.split('.').fold(item, |value, name| &value[name]);
            let is_same = match found {
                Value::String(text) => *text == clause.value,
                Value::Null => false,
                other => *other == clause.value,
            };
            is_same == clause.is_equal
        })
    }
}

fn clause(text: &str) -> Option<Clause> {
    let text = text.trim().trim_start_matches('(').trim_end_matches(')').trim();
    let (field, is_equal, value) = if let Some((field, value)) = text.split_once("!=") {
        (field, false, value)
    } else if let Some((field, value)) = text.split_once('=') {
        (field, true, value)
    } else {
        let (field, value) = text.split_once(" eq ")?;
        (field, true, value)
    };
    let value = value.trim();
    let is_quoted = value.len() >= 2 && value.starts_with('"') && value.ends_with('"');
    let value = if is_quoted { &value[1..value.len() - 1] } else { value };
    let field = field.trim();
    let is_field = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_sound = !field.is_empty() && field.chars().all(is_field) && !value.contains(['"', ' ']);
    is_sound.then(|| Clause { field: field.to_owned(), is_equal, value: value.to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_are_compared_with_and_without_quotes() {
        let item = json!({"labels": {"a-b": "c"}, "status": "RUNNING"});
        let fits = |text: &str| GceFilter::parse(text).unwrap().fits(&item);
        assert!(fits("labels.a-b=\"c\"") && fits("labels.a-b=c") && fits("(labels.a-b = c)") && fits(""));
        assert!(fits("(labels.a-b=c) AND (status!=\"DONE\")") && !fits("labels.a-b=c AND status=DONE"));
        assert!(!fits("labels.x=c") && fits("labels.x!=c") && fits("status eq RUNNING"));
        for text in ["nothing", "a=\"b\" OR c", "=b", "a/b=c"] {
            assert!(GceFilter::parse(text).is_err(), "{text}");
        }
    }
}
