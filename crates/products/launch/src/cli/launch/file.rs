//! Requests that are read from a file.

use anyhow::{Result, anyhow};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// An object as the type that is sent. Its values may be secrets, so that an error names only their place.
pub(crate) fn typed<T: DeserializeOwned>(flag: &str, object: Map<String, Value>) -> Result<T> {
    serde_path_to_error::deserialize(Value::Object(object)).map_err(|error| {
        let words = error.inner().to_string();
        let is_harmless = words.starts_with("unknown ") || words.starts_with("missing ");
        anyhow!("{flag}: {}: {}", error.path(), if is_harmless { &words } else { "it has the wrong type" })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
