//! Lays the file, the environment and the flags over the defaults, setting by setting.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::path::Path;
use std::sync::Arc;

use crate::error::{Origin, SettingError, Warning};
use crate::nearest;
use crate::program::{own_variable, program};
use crate::setting::{Preset, Setting, ValueKind};
use crate::table::{SettingShape, Table};
use crate::tree::{self, ConfigValue, Spot, TreeEntry, TreeNode};

/// Variables with our prefix that are not settings: where the files are, what the installer uses, and what the
/// commands that talk to a running engine use.
const NOT_SETTINGS: [&str; 14] = [
    "BINARY",
    "CONFIG",
    "ENGINE_CONF",
    "PREFIX",
    "SERVER",
    "TOKEN",
    "OUTPUT",
    "BENCH_DATABASE_URL",
    "BROKER_URL",
    "BROKER_USER",
    "BROKER_PASSWORD",
    "BROKER_REGION",
    "ONE_USER",
    "ONE_PASSWORD",
];

/// What the defaults depend on besides the table.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    pub environment: BTreeMap<String, String>,
    pub is_root: bool,
}

impl Surroundings {
    /// This environment, and the user that runs the program.
    pub fn of(environment: impl Iterator<Item = (String, String)>) -> Surroundings {
        Surroundings { environment: environment.collect(), is_root: rustix::process::geteuid().is_root() }
    }

    /// A variable's value; an empty one counts as not set, as usual in scripts and containers.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A file of the installation, which is below `PROVISION_ENGINE_PREFIX` where that is set.
    pub fn installed(&self, path: &str) -> String {
        format!("{}{path}", self.variable(&own_variable("PREFIX")).unwrap_or("").trim_end_matches('/'))
    }

    fn state_dir(&self) -> String {
        if self.variable(&own_variable("PREFIX")).is_some() {
            return self.installed(&format!("/var/lib/{}", program()));
        }
        // A relative XDG path is to be ignored, says its specification.
        let state = self.variable("XDG_STATE_HOME").filter(|dir| Path::new(dir).is_absolute());
        match (state, self.variable("HOME")) {
            (Some(state), _) => format!("{state}/{}", program()),
            (None, Some(home)) if !self.is_root => format!("{home}/.local/state/{}", program()),
            _ => format!("/var/lib/{}", program()),
        }
    }

    fn with_home(&self, kind: ValueKind, text: String) -> String {
        let prefix = match kind {
            ValueKind::Path => "~/",
            ValueKind::Database => "sqlite:~/",
            _ => return text,
        };
        match self.variable("HOME") {
            Some(home) if text.starts_with(prefix) => text.replacen('~', home, 1),
            _ => text,
        }
    }
}

/// The layer that gave a value.
#[derive(Clone)]
pub enum ValueSource {
    Default,
    File(Arc<str>),
    Implied(Arc<str>),
    Environment(String),
    Flag,
}

impl ValueSource {
    pub fn at(&self, spot: Spot) -> Origin {
        match self {
            ValueSource::Default => Origin::Default,
            ValueSource::File(file) => {
                Origin::File { file: file.to_string(), line: spot.line, column: spot.column }
            }
            ValueSource::Implied(file) => Origin::Implied { file: file.to_string() },
            ValueSource::Environment(variable) => Origin::Environment { variable: variable.clone() },
            ValueSource::Flag => Origin::Flag,
        }
    }
}

/// The value in force for one setting.
pub struct EffectiveValue {
    pub node: TreeNode,
    pub source: ValueSource,
}

/// All layers so far, by dotted path.
pub struct Layers<'a> {
    table: &'a Table,
    surroundings: &'a Surroundings,
    pub found: BTreeMap<String, EffectiveValue>,
    pub warnings: Vec<Warning>,
    pub problems: Vec<SettingError>,
}

