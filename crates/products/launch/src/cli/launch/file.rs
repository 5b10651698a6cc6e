//! Files that a launch is made of, read with limits.

use std::fs::File;
use std::io::Read;

use anyhow::{Context, Result, anyhow, bail};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A request for an image is the largest thing that is sent, and the server takes no more.
const BYTES_MAX: u64 = 256 * 1024;

/// The text of a file, or of stdin where its name is `-`.
pub(crate) fn text(flag: &str, path: &str) -> Result<String> {
    let read = if path == "-" {
        limited(std::io::stdin())
    } else {
        File::open(path).map_err(Into::into).and_then(limited)
    };
    read.with_context(|| format!("{flag}: cannot read {}", named(path)))
}

/// An object in YAML, of which JSON is a part. Its values may be secrets, so that an error names only their place.
pub(crate) fn object(flag: &str, path: &str) -> Result<Map<String, Value>> {
    let text = text(flag, path)?;
    let value = if text.trim_start().starts_with('{') {
        serde_json::from_str(&text).map_err(|error| ("JSON", error.line().to_string()))
    } else {
        serde_saphyr::from_str(&text).map_err(|error| {
            let line = error.location().map(|at| at.line().to_string());
            ("YAML", line.unwrap_or_else(|| "?".to_owned()))
        })
    };
    match value {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => bail!("{flag}: {} must hold an object", named(path)),
        Err((form, line)) => bail!("{flag}: {} is not {form} (line {line})", named(path)),
    }
}

/// An object as the type that is sent. Its values may be secrets, so that an error names only their place.
pub(crate) fn typed<T: DeserializeOwned>(flag: &str, object: Map<String, Value>) -> Result<T> {
    serde_path_to_error::deserialize(Value::Object(object)).map_err(|error| {
        let words = error.inner().to_string();
        let is_harmless = words.starts_with("unknown ") || words.starts_with("missing ");
        anyhow!("{flag}: {}: {}", error.path(), if is_harmless { &words } else { "it has the wrong type" })
    })
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
    use super::*;

    #[test]
    fn an_object_is_yaml_or_json_and_an_error_names_the_flag_and_no_value() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let read = |text: &str| {
            std::fs::write(path, text).unwrap();
            object("-f", path).map_err(|error| format!("{error:#}"))
        };
        assert_eq!(read("a: [1, x]").unwrap()["a"][0], 1);
        assert_eq!(read("{\"a\": {\"b\": 2}}").unwrap()["a"]["b"], 2);
        for (text, part) in [
            ("{\"hush\": ", "is not JSON (line 1)"),
            ("a: [hush", "is not YAML (line"),
            ("- hush", "must hold an object"),
            (&"x".repeat(300_000), "more than"),
        ] {
            let error = read(text).unwrap_err();
            assert!(
                error.starts_with("-f: ") && error.contains(part) && !error.contains("hush"),
                "{part}: {error}"
            );
        }
        assert!(format!("{:#}", object("-f", "/no/such").unwrap_err()).contains("cannot read /no/such"));
    }

    #[test]
    fn a_request_of_another_form_is_told_by_its_place_and_without_its_values() {
        use crate::api::types::NewLaunch;
        use serde_json::json;
        for (more, expected) in [
            (json!({"parameters": {"amount": "s3cret"}}), "--file: parameters.amount: it has the wrong type"),
            (json!({"parameters": {"amuont": 1}}), "unknown field `amuont`"),
            (json!({"options": {"detach": "never"}}), "--file: options.detach: unknown variant `never`"),
        ] {
            let mut members = more.as_object().unwrap().clone();
            members.insert("provider".to_owned(), "aws".into());
            let error = typed::<NewLaunch>("--file", members).err().unwrap().to_string();
            assert!(error.contains(expected) && !error.contains("s3cret"), "{error}");
        }
    }
}
