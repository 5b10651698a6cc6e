//! The types of settings, parsed once.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::period::Period;
use crate::setting::ValueKind;
use crate::tree::{ConfigValue, TreeNode};

/// A type that a setting can have. The error is the value at fault: the whole one, or one item of a list.
pub trait FromNode: Sized {
    fn read(node: &TreeNode, kind: ValueKind) -> Result<Self, Box<TreeNode>>;
}

/// `expected …, got …`, or only the first half where the value is a secret.
pub fn error_body(node: &TreeNode, kind: ValueKind) -> String {
    let got = match (&node.value, kind) {
        (ConfigValue::Text(_), ValueKind::Database) => return format!("expected {kind}"),
        (ConfigValue::Text(text), _) => quote(&masked_url(text)),
        (ConfigValue::Number(number), _) => number.to_string(),
        (ConfigValue::Flag(flag), _) => flag.to_string(),
        (value, _) => value.nature().to_owned(),
    };
    format!("expected {kind}, got {got}")
}

fn quote(text: &str) -> String {
    const LONGEST: usize = 80;
    let short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() { format!("{short:?}…") } else { format!("{short:?}") }
}

/// The value as any operator may see it.
pub(crate) fn shown(node: &TreeNode, kind: ValueKind) -> serde_json::Value {
    match (&node.value, kind) {
        (ConfigValue::Text(text), ValueKind::Database)
            if !text.starts_with("sqlite:") && !text.contains("://") =>
        {
            "***".into()
        }
        (ConfigValue::Text(text), ValueKind::Database | ValueKind::Url) => masked_url(text).into(),
        (ConfigValue::Text(text), ValueKind::SomeOf(_)) => items(text).collect(),
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

pub fn text<T>(node: &TreeNode, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, Box<TreeNode>> {
    match &node.value {
        ConfigValue::Text(text) => parse(text).ok_or_else(|| Box::new(node.clone())),
        _ => Err(Box::new(node.clone())),
    }
}

impl FromNode for bool {
    fn read(node: &TreeNode, _: ValueKind) -> Result<bool, Box<TreeNode>> {
        if let ConfigValue::Flag(flag) = node.value { Ok(flag) } else { Err(Box::new(node.clone())) }
    }
}

impl FromNode for u64 {
    fn read(node: &TreeNode, kind: ValueKind) -> Result<u64, Box<TreeNode>> {
        match (&node.value, kind) {
            (ConfigValue::Number(number), ValueKind::Whole(least, most)) => {
                number.as_u64().filter(|n| (least..=most).contains(n))
            }
            _ => None,
        }
        .ok_or_else(|| Box::new(node.clone()))
    }
}

impl FromNode for usize {
    fn read(node: &TreeNode, kind: ValueKind) -> Result<usize, Box<TreeNode>> {
        u64::read(node, kind)?.try_into().map_err(|_| Box::new(node.clone()))
    }
}

impl FromNode for u32 {
    fn read(node: &TreeNode, kind: ValueKind) -> Result<u32, Box<TreeNode>> {
        u64::read(node, kind)?.try_into().map_err(|_| Box::new(node.clone()))
    }
}

impl FromNode for Period {
    fn read(node: &TreeNode, kind: ValueKind) -> Result<Period, Box<TreeNode>> {
        text(node, |text| match kind {
            ValueKind::Time(least, most) => {
                text.parse().ok().filter(|period| (least..=most).contains(period))
            }
            _ => None,
        })
    }
}

impl FromNode for SocketAddr {
    fn read(node: &TreeNode, _: ValueKind) -> Result<SocketAddr, Box<TreeNode>> {
        text(node, |text| text.parse().ok())
    }
}

impl FromNode for PathBuf {
    fn read(node: &TreeNode, _: ValueKind) -> Result<PathBuf, Box<TreeNode>> {
        text(node, |text| (!text.is_empty() && !text.contains('\0')).then(|| PathBuf::from(text)))
    }
}

impl FromNode for String {
    fn read(node: &TreeNode, kind: ValueKind) -> Result<String, Box<TreeNode>> {
        text(node, |text| match kind {
            ValueKind::OneOf(names) => names.contains(&text).then(|| text.to_owned()),
            _ => (!text.is_empty() && !text.contains(char::is_control)).then(|| text.to_owned()),
        })
    }
}

impl<T: FromNode> FromNode for Option<T> {
    fn read(node: &TreeNode, kind: ValueKind) -> Result<Option<T>, Box<TreeNode>> {
        if let ConfigValue::Nothing = node.value { Ok(None) } else { T::read(node, kind).map(Some) }
    }
}

impl<T: FromNode> FromNode for Vec<T> {
    fn read(node: &TreeNode, kind: ValueKind) -> Result<Vec<T>, Box<TreeNode>> {
        list(node, |item| T::read(item, kind))
    }
}

/// A list, or one text with commas.
pub(crate) fn list<T>(
    node: &TreeNode,
    read: impl Fn(&TreeNode) -> Result<T, Box<TreeNode>>,
) -> Result<Vec<T>, Box<TreeNode>> {
    match &node.value {
        ConfigValue::List(list) => list.iter().map(read).collect(),
        ConfigValue::Text(text) => items(text)
            .map(|item| read(&TreeNode { value: ConfigValue::Text(item.to_owned()), spot: node.spot }))
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
    fn read(node: &TreeNode, _: ValueKind) -> Result<HttpUrl, Box<TreeNode>> {
        text(node, |text| {
            let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"))?;
            let has_host = !rest.is_empty() && !rest.starts_with(['/', '?', '#', ':']);
            let is_clean = !text.contains(|c: char| c.is_whitespace() || c.is_control());
            (has_host && is_clean).then(|| HttpUrl(text.to_owned()))
        })
    }
}