impl<'a> Layers<'a> {
    pub fn new(table: &'a Table, surroundings: &'a Surroundings) -> Layers<'a> {
        Layers { table, surroundings, found: BTreeMap::new(), warnings: Vec::new(), problems: Vec::new() }
    }

    pub fn table(&self) -> &'a Table {
        self.table
    }

    pub fn surroundings(&self) -> &Surroundings {
        self.surroundings
    }

    pub fn file(&mut self, name: &str, bytes: &[u8]) {
        let source = ValueSource::File(name.into());
        let root = match utf8(bytes).and_then(tree::parse) {
            Ok(root) => root,
            Err(malformed) => {
                self.refuse(&source, malformed.spot, "", malformed.message);
                return;
            }
        };
        let mut layer = BTreeMap::new();
        self.walk(&mut layer, &source, "", root);
        self.found.append(&mut layer);
    }

    pub fn environment(&mut self) {
        let mut layer = BTreeMap::new();
        let own = own_variable("");
        for (name, text) in &self.surroundings.environment {
            let Some(rest) = name.strip_prefix(&own) else { continue };
            if text.is_empty() || NOT_SETTINGS.contains(&rest) || is_from_kubernetes(rest) {
                continue;
            }
            let path = rest.replace("__", ".").to_lowercase();
            self.text(&mut layer, &ValueSource::Environment(name.clone()), &path, text);
        }
        self.found.append(&mut layer);
    }

    /// Of two flags for one setting the last wins, as on every command line.
    pub fn flags(&mut self, flags: &[(String, String)]) {
        for (path, text) in flags {
            let mut layer = BTreeMap::new();
            self.text(&mut layer, &ValueSource::Flag, path, text);
            self.found.append(&mut layer);
        }
    }

    /// Gives every setting that no layer has set its default.
    pub fn defaults(&mut self) {
        let state_dir = self.surroundings.state_dir();
        let data_dir = match self.found.get("data_dir").map(|found| &found.node.value) {
            Some(ConfigValue::Text(dir)) => dir.clone(),
            _ => state_dir.clone(),
        };
        for setting in self.table.iter().filter(|setting| !setting.path.ends_with('*')) {
            if let Slot::Vacant(slot) = self.found.entry(setting.path.to_owned()) {
                let node = match setting.default {
                    Preset::StateDir => TreeNode::text(state_dir.clone()),
                    Preset::InDataDir(name) => TreeNode::text(format!("{data_dir}/{name}")),
                    _ => preset(setting),
                };
                slot.insert(EffectiveValue { node, source: ValueSource::Default });
            }
        }
    }

    fn text(
        &mut self,
        layer: &mut BTreeMap<String, EffectiveValue>,
        source: &ValueSource,
        path: &str,
        text: &str,
    ) {
        let node = match self.table.shape(path) {
            SettingShape::Leaf(setting) => from_text(setting.kind, text),
            SettingShape::Section | SettingShape::Unknown => from_yaml(text),
        };
        self.walk(layer, source, path, node);
    }

    fn walk(
        &mut self,
        layer: &mut BTreeMap<String, EffectiveValue>,
        source: &ValueSource,
        path: &str,
        node: TreeNode,
    ) {
        match (self.table.shape(path), node.value) {
            // A key whose lines below are commented out says nothing.
            (SettingShape::Section | SettingShape::Leaf(_), ConfigValue::Nothing) => {}
            (SettingShape::Section, ConfigValue::Map(entries)) => {
                for TreeEntry { key, spot, node } in entries {
                    let path = if path.is_empty() { key } else { format!("{path}.{key}") };
                    if matches!(self.table.shape(&path), SettingShape::Unknown) {
                        self.warn(source, spot, &path);
                    } else {
                        self.walk(layer, source, &path, node);
                    }
                }
            }
            (SettingShape::Section, value) => {
                let message = format!("expected a map of settings, got {}", value.nature());
                self.refuse(source, node.spot, path, message);
            }
            (SettingShape::Leaf(setting), value) => {
                let value = match value {
                    ConfigValue::Text(text) => {
                        ConfigValue::Text(self.surroundings.with_home(setting.kind, text))
                    }
                    other => other,
                };
                let found =
                    EffectiveValue { node: TreeNode { value, spot: node.spot }, source: source.clone() };
                self.insert(layer, path, found);
            }
            (SettingShape::Unknown, _) => self.warn(source, node.spot, path),
        }
    }

    fn insert(&mut self, layer: &mut BTreeMap<String, EffectiveValue>, path: &str, found: EffectiveValue) {
        match layer.entry(path.to_owned()) {
            Slot::Vacant(slot) => {
                slot.insert(found);
            }
            Slot::Occupied(slot) => {
                let first = slot.get().source.at(slot.get().node.spot);
                self.refuse(&found.source, found.node.spot, path, format!("given twice, first at {first}"));
            }
        }
    }

    pub fn refuse(&mut self, source: &ValueSource, spot: Spot, path: &str, message: String) {
        self.problems.push(SettingError { origin: Some(source.at(spot)), path: path.to_owned(), message });
    }

    fn warn(&mut self, source: &ValueSource, spot: Spot, path: &str) {
        let message = if self.table.had(path) {
            format!("`{path}` is ignored: this release has no such setting any more; remove it")
        } else {
            let hint = nearest::setting(self.table, path).map(|name| format!(": did you mean `{name}`?"));
            format!("unknown setting `{path}` is ignored{}", hint.unwrap_or_default())
        };
        self.warnings.push(Warning { origin: source.at(spot), message });
    }
}

/// A setting's default, for those whose default does not depend on anything else.
pub(crate) fn preset(setting: &Setting) -> TreeNode {
    match setting.default {
        Preset::Is(text) => from_text(setting.kind, text),
        Preset::Nothing => TreeNode::nothing(),
        Preset::InDataDir(name) => TreeNode::text(name),
        Preset::StateDir => TreeNode::text("."),
    }
}

fn from_text(kind: ValueKind, text: &str) -> TreeNode {
    if kind.is_plain_text() { TreeNode::text(text) } else { from_yaml(text) }
}

/// Reads text as YAML; what is not YAML stays text, and the setting then says what it expected. The places
/// inside are forgotten, because a variable has no lines.
fn from_yaml(text: &str) -> TreeNode {
    tree::parse(text).unwrap_or_else(|_| TreeNode::text(text))
}

/// A cluster puts the addresses of a service that is called `provision-engine` into variables such as
/// `PROVISION_ENGINE_PORT_1337_TCP_ADDR` and `PROVISION_ENGINE_SERVICE_HOST`.
fn is_from_kubernetes(rest: &str) -> bool {
    rest == "PORT" || rest.starts_with("PORT_") || rest.starts_with("SERVICE_")
}

pub fn utf8(bytes: &[u8]) -> Result<&str, tree::Malformed> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let line = good.split(|byte| *byte == b'\n').count();
        let column = good.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        let spot = Spot { line: line as u64, column: column as u64 };
        tree::Malformed { spot, message: "expected text in UTF-8".to_owned() }
    })
}
