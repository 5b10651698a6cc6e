//! Values on the command line: a file, `-` for stdin, or JSON written out. All flags read them alike.

use std::fs::File;
use std::io::Read;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use crate::exit::UsageError;

/// Larger than any server takes.
const BYTES_MAX: u64 = 1024 * 1024;

/// JSON written out, or JSON or YAML in a file, whose name may have an `@` before it, or from stdin. What is read may
/// be a secret, so that an error names only its place.
pub fn value(flag: &str, given: &str) -> Result<Value> {
    if let Ok(value) = serde_json::from_str(given) {
        return Ok(value);
    }
    if is_json(given) {
        return parse(flag, "the argument", given);
    }
    let path = given.strip_prefix('@').unwrap_or(given);
    parse(flag, named(path), &text(flag, path)?)
}

/// The same where only an object will do.
pub fn object(flag: &str, given: &str) -> Result<Map<String, Value>> {
    match value(flag, given)? {
        Value::Object(object) => Ok(object),
        _ => bail!("{flag}: expected an object in {}", if given == "-" { "stdin" } else { "what was given" }),
    }
}

/// The text of a file, or of stdin where its name is `-`.
pub fn text(flag: &str, path: &str) -> Result<String> {
    let read = if path == "-" {
        limited(std::io::stdin())
    } else {
        File::open(path).map_err(Into::into).and_then(limited)
    };
    read.with_context(|| format!("{flag}: cannot read {}", named(path)))
}

/// `KEY=VALUE`. The text may be a secret whose name was forgotten, so that it is not repeated.
pub fn pair<'a>(flag: &str, given: &'a str) -> Result<(&'a str, &'a str)> {
    match given.split_once('=') {
        Some((name, text)) if !name.is_empty() => Ok((name, text)),
        _ => Err(UsageError(format!("{flag}: expected KEY=VALUE")).into()),
    }
}

fn parse(flag: &str, name: &str, text: &str) -> Result<Value> {
    if is_json(text) {
        return serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            UsageError(format!("{flag}: {name} is not JSON (line {line}, column {column})")).into()
        });
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let line = error.location().map_or_else(|| "?".to_owned(), |at| at.line().to_string());
        UsageError(format!("{flag}: {name} is not YAML (line {line})")).into()
    })
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

fn named(path: &str) -> &str {
    if path == "-" { "stdin" } else { path }
}

fn limited(source: impl Read) -> Result<String> {
    let mut text = String::new();
    source.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > BYTES_MAX {
        bail!("more than {BYTES_MAX} bytes");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_written_out_or_in_a_file_in_json_or_yaml() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        for text in ["{\"a\": 1}", "a: 1\n"] {
            std::fs::write(path, text).unwrap();
            for given in [path.to_owned(), format!("@{path}")] {
                assert_eq!(value("--params", &given).unwrap(), json!({"a": 1}), "{text}");
            }
        }
        assert_eq!(value("--params", " {\"a\": [1]}").unwrap(), json!({"a": [1]}));
        assert_eq!(value("--payload", "7").unwrap(), json!(7));
    }

    #[test]
    fn an_error_names_the_flag_and_the_place_and_repeats_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let read = |text: &str| {
            std::fs::write(path, text).unwrap();
            format!("{:#}", object("-f", path).unwrap_err())
        };
        for (error, part) in [
            (read("{\"hush\": "), "is not JSON (line 1, column"),
            (read("a: [hush"), "is not YAML (line"),
            (read("- hush"), "expected an object"),
            (read(&"x".repeat(2_000_000)), "more than"),
            (
                format!("{:#}", object("-f", "{hush").unwrap_err()),
                "the argument is not JSON (line 1, column 2)",
            ),
            (format!("{:#}", object("-f", "/no/such").unwrap_err()), "cannot read /no/such"),
            (format!("{:#}", pair("-f", "hush").unwrap_err()), "expected KEY=VALUE"),
        ] {
            assert!(error.starts_with("-f: ") && error.contains(part) && !error.contains("hush"), "{error}");
        }
    }
}
