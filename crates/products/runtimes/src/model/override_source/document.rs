//! Labelled objects written as YAML: those of Kubernetes, and a short form.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::secret::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use serde_saphyr::Spanned;

use super::labelled::Labelled;
use engine::overrides::Value;

/// What Kubernetes writes. It has more fields than these, which mean nothing here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Object {
    kind: Json,
    metadata: Metadata,
    data: Option<Map<String, Json>>,
    string_data: Option<Map<String, Json>>,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    labels: Option<Map<String, Json>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Short {
    name: String,
    #[serde(default)]
    labels: Map<String, Json>,
    #[serde(default)]
    secret: bool,
    data: Map<String, Json>,
}

/// All objects of one file. The error begins with the line, and repeats no value: any may be secret.
pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Labelled>, String> {
    let options = serde_saphyr::options! { with_snippet: false };
    let documents =
        serde_saphyr::from_multiple_with_options::<Spanned<Json>>(text, options).map_err(|error| {
            let line = error.location().map_or(1, |location| location.line());
            format!("line {line}: this is not YAML, or a key is there twice")
        })?;
    let mut objects = Vec::new();
    for Spanned { value, defined, .. } in documents {
        if !value.is_null() {
            let line = defined.line();
            let object = object(file, value);
            objects.push(object.map_err(|why| format!("the document at line {line}: {why}"))?);
        }
    }
    Ok(objects)
}

fn object(file: &str, document: Json) -> Result<Labelled, String> {
    if !document.is_object() {
        return Err("it must be an object of Kubernetes, or have name and data".into());
    }
    if document.get("kind").is_none() {
        let Short { name, labels, secret, data } = parse(document)?;
        let entries = texts("data", data)?.into_iter().map(|(key, text)| (key, value(secret, text)));
        return labelled(file, &name, secret, labels, entries.collect());
    }
    let Object { kind, metadata, data, string_data } = parse(document)?;
    let mut entries = BTreeMap::new();
    let is_secret = match kind.as_str() {
        Some("ConfigMap") if string_data.is_some() => return Err("a ConfigMap has no stringData".into()),
        Some("ConfigMap") => false,
        Some("Secret") => true,
        _ => return Err("kind must be ConfigMap or Secret".into()),
    };
    for (key, text) in texts("data", data.unwrap_or_default())? {
        let text = if is_secret { decoded(&key, &text)? } else { text };
        entries.insert(key, value(is_secret, text));
    }
    for (key, text) in texts("stringData", string_data.unwrap_or_default())? {
        entries.insert(key, value(is_secret, text));
    }
    labelled(file, &metadata.name, is_secret, metadata.labels.unwrap_or_default(), entries)
}

fn labelled(
    file: &str,
    name: &str,
    is_secret: bool,
    labels: Map<String, Json>,
    entries: BTreeMap<String, Value>,
) -> Result<Labelled, String> {
    let label = |(key, value)| match value {
        Json::String(text) => Ok((key, text)),
        Json::Bool(truth) => Ok((key, truth.to_string())),
        _ => Err(format!("the label {key} must be text")),
    };
    let labels = labels.into_iter().map(label).collect::<Result<_, String>>()?;
    Ok(Labelled { origin: format!("{file}: {name}"), is_secret, labels, entries })
}

/// A number would lose its form, such as 1.10, so nothing but text is taken.
fn texts(field: &str, data: Map<String, Json>) -> Result<BTreeMap<String, String>, String> {
    let text = |(key, value)| match value {
        Json::String(text) => Ok((key, text)),
        _ => Err(format!("{field}.{key} must be text; put it in quotes")),
    };
    data.into_iter().map(text).collect()
}

fn decoded(key: &str, text: &str) -> Result<String, String> {
    // Long values are wrapped in some tools.
    let packed: String = text.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(packed).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| format!("data.{key} must be base64 of text; use stringData for plain text"))
}

fn value(is_secret: bool, text: String) -> Value {
    if is_secret { Value::Secret(SecretString::from(text)) } else { Value::Public(text) }
}

/// Names the field, and leaves out what the parser says about values.
fn parse<T: serde::de::DeserializeOwned>(document: Json) -> Result<T, String> {
    serde_path_to_error::deserialize(document).map_err(|error| {
        let (path, words) = (error.path().to_string(), error.inner().to_string());
        let names_fields = words.starts_with("unknown field") || words.starts_with("missing field");
        match path.as_str() {
            _ if names_fields => words,
            path => format!("{path} cannot be used"),
        }
    })
}
