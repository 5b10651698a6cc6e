//! What is wrong with parameters, by field, in words that come from the schema and never from a value.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

/// More than these are not told at a time.
const ERRORS_MAX: usize = 5;
/// Of the name of an unknown parameter.
const NAME_CHARS_MAX: usize = 64;

pub(crate) fn check(validator: &Validator, schema: &Value, parameters: &Value) -> Result<(), String> {
    let errors = validator.iter_errors(parameters);
    let mut errors: Vec<String> =
        errors.flat_map(|error| described(&error, schema)).take(ERRORS_MAX).collect();
    errors.dedup();
    if errors.is_empty() { Ok(()) } else { Err(errors.join("; ")) }
}

fn described(error: &ValidationError<'_>, schema: &Value) -> Vec<String> {
    let place = format!("parameters{}", error.instance_path().to_string().replace('/', "."));
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let remedy = accepted(schema, &place);
            unexpected.iter().map(|name| format!("{place}.{}: {remedy}", readable(name))).collect()
        }
        ValidationErrorKind::OneOfNotValid { context } => {
            // The way that was probably meant has the fewest strange names here, and then the fewest errors.
            let strange = |inner: &ValidationError<'_>| match inner.kind() {
                ValidationErrorKind::AdditionalProperties { unexpected }
                    if inner.instance_path() == error.instance_path() =>
                {
                    unexpected.len()
                }
                _ => 0,
            };
            let strange =
                |way: &&Vec<ValidationError<'_>>| (way.iter().map(strange).sum::<usize>(), way.len());
            let meant = context.iter().min_by_key(strange).map(Vec::as_slice).unwrap_or_default();
            meant.iter().flat_map(|error| described(error, schema)).collect()
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => {
            vec![format!("{place}: must be in one form, and not in two")]
        }
        ValidationErrorKind::PropertyNames { .. } => vec![format!("{place}: has a name that is not allowed")],
        kind => vec![format!("{place}: {}", rule(kind))],
    }
}

/// What to do about a name that the schema does not have.
fn accepted(schema: &Value, place: &str) -> String {
    let known = schema["properties"].as_object().filter(|_| place == "parameters");
    match known.map(|known| known.keys().map(String::as_str).collect::<Vec<_>>().join(", ")) {
        Some(names) if !names.is_empty() => format!("is unknown to this plan, which accepts {names}"),
        _ => "is unknown; see the schema in the catalog".into(),
    }
}

/// A name that a request made up, short enough for an answer and without what would break a line.
fn readable(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect()
}

/// What is wrong, in words that come from the schema and never from a value of the request.
fn rule(kind: &ValidationErrorKind) -> String {
    match kind {
        ValidationErrorKind::Required { property } => {
            format!("{} is missing", property.as_str().unwrap_or_default())
        }
        ValidationErrorKind::Enum { options } => format!("must be one of {options}"),
        ValidationErrorKind::Type { .. } => "has the wrong type; see the schema in the catalog".into(),
        ValidationErrorKind::Minimum { limit } => format!("must be at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("must be at most {limit}"),
        ValidationErrorKind::MinLength { limit } => {
            format!("must have at least {}", counted(*limit, "character"))
        }
        ValidationErrorKind::MaxLength { limit } => {
            format!("must have at most {}", counted(*limit, "character"))
        }
        ValidationErrorKind::MaxItems { limit } => format!("must have at most {}", counted(*limit, "item")),
        ValidationErrorKind::MinItems { limit } => format!("must have at least {}", counted(*limit, "item")),
        ValidationErrorKind::Pattern { pattern } => format!("must match {pattern}"),
        ValidationErrorKind::UniqueItems => "must not have the same item twice".into(),
        _ => "does not fit the schema in the catalog".into(),
    }
}

/// `1 item`, `2 items`.
fn counted(count: u64, what: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {what}{end}")
}
