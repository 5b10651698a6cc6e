//! An answer that scripts get as it came.

use std::ops::Deref;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// An answer as its type reads it, and as it came: members that this program does not know are kept for scripts.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept<T> {
    read: T,
    came: Value,
}

impl<T> Kept<T> {
    pub fn into_inner(self) -> T {
        self.read
    }
}

impl<T> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.read
    }
}

impl<T> Serialize for Kept<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.came.serialize(serializer)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Kept<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let came = Value::deserialize(deserializer)?;
        let read = T::deserialize(&came).map_err(serde::de::Error::custom)?;
        Ok(Kept { read, came })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_kept_for_scripts() {
        #[derive(Debug, Deserialize)]
        struct Known {
            a: u32,
        }
        let text = r#"{"a":1,"news":{"b":2}}"#;
        let kept: Kept<Known> = serde_json::from_str(text).unwrap();
        assert_eq!((kept.a, serde_json::to_string(&kept).unwrap().as_str()), (1, text));
        assert!(serde_json::from_str::<Kept<Known>>(r#"{"a":"x"}"#).unwrap_err().to_string().contains("u32"));
    }
}
