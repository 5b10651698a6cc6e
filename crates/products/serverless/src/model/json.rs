//! JSON whose members stay in the order in which they came: runtimes are stored and answered as they were sent.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Number, Value};

#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Json>),
    Object(Members),
}

/// The members of an object, each name once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Members(Vec<(String, Json)>);

/// Deeper or larger documents are not read: no runtime needs them.
const DEPTH_MAX: usize = 16;
const NODES_MAX: usize = 4096;

impl Json {
    /// Reads one document. The text of an error names the line and the column, and quotes nothing.
    pub fn parse(text: &str) -> Result<Json, String> {
        let left = Cell::new(NODES_MAX);
        let mut reader = serde_json::Deserializer::from_str(text);
        let seed = Bounded { depth: DEPTH_MAX, left: &left };
        let read = seed.deserialize(&mut reader).and_then(|json| reader.end().map(|()| json));
        read.map_err(|error| error.to_string())
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_object(&self) -> Option<&Members> {
        match self {
            Json::Object(members) => Some(members),
            _ => None,
        }
    }

    pub fn as_object_mut(&mut self) -> Option<&mut Members> {
        match self {
            Json::Object(members) => Some(members),
            _ => None,
        }
    }

    /// An integer, also one that an older engine wrote as text.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Json::Number(number) => number.as_i64(),
            Json::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// The name of its type in a JSON schema.
    pub fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(number) if number.is_f64() => "number",
            Json::Number(_) => "integer",
            Json::Text(_) => "string",
            Json::List(_) => "array",
            Json::Object(_) => "object",
        }
    }
}

impl Members {
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Json> {
        self.0.iter_mut().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// Changes a member where it is, or adds it at the end.
    pub fn set(&mut self, name: &str, value: impl Into<Json>) {
        let value = value.into();
        match self.get_mut(name) {
            Some(there) => *there = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<Json> {
        let at = self.0.iter().position(|(own, _)| own == name)?;
        Some(self.0.remove(at).1)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, Json)> for Members {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(members: I) -> Members {
        let mut made = Members::default();
        for (name, value) in members {
            made.set(&name, value);
        }
        made
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::Text(text)
    }
}

impl From<i32> for Json {
    fn from(number: i32) -> Json {
        Json::Number(number.into())
    }
}

impl From<u32> for Json {
    fn from(number: u32) -> Json {
        Json::Number(number.into())
    }
}

impl From<Members> for Json {
    fn from(members: Members) -> Json {
        Json::Object(members)
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Json {
        match value {
            Value::Null => Json::Null,
            Value::Bool(flag) => Json::Bool(flag),
            Value::Number(number) => Json::Number(number),
            Value::String(text) => Json::Text(text),
            Value::Array(list) => Json::List(list.into_iter().map(Json::from).collect()),
            Value::Object(map) => {
                Json::Object(map.into_iter().map(|(name, value)| (name, value.into())).collect())
            }
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(flag) => serializer.serialize_bool(*flag),
            Json::Number(number) => number.serialize(serializer),
            Json::Text(text) => serializer.serialize_str(text),
            Json::List(list) => {
                let mut seq = serializer.serialize_seq(Some(list.len()))?;
                for item in list {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Json::Object(members) => members.serialize(serializer),
        }
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        let left = Cell::new(NODES_MAX);
        Bounded { depth: DEPTH_MAX, left: &left }.deserialize(deserializer)
    }
}

/// Reads no more than it may.
#[derive(Clone, Copy)]
struct Bounded<'a> {
    depth: usize,
    left: &'a Cell<usize>,
}

impl Bounded<'_> {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        let depth = self.depth.checked_sub(1);
        let depth = depth.ok_or_else(|| E::custom(format!("nested more than {DEPTH_MAX} deep")))?;
        Ok(Bounded { depth, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        let left = self.left.get().checked_sub(1);
        let left = left.ok_or_else(|| D::Error::custom(format!("more than {NODES_MAX} values")))?;
        self.left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Json, E> {
        Ok(Json::Bool(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Json, E> {
        Number::from_f64(number).map(Json::Number).ok_or_else(|| E::custom("a number is out of range"))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Json, E> {
        Ok(Json::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let item = self.deeper()?;
        let mut list = Vec::new();
        while let Some(value) = seq.next_element_seed(item)? {
            list.push(value);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let item = self.deeper()?;
        let mut members = Members::default();
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(item)?;
            members.set(&name, value);
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_out_in_the_order_in_which_they_went_in() {
        let text = r#"{"b":1,"a":{"z":[null,true,0.36,"x"],"y":-5},"c":""}"#;
        let json = Json::parse(text).unwrap();
        assert_eq!(json.to_string(), text);
        assert_eq!(serde_json::from_str::<Json>(text).unwrap(), json);
    }

    #[test]
    fn a_name_that_comes_twice_is_one_member_with_the_last_value() {
        assert_eq!(Json::parse(r#"{"a":1,"b":2,"a":3}"#).unwrap().to_string(), r#"{"a":3,"b":2}"#);
    }

    #[test]
    fn what_is_too_deep_or_too_large_is_refused() {
        let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(Json::parse(&deep(DEPTH_MAX)).is_ok());
        let error = Json::parse(&deep(DEPTH_MAX + 1)).unwrap_err();
        assert!(error.contains("nested more than 16 deep"), "{error}");
        let error = Json::parse(&format!("[{}0]", "0,".repeat(NODES_MAX))).unwrap_err();
        assert!(error.contains("more than 4096 values"), "{error}");
    }

    #[test]
    fn what_comes_after_the_document_is_refused() {
        let error = Json::parse("{} secret").unwrap_err();
        assert_eq!(error, "trailing characters at line 1 column 4");
    }
}
