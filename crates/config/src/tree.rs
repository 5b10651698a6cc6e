//! YAML as a tree in which every key and value knows its line and column.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Error, Location, NonFiniteFloatPolicy, Options, Spanned, UserMessageFormatter};

/// Settings are three levels deep; this only has to stop a file that would exhaust the stack.
const MAX_DEPTH: usize = 32;
const MAX_NODES: usize = 20_000;

/// A place in a text, counted from one. Both are zero for values that came from no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spot {
    pub line: u64,
    pub column: u64,
}

impl From<Location> for Spot {
    fn from(location: Location) -> Spot {
        Spot { line: location.line(), column: location.column() }
    }
}

/// One value of the configuration. It has no `Debug`, because it may hold a password.
#[derive(Clone)]
pub struct TreeNode {
    pub value: ConfigValue,
    pub spot: Spot,
}

#[derive(Clone)]
pub enum ConfigValue {
    Nothing,
    Flag(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<TreeNode>),
    Map(Vec<TreeEntry>),
}

impl ConfigValue {
    /// What it is, without saying the value itself, which may be a secret in the wrong place.
    pub fn nature(&self) -> &'static str {
        match self {
            ConfigValue::Nothing => "nothing",
            ConfigValue::Flag(_) => "a boolean",
            ConfigValue::Number(_) => "a number",
            ConfigValue::Text(_) => "text",
            ConfigValue::List(_) => "a list",
            ConfigValue::Map(_) => "a map",
        }
    }
}

#[derive(Clone)]
pub struct TreeEntry {
    pub key: String,
    /// Where the key stands; the node knows where its value stands.
    pub spot: Spot,
    pub node: TreeNode,
}

impl TreeNode {
    pub fn text(text: impl Into<String>) -> TreeNode {
        TreeNode { value: ConfigValue::Text(text.into()), spot: Spot::default() }
    }

    pub fn nothing() -> TreeNode {
        TreeNode { value: ConfigValue::Nothing, spot: Spot::default() }
    }

    pub fn is_nothing(&self) -> bool {
        matches!(self.value, ConfigValue::Nothing)
    }

    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            ConfigValue::Nothing => Json::Null,
            ConfigValue::Flag(flag) => Json::Bool(*flag),
            ConfigValue::Number(number) => Json::Number(number.clone()),
            ConfigValue::Text(text) => Json::String(text.clone()),
            ConfigValue::List(items) => Json::Array(items.iter().map(TreeNode::to_json).collect()),
            ConfigValue::Map(entries) => {
                Json::Object(entries.iter().map(|entry| (entry.key.clone(), entry.node.to_json())).collect())
            }
        }
    }
}

/// The text is not YAML. The message never quotes a value, which might be a secret.
#[derive(Debug)]
pub struct Malformed {
    pub spot: Spot,
    pub message: String,
}

/// Reads one document. An empty text, or one of comments only, is `ConfigValue::Nothing`.
pub fn parse(text: &str) -> Result<TreeNode, Malformed> {
    serde_saphyr::from_str_with_options::<Spanned<Plain>>(text, options())
        .map(node)
        .map_err(|error| malformed(&error))
}

fn options() -> Options {
    serde_saphyr::options! {
        // `log.level: off` is the name of a level here and not a boolean.
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        budget: serde_saphyr::budget! { max_depth: MAX_DEPTH, max_nodes: MAX_NODES },
    }
}

fn malformed(error: &Error) -> Malformed {
    let error = error.without_snippet();
    let spot = error.location().map(Spot::from).unwrap_or_default();
    let message = error.render_with_formatter(&UserMessageFormatter);
    // The parser ends its sentence with the place, which we put in front.
    let message = message.split_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    Malformed { spot, message: message.to_owned() }
}

fn node(spanned: Spanned<Plain>) -> TreeNode {
    TreeNode { spot: spanned.referenced.into(), value: spanned.value.0 }
}

/// What the YAML reader makes of one value; the place around it is added by `Spanned`.
struct Plain(ConfigValue);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Plain, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Plain)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = ConfigValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Nothing)
    }

    fn visit_none<E>(self) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<ConfigValue, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Number(number.into()))
    }

    fn visit_i128<E>(self, number: i128) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Text(number.to_string()))
    }

    fn visit_u128<E>(self, number: u128) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Text(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<ConfigValue, E> {
        Ok(serde_json::Number::from_f64(number)
            .map_or_else(|| ConfigValue::Text(number.to_string()), ConfigValue::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Text(text.to_owned()))
    }

    fn visit_bytes<E>(self, _bytes: &[u8]) -> Result<ConfigValue, E> {
        Ok(ConfigValue::Text("binary data".to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<ConfigValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Plain>>()? {
            list.push(node(item));
        }
        Ok(ConfigValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<ConfigValue, A::Error> {
        let mut map = Vec::new();
        while let Some((key, value)) = entries.next_entry::<Spanned<String>, Spanned<Plain>>()? {
            map.push(TreeEntry { spot: key.referenced.into(), key: plain_key(key.value), node: node(value) });
        }
        Ok(ConfigValue::Map(map))
    }
}

/// Files written for Ruby programs spell their keys `:key:`; both spellings mean the same here.
fn plain_key(key: String) -> String {
    match key.strip_prefix(':') {
        Some(rest) => rest.to_owned(),
        None => key,
    }
}
