//! The keys of `engine.conf`, what each stands for here, and how its value becomes one of ours.

use std::net::IpAddr;

use ::config::{ConfigValue, FromNode, HttpUrl, Table, TreeEntry, TreeNode, ValueKind};

use super::ConfError;
use app::config::SEVERITIES;

/// Not settings: host and port become one address when both are known.
pub(super) const HOST: &str = "host";
pub(super) const PORT: &str = "port";

pub(super) struct ConfKey {
    /// Dotted, without the colons of Ruby.
    pub(super) path: &'static str,
    pub(super) setting: &'static str,
    pub(super) form: KeyForm,
    /// From a time when the file had another shape.
    pub(super) is_old: bool,
}

#[derive(Clone, Copy)]
pub(super) enum KeyForm {
    Url,
    Host,
    Port,
    Seconds,
    Whole,
    /// One of a few words, in any case, perhaps written as a symbol.
    Word,
    Severity,
    Mapping,
}

impl KeyForm {
    pub(super) const PORT: ValueKind = ValueKind::Whole(0, 65_535);
}

const fn key(path: &'static str, setting: &'static str, form: KeyForm) -> ConfKey {
    ConfKey { path, setting, form, is_old: false }
}

const fn old(path: &'static str, setting: &'static str, form: KeyForm) -> ConfKey {
    ConfKey { path, setting, form, is_old: true }
}

pub(super) const KEYS: &[ConfKey] = &[
    key("one_xmlrpc", "serverless.oned", KeyForm::Url),
    key("oneflow_server", "serverless.oneflow", KeyForm::Url),
    key("host", HOST, KeyForm::Host),
    key("port", PORT, KeyForm::Port),
    key("timeout", "serverless.timeout", KeyForm::Seconds),
    key("capacity.disk.default", "serverless.capacity.disk.default", KeyForm::Whole),
    key("capacity.cpu.default", "serverless.capacity.cpu.default", KeyForm::Whole),
    key("capacity.cpu.mult", "serverless.capacity.cpu.mult", KeyForm::Whole),
    key("capacity.memory.default", "serverless.capacity.memory.default", KeyForm::Whole),
    key("capacity.memory.mult", "serverless.capacity.memory.mult", KeyForm::Whole),
    key("capacity.memory.resize_mode", "serverless.capacity.memory.resize_mode", KeyForm::Word),
    old("capacity.default.vcpu", "serverless.capacity.cpu.default", KeyForm::Whole),
    old("capacity.default.memory", "serverless.capacity.memory.default", KeyForm::Whole),
    old("capacity.max.vcpu_mult", "serverless.capacity.cpu.mult", KeyForm::Whole),
    old("capacity.max.memory_mult", "serverless.capacity.memory.mult", KeyForm::Whole),
    key("mapping", "serverless.mapping", KeyForm::Mapping),
    key("log.level", "log.severity", KeyForm::Severity),
    key("log.system", "log.system", KeyForm::Word),
];

impl ConfKey {
    pub(super) fn is_below(&self, section: &str) -> bool {
        self.path.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
    }

    /// The part of this key that stands directly in a section.
    pub(super) fn child_of(&self, section: &str) -> Option<&'static str> {
        let rest = if section.is_empty() {
            self.path
        } else {
            self.path.strip_prefix(section)?.strip_prefix('.')?
        };
        rest.split('.').next()
    }

    /// The value as the setting wants it.
    pub(super) fn read(&self, node: TreeNode, table: &Table) -> Result<TreeNode, ConfError> {
        match self.form {
            KeyForm::Url => checked::<HttpUrl>(node, ValueKind::Url),
            KeyForm::Host => host(node),
            KeyForm::Port => checked::<u64>(number(node), KeyForm::PORT),
            KeyForm::Whole => checked::<u64>(number(node), self.kind(table)),
            KeyForm::Seconds => seconds(&number(node)),
            KeyForm::Word => word(node, self.kind(table)),
            KeyForm::Severity => severity(number(node)),
            KeyForm::Mapping => mapping(node, self.kind(table)),
        }
    }

    fn kind(&self, table: &Table) -> ValueKind {
        table.find(self.setting).expect("every key with a form of its own stands for a setting").kind
    }
}

fn checked<T: FromNode>(node: TreeNode, kind: ValueKind) -> Result<TreeNode, ConfError> {
    match T::read(&node, kind) {
        Ok(_) => Ok(node),
        Err(wrong) => Err(ConfError::expected(wrong, kind)),
    }
}

/// A number may be in quotes.
fn number(node: TreeNode) -> TreeNode {
    match &node.value {
        ConfigValue::Text(text) => match text.trim().parse::<i64>() {
            Ok(number) => TreeNode { value: ConfigValue::Number(number.into()), spot: node.spot },
            Err(_) => node,
        },
        _ => node,
    }
}

fn host(node: TreeNode) -> Result<TreeNode, ConfError> {
    match &node.value {
        ConfigValue::Text(text) if text == "localhost" || text.parse::<IpAddr>().is_ok() => Ok(node),
        // Without quotes an address such as 10.1 is a number.
        _ => Err(ConfError {
            message: "expected an IP address such as 127.0.0.1, or localhost".to_owned(),
            node: Box::new(node),
        }),
    }
}

fn seconds(node: &TreeNode) -> Result<TreeNode, ConfError> {
    const SECONDS: ValueKind = ValueKind::Whole(1, 3_600);
    match u64::read(node, SECONDS) {
        Ok(seconds) => Ok(TreeNode { value: ConfigValue::Text(format!("{seconds}s")), spot: node.spot }),
        Err(wrong) => {
            let mut wrong = ConfError::expected(wrong, SECONDS);
            wrong.message.push_str(", in seconds");
            Err(wrong)
        }
    }
}

fn word(mut node: TreeNode, kind: ValueKind) -> Result<TreeNode, ConfError> {
    if let (ConfigValue::Text(text), ValueKind::OneOf(words)) = (&mut node.value, kind) {
        let bare = text.strip_prefix(':').unwrap_or(text);
        if let Some(word) = words.iter().find(|word| word.eq_ignore_ascii_case(bare)) {
            *text = (*word).to_owned();
        }
    }
    checked::<String>(node, kind)
}

fn severity(node: TreeNode) -> Result<TreeNode, ConfError> {
    let name = match &node.value {
        ConfigValue::Number(number) => number.as_u64().and_then(|n| SEVERITIES.get(usize::try_from(n).ok()?)),
        _ => None,
    };
    match name {
        Some((name, _)) => Ok(TreeNode { value: ConfigValue::Text((*name).to_owned()), spot: node.spot }),
        None => Err(ConfError {
            message: "expected a number from 0 to 3: 0 = DEBUG, 1 = INFO, 2 = WARNING, 3 = ERROR".to_owned(),
            node: Box::new(node),
        }),
    }
}

fn mapping(mut node: TreeNode, kind: ValueKind) -> Result<TreeNode, ConfError> {
    if let ConfigValue::Map(entries) = &mut node.value {
        let numbers = std::mem::take(entries).into_iter();
        *entries = numbers.map(|entry| TreeEntry { node: number(entry.node), ..entry }).collect();
    }
    match crate::settings::mapping(&node) {
        Ok(_) => Ok(node),
        Err(wrong) => Err(ConfError::expected(wrong, kind)),
    }
}
