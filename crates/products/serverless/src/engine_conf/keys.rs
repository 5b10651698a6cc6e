//! The keys of `engine.conf`, what each stands for here, and how its value becomes one of ours.

use std::net::IpAddr;

use ::config::{Entry, FromNode, HttpUrl, Kind, Node, Table, Value};

use super::Wrong;
use app::config::SEVERITIES;

/// Not settings: host and port become one address when both are known.
pub(super) const HOST: &str = "host";
pub(super) const PORT: &str = "port";

pub(super) struct Key {
    /// Dotted, without the colons of Ruby.
    pub(super) path: &'static str,
    pub(super) setting: &'static str,
    pub(super) form: Form,
    /// From a time when the file had another shape.
    pub(super) is_old: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Form {
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

impl Form {
    pub(super) const PORT: Kind = Kind::Whole(0, 65_535);
}

const fn key(path: &'static str, setting: &'static str, form: Form) -> Key {
    Key { path, setting, form, is_old: false }
}

const fn old(path: &'static str, setting: &'static str, form: Form) -> Key {
    Key { path, setting, form, is_old: true }
}

pub(super) const KEYS: &[Key] = &[
    key("one_xmlrpc", "serverless.oned", Form::Url),
    key("oneflow_server", "serverless.oneflow", Form::Url),
    key("host", HOST, Form::Host),
    key("port", PORT, Form::Port),
    key("timeout", "serverless.timeout", Form::Seconds),
    key("capacity.disk.default", "serverless.capacity.disk.default", Form::Whole),
    key("capacity.cpu.default", "serverless.capacity.cpu.default", Form::Whole),
    key("capacity.cpu.mult", "serverless.capacity.cpu.mult", Form::Whole),
    key("capacity.memory.default", "serverless.capacity.memory.default", Form::Whole),
    key("capacity.memory.mult", "serverless.capacity.memory.mult", Form::Whole),
    key("capacity.memory.resize_mode", "serverless.capacity.memory.resize_mode", Form::Word),
    old("capacity.default.vcpu", "serverless.capacity.cpu.default", Form::Whole),
    old("capacity.default.memory", "serverless.capacity.memory.default", Form::Whole),
    old("capacity.max.vcpu_mult", "serverless.capacity.cpu.mult", Form::Whole),
    old("capacity.max.memory_mult", "serverless.capacity.memory.mult", Form::Whole),
    key("mapping", "serverless.mapping", Form::Mapping),
    key("log.level", "log.severity", Form::Severity),
    key("log.system", "log.system", Form::Word),
];

impl Key {
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
    pub(super) fn read(&self, node: Node, table: &Table) -> Result<Node, Wrong> {
        match self.form {
            Form::Url => checked::<HttpUrl>(node, Kind::Url),
            Form::Host => host(node),
            Form::Port => checked::<u64>(number(node), Form::PORT),
            Form::Whole => checked::<u64>(number(node), self.kind(table)),
            Form::Seconds => seconds(&number(node)),
            Form::Word => word(node, self.kind(table)),
            Form::Severity => severity(number(node)),
            Form::Mapping => mapping(node, self.kind(table)),
        }
    }

    fn kind(&self, table: &Table) -> Kind {
        table.find(self.setting).expect("every key with a form of its own stands for a setting").kind
    }
}

fn checked<T: FromNode>(node: Node, kind: Kind) -> Result<Node, Wrong> {
    match T::read(&node, kind) {
        Ok(_) => Ok(node),
        Err(wrong) => Err(Wrong::expected(wrong, kind)),
    }
}

/// A number may be in quotes.
fn number(node: Node) -> Node {
    match &node.value {
        Value::Text(text) => match text.trim().parse::<i64>() {
            Ok(number) => Node { value: Value::Number(number.into()), spot: node.spot },
            Err(_) => node,
        },
        _ => node,
    }
}

fn host(node: Node) -> Result<Node, Wrong> {
    match &node.value {
        Value::Text(text) if text == "localhost" || text.parse::<IpAddr>().is_ok() => Ok(node),
        // Without quotes an address such as 10.1 is a number.
        _ => Err(Wrong {
            message: "expected an IP address such as 127.0.0.1, or localhost".to_owned(),
            node: Box::new(node),
        }),
    }
}

fn seconds(node: &Node) -> Result<Node, Wrong> {
    const SECONDS: Kind = Kind::Whole(1, 3_600);
    match u64::read(node, SECONDS) {
        Ok(seconds) => Ok(Node { value: Value::Text(format!("{seconds}s")), spot: node.spot }),
        Err(wrong) => {
            let mut wrong = Wrong::expected(wrong, SECONDS);
            wrong.message.push_str(", in seconds");
            Err(wrong)
        }
    }
}

fn word(mut node: Node, kind: Kind) -> Result<Node, Wrong> {
    if let (Value::Text(text), Kind::OneOf(words)) = (&mut node.value, kind) {
        let bare = text.strip_prefix(':').unwrap_or(text);
        if let Some(word) = words.iter().find(|word| word.eq_ignore_ascii_case(bare)) {
            *text = (*word).to_owned();
        }
    }
    checked::<String>(node, kind)
}

fn severity(node: Node) -> Result<Node, Wrong> {
    let name = match &node.value {
        Value::Number(number) => number.as_u64().and_then(|n| SEVERITIES.get(usize::try_from(n).ok()?)),
        _ => None,
    };
    match name {
        Some((name, _)) => Ok(Node { value: Value::Text((*name).to_owned()), spot: node.spot }),
        None => Err(Wrong {
            message: "expected a number from 0 to 3: 0 = DEBUG, 1 = INFO, 2 = WARNING, 3 = ERROR".to_owned(),
            node: Box::new(node),
        }),
    }
}

fn mapping(mut node: Node, kind: Kind) -> Result<Node, Wrong> {
    if let Value::Map(entries) = &mut node.value {
        let numbers = std::mem::take(entries).into_iter();
        *entries = numbers.map(|entry| Entry { node: number(entry.node), ..entry }).collect();
    }
    match crate::settings::mapping(&node) {
        Ok(_) => Ok(node),
        Err(wrong) => Err(Wrong::expected(wrong, kind)),
    }
}
