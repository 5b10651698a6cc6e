//! The types of single settings, each read from its text once and right from then on.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::period::Period;
use crate::setting::Kind;
use crate::tree::{Node, Value};

/// A type that a setting can have. The error is the value at fault: the whole one, or one item of a list.
pub trait FromNode: Sized {
    fn read(node: &Node, kind: Kind) -> Result<Self, Box<Node>>;
}

/// `expected …, got …`, or only the first half where the value is a secret.
pub fn complaint(node: &Node, kind: Kind) -> String {
    let got = match (&node.value, kind) {
        (Value::Text(_), Kind::Database) => return format!("expected {kind}"),
        (Value::Text(text), _) => quote(&masked_url(text)),
        (Value::Number(number), _) => number.to_string(),
        (Value::Flag(flag), _) => flag.to_string(),
        (value, _) => value.nature().to_owned(),
    };
    format!("expected {kind}, got {got}")
}

fn quote(text: &str) -> String {
    const LONGEST: usize = 80;
    let short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() { format!("{short:?}…") } else { format!("{short:?}") }
}

/// The value as anybody may see it.
pub(crate) fn shown(node: &Node, kind: Kind) -> serde_json::Value {
    match (&node.value, kind) {
        (Value::Text(text), Kind::Database) if !text.starts_with("sqlite:") && !text.contains("://") => {
            "***".into()
        }
        (Value::Text(text), Kind::Database | Kind::Url) => masked_url(text).into(),
        (Value::Text(text), Kind::SomeOf(_)) => items(text).collect(),
        _ => node.to_json(),
    }
}

/// The items of a list that is written as one text, so that lists fit into variables and flags.
fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim)
}

/// A URL without its password. In doubt it hides more: passwords may contain `@` and `/`, and some clients
/// take them as parameters.
pub fn masked_url(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let lower = rest.to_lowercase();
    if ["password", "passwd", "secret", "token"].iter().any(|word| lower.contains(word)) {
        return format!("{scheme}://***");
    }
    match rest.rsplit_once('@').and_then(|(login, host)| Some((login.split_once(':')?.0, host))) {
        Some((user, host)) => format!("{scheme}://{user}:***@{host}"),
        None => text.to_owned(),
    }
}

pub fn text<T>(node: &Node, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, Box<Node>> {
    match &node.value {
        Value::Text(text) => parse(text).ok_or_else(|| Box::new(node.clone())),
        _ => Err(Box::new(node.clone())),
    }
}

impl FromNode for bool {
    fn read(node: &Node, _: Kind) -> Result<bool, Box<Node>> {
        if let Value::Flag(flag) = node.value { Ok(flag) } else { Err(Box::new(node.clone())) }
    }
}

impl FromNode for u64 {
    fn read(node: &Node, kind: Kind) -> Result<u64, Box<Node>> {
        match (&node.value, kind) {
            (Value::Number(number), Kind::Whole(least, most)) => {
                number.as_u64().filter(|n| (least..=most).contains(n))
            }
            _ => None,
        }
        .ok_or_else(|| Box::new(node.clone()))
    }
}

impl FromNode for usize {
    fn read(node: &Node, kind: Kind) -> Result<usize, Box<Node>> {
        u64::read(node, kind)?.try_into().map_err(|_| Box::new(node.clone()))
    }
}

impl FromNode for u32 {
    fn read(node: &Node, kind: Kind) -> Result<u32, Box<Node>> {
        u64::read(node, kind)?.try_into().map_err(|_| Box::new(node.clone()))
    }
}

impl FromNode for Period {
    fn read(node: &Node, kind: Kind) -> Result<Period, Box<Node>> {
        text(node, |text| match kind {
            Kind::Time(least, most) => text.parse().ok().filter(|period| (least..=most).contains(period)),
            _ => None,
        })
    }
}

impl FromNode for SocketAddr {
    fn read(node: &Node, _: Kind) -> Result<SocketAddr, Box<Node>> {
        text(node, |text| text.parse().ok())
    }
}

impl FromNode for PathBuf {
    fn read(node: &Node, _: Kind) -> Result<PathBuf, Box<Node>> {
        text(node, |text| (!text.is_empty() && !text.contains('\0')).then(|| PathBuf::from(text)))
    }
}

impl FromNode for String {
    fn read(node: &Node, kind: Kind) -> Result<String, Box<Node>> {
        text(node, |text| match kind {
            Kind::OneOf(names) => names.contains(&text).then(|| text.to_owned()),
            _ => (!text.is_empty() && !text.contains(char::is_control)).then(|| text.to_owned()),
        })
    }
}

impl<T: FromNode> FromNode for Option<T> {
    fn read(node: &Node, kind: Kind) -> Result<Option<T>, Box<Node>> {
        if let Value::Nothing = node.value { Ok(None) } else { T::read(node, kind).map(Some) }
    }
}

impl<T: FromNode> FromNode for Vec<T> {
    fn read(node: &Node, kind: Kind) -> Result<Vec<T>, Box<Node>> {
        list(node, |item| T::read(item, kind))
    }
}

/// A list, or one text with commas.
pub(crate) fn list<T>(
    node: &Node,
    read: impl Fn(&Node) -> Result<T, Box<Node>>,
) -> Result<Vec<T>, Box<Node>> {
    match &node.value {
        Value::List(list) => list.iter().map(read).collect(),
        Value::Text(text) => items(text)
            .map(|item| read(&Node { value: Value::Text(item.to_owned()), spot: node.spot }))
            .collect(),
        _ => Err(Box::new(node.clone())),
    }
}

/// The address of an outside system, `http://` or `https://`. Debug output hides a password in it.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpUrl(String);

impl HttpUrl {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked_url(&self.0))
    }
}

impl FromNode for HttpUrl {
    fn read(node: &Node, _: Kind) -> Result<HttpUrl, Box<Node>> {
        text(node, |text| {
            let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"))?;
            let has_host = !rest.is_empty() && !rest.starts_with(['/', '?', '#', ':']);
            let is_clean = !text.contains(|c: char| c.is_whitespace() || c.is_control());
            (has_host && is_clean).then(|| HttpUrl(text.to_owned()))
        })
    }
}
