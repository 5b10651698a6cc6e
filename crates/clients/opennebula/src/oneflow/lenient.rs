//! Numbers that are sometimes texts, lists that are sometimes missing, and a list of one that is no list.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The envelope of one document.
#[derive(Deserialize)]
pub(super) struct One<T> {
    #[serde(rename = "DOCUMENT")]
    pub(super) document: T,
}

/// A document with a body, whatever it stands for.
#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) struct DocumentEnvelope<B> {
    #[serde(deserialize_with = "integer")]
    pub(super) id: i32,
    #[serde(deserialize_with = "integer")]
    pub(super) uid: i32,
    #[serde(default)]
    pub(super) uname: String,
    pub(super) name: String,
    pub(super) template: Inner<B>,
}

#[derive(Deserialize)]
pub(super) struct Inner<B> {
    #[serde(rename = "BODY")]
    pub(super) body: B,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum LenientNumber {
    Integer(i64),
    Text(String),
}

pub(super) fn integer<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: TryFrom<i64>,
    D: Deserializer<'de>,
{
    maybe(deserializer)?.ok_or_else(|| serde::de::Error::custom("expected a number"))
}

/// `null`, an empty text and what is out of range are no number.
pub(super) fn maybe<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: TryFrom<i64>,
    D: Deserializer<'de>,
{
    let number = match Option::<LenientNumber>::deserialize(deserializer)? {
        None => return Ok(None),
        Some(LenientNumber::Integer(number)) => Some(number),
        Some(LenientNumber::Text(text)) => text.trim().parse().ok(),
    };
    Ok(number.and_then(|number| T::try_from(number).ok()))
}

/// A list, one thing without a list around it, or nothing.
pub(super) fn list<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: serde::de::DeserializeOwned,
    D: Deserializer<'de>,
{
    let read = |value| serde_json::from_value(value).map_err(serde::de::Error::custom);
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(Vec::new()),
        Value::Array(values) => values.into_iter().map(read).collect(),
        value => Ok(vec![read(value)?]),
    }
}
