//! Selectors of lists and watches: labels, and the name of one object.

use serde_json::Value;

use super::failure::ApiFailure;

#[derive(Debug, Clone, Default)]
pub(super) struct Selector {
    name: Option<String>,
    labels: Vec<Requirement>,
}

#[derive(Debug, Clone)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

impl Selector {
    pub(super) fn parse(labels: &str, fields: &str) -> Result<Selector, ApiFailure> {
        let mut name = None;
        for field in fields.split(',').filter(|field| !field.is_empty()) {
            let (field, value) = field.split_once('=').unwrap_or((field, ""));
            match field {
                "metadata.name" => name = Some(value.trim_start_matches('=').to_owned()),
                "metadata.namespace" => {}
                _ => {
                    let message = format!("field label not supported: {field}");
                    return Err(ApiFailure::bad_request(message));
                }
            }
        }
        let labels = requirements(labels)?;
        Ok(Selector { name, labels })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.name.is_none() && self.labels.is_empty()
    }

    /// The only name that can match, so that nothing else has to be looked at.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        let label = |name: &str| metadata["labels"].get(name).and_then(Value::as_str);
        let is_met = |requirement: &Requirement| match requirement {
            Requirement::In(name, values) => {
                label(name).is_some_and(|value| values.iter().any(|one| one == value))
            }
            Requirement::NotIn(name, values) => {
                label(name).is_none_or(|value| values.iter().all(|one| one != value))
            }
            Requirement::Exists(name) => label(name).is_some(),
            Requirement::Absent(name) => label(name).is_none(),
        };
        self.name.as_ref().is_none_or(|name| metadata["name"] == name.as_str())
            && self.labels.iter().all(is_met)
    }
}

fn requirements(text: &str) -> Result<Vec<Requirement>, ApiFailure> {
    let mut parts = Vec::new();
    let mut depth = 0_u32;
    let mut part = String::new();
    for letter in text.chars() {
        match letter {
            ',' if depth == 0 => parts.push(std::mem::take(&mut part)),
            _ => {
                depth = match letter {
                    '(' => depth + 1,
                    ')' => depth.saturating_sub(1),
                    _ => depth,
                };
                part.push(letter);
            }
        }
    }
    parts.push(part);
    parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).map(requirement).collect()
}

fn requirement(part: &str) -> Result<Requirement, ApiFailure> {
    let one = |name: &str, value: &str| {
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        match value.chars().next() {
            Some(odd @ ('=' | '!')) => Err(ApiFailure::bad_request(format!(
                "unable to parse requirement: found '{odd}', expected: identifier"
            ))),
            _ => Ok((name, vec![value])),
        }
    };
    if let Some((name, value)) = part.split_once("!=") {
        return one(name, value).map(|(name, values)| Requirement::NotIn(name, values));
    }
    if let Some((name, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return one(name, value).map(|(name, values)| Requirement::In(name, values));
    }
    if let Some(name) = part.strip_prefix('!') {
        return Ok(Requirement::Absent(name.trim().to_owned()));
    }
    if let Some((left, values)) = part.split_once('(') {
        let values = values.trim_end_matches(')').split(',').map(|value| value.trim().to_owned()).collect();
        let mut words = left.split_whitespace();
        return match (words.next(), words.next()) {
            (Some(name), Some("in")) => Ok(Requirement::In(name.to_owned(), values)),
            (Some(name), Some("notin")) => Ok(Requirement::NotIn(name.to_owned(), values)),
            _ => Err(ApiFailure::bad_request("unable to parse requirement: expected in or notin")),
        };
    }
    Ok(Requirement::Exists(part.to_owned()))
}
