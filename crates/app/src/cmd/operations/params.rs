//! JSON from the command line: written out, from a file, from stdin, or key by key.

use std::io::Read;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

/// Reads `JSON`, `@FILE` or `-` for stdin.
pub(super) fn json(flag: &str, text: &str) -> Result<Value> {
    let (source, text) = if text == "-" {
        let mut stdin = String::new();
        std::io::stdin().read_to_string(&mut stdin).with_context(|| format!("{flag}: cannot read stdin"))?;
        ("stdin".to_owned(), stdin)
    } else if let Some(path) = text.strip_prefix('@') {
        (
            path.to_owned(),
            std::fs::read_to_string(path).with_context(|| format!("{flag}: cannot read {path}"))?,
        )
    } else {
        ("the argument".to_owned(), text.to_owned())
    };
    serde_json::from_str(&text).with_context(|| format!("{flag}: {source} is not JSON"))
}

/// The params of an operation: the whole, with single ones laid over it.
pub(super) fn params(whole: Option<&str>, single: &[String]) -> Result<Value> {
    let mut params = match whole.map(|text| json("--params", text)).transpose()? {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(other) if single.is_empty() => return Ok(other),
        Some(_) => bail!("--param needs --params to be a JSON object"),
    };
    for pair in single {
        let Some((key, value)) = pair.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            bail!("--param: expected KEY=VALUE, got {pair:?}");
        };
        params.insert(key.to_owned(), guessed(value));
    }
    Ok(Value::Object(params))
}

/// What reads as JSON is JSON; anything else is text, so that nobody has to quote quotes.
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
        let read = params(Some(r#"{"name": "Bob", "y": null}"#), &single).unwrap();
        let expected = json!({
            "name": "Ada Lovelace", "wait_ms": 250, "fail": true, "id": "7", "x": "a=b", "y": null,
        });
        assert_eq!(read, expected);
        assert_eq!(params(None, &[]).unwrap(), json!({}));
    }

    #[test]
    fn a_file_is_read_and_nonsense_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "{\"a\": 1}").unwrap();
        let at = format!("@{}", file.path().display());
        assert_eq!(params(Some(&at), &[]).unwrap(), json!({"a": 1}));
        for (whole, single, part) in [
            (Some("{"), "", "is not JSON"),
            (Some("@/nowhere"), "", "cannot read /nowhere"),
            (Some("[]"), "a=1", "JSON object"),
            (None, "novalue", "KEY=VALUE"),
            (None, "=x", "KEY=VALUE"),
        ] {
            let single: Vec<String> =
                Some(single).filter(|s| !s.is_empty()).map(str::to_owned).into_iter().collect();
            let error = format!("{:#}", params(whole, &single).unwrap_err());
            assert!(error.contains(part), "{error}");
        }
    }
}
