//! The params of an operation: as a whole, or key by key.

use anyhow::Result;
use config::nearest;
use serde_json::{Map, Value};

use crate::exit::UsageError;
use crate::given;

/// The params of an operation: the whole, with single ones laid over it. The schema of the workflow says their types,
/// where it is known.
pub(super) fn params(whole: Option<&str>, single: &[String], schema: &Value) -> Result<Value> {
    let mut params = match whole.map(|text| given::value("--params", text)).transpose()? {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(other) if single.is_empty() => return Ok(other),
        Some(_) => return Err(UsageError("--param needs --params to be a JSON object".into()).into()),
    };
    for pair in single {
        let (key, value) = given::pair("--param", pair)?;
        params.insert(key.to_owned(), typed(key, value, schema).map_err(UsageError)?);
    }
    Ok(Value::Object(params))
}

/// A value of the type that the schema says.
fn typed(key: &str, text: &str, schema: &Value) -> Result<Value, String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(guessed(text));
    };
    let Some(property) = properties.get(key) else {
        if let Some(meant) = nearest::among(key, properties.keys().map(String::as_str)) {
            return Err(format!("--param: there is no param {key}; did you mean {meant}?"));
        }
        if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            return Err(format!("--param: there is no param {key}; there are {}", known.join(", ")));
        }
        return Ok(guessed(text));
    };
    let options = property.get("enum").and_then(Value::as_array);
    if let Some(options) = options {
        let is_it = |option: &&Value| {
            option.as_str().map_or_else(|| option.to_string(), str::to_owned).as_str() == text
        };
        let known = || options.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        return options
            .iter()
            .find(is_it)
            .cloned()
            .ok_or_else(|| format!("--param {key}: it is one of {}", known()));
    }
    let read = guessed(text);
    match kind_of(property) {
        Some("string") if !text.starts_with('"') => Ok(Value::String(text.to_owned())),
        Some("integer") if !(read.is_i64() || read.is_u64()) => {
            Err(format!("--param {key}: expected a whole number, got {text:?}"))
        }
        Some("number") if !read.is_number() => Err(format!("--param {key}: expected a number, got {text:?}")),
        Some("boolean") if !read.is_boolean() => {
            Err(format!("--param {key}: expected true or false, got {text:?}"))
        }
        _ => Ok(read),
    }
}

/// The type of a param; of one that may be nothing, the other type.
fn kind_of(property: &Value) -> Option<&str> {
    match property.get("type")? {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        kind => kind.as_str(),
    }
}

/// What reads as JSON is JSON; anything else is text, so that quotes need no quotes.
fn guessed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn single_params_win_and_are_json_where_they_can_be() {
        let single =
            ["wait_ms=250", "name=Ada Lovelace", "fail=true", "id=\"7\"", "x=a=b"].map(str::to_owned);
        let none = Value::Null;
        let read = params(Some(r#"{"name": "Bob", "y": null}"#), &single, &none).unwrap();
        let expected = json!({
            "name": "Ada Lovelace", "wait_ms": 250, "fail": true, "id": "7", "x": "a=b", "y": null,
        });
        assert_eq!(read, expected);
        assert_eq!(params(None, &[], &none).unwrap(), json!({}));
    }

    #[test]
    fn the_schema_says_the_types_and_what_was_meant() {
        let schema = json!({"properties": {
            "team": {"type": "string"}, "count": {"type": "integer"}, "on": {"type": "boolean"},
            "size": {"enum": ["small", 3]}, "note": {"type": ["string", "null"]},
        }});
        let read =
            |pair: &str| params(None, &[pair.to_owned()], &schema).map_err(|error| format!("{error:#}"));
        assert_eq!(read("team=7").unwrap(), json!({"team": "7"}));
        assert_eq!(read("team=\"7\"").unwrap(), json!({"team": "7"}));
        assert_eq!(read("note=7").unwrap(), json!({"note": "7"}));
        assert_eq!(read("count=7").unwrap(), json!({"count": 7}));
        assert_eq!(read("size=3").unwrap(), json!({"size": 3}));
        assert_eq!(read("other=x").unwrap(), json!({"other": "x"}));
        for (pair, part) in [
            ("taem=red", "did you mean team?"),
            ("count=many", "expected a whole number"),
            ("on=1", "expected true or false"),
            ("size=large", "it is one of \"small\", 3"),
        ] {
            let error = read(pair).unwrap_err();
            assert!(error.contains(part), "{pair}: {error}");
        }
    }

    #[test]
    fn single_params_need_an_object_and_a_name() {
        for (whole, single, part) in
            [(Some("[]"), "a=1", "JSON object"), (None, "novalue", "KEY=VALUE"), (None, "=x", "KEY=VALUE")]
        {
            let error = format!("{:#}", params(whole, &[single.to_owned()], &Value::Null).unwrap_err());
            assert!(error.contains(part), "{error}");
        }
    }
}
