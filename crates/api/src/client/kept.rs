//! The body of an answer, unchanged, for scripts.

use std::ops::Deref;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// An answer as its type reads it, and as it came: members that this program does not know are kept for scripts.
#[derive(Debug, Clone, PartialEq)]
pub struct WithUnknownFields<T> {
    read: T,
    came: Value,
}

impl<T> WithUnknownFields<T> {
    pub fn into_inner(self) -> T {
        self.read
    }
}

impl<T> Deref for WithUnknownFields<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.read
    }
}

impl<T> Serialize for WithUnknownFields<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.came.serialize(serializer)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for WithUnknownFields<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let came = Value::deserialize(deserializer)?;
        let read = T::deserialize(&came).map_err(serde::de::Error::custom)?;
        Ok(WithUnknownFields { read, came })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_kept_for_scripts() {
        #[derive(Debug, Deserialize)]
        struct KnownFields {
            a: u32,
        }
        let text = r#"{"a":1,"news":{"b":2}}"#;
        let kept: WithUnknownFields<KnownFields> = serde_json::from_str(text).unwrap();
        assert_eq!((kept.a, serde_json::to_string(&kept).unwrap().as_str()), (1, text));
        assert!(
            serde_json::from_str::<WithUnknownFields<KnownFields>>(r#"{"a":"x"}"#)
                .unwrap_err()
                .to_string()
                .contains("u32")
        );
    }
}
