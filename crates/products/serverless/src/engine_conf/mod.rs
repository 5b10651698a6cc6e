//! `engine.conf`: the file in which the COGNIT Provisioning Engine keeps its settings, of every age. It lies
//! over the defaults and under our own file.
//!
//! Its keys are written for Ruby, `:port:`, or plain. What it leaves out keeps the value that it always had there.

mod keys;
mod shown;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::config::{
    ConfigValue, EffectiveValue, FromNode, Layers, Spot, TreeEntry, TreeNode, ValueKind, ValueSource,
    Warning, error_body, nearest, utf8,
};

use keys::{ConfKey, KEYS, KeyForm};
pub(super) use shown::as_engine_conf;

/// What a missing key means when there is a file. Everything else has the same default as here.
const IMPLIED: [(&str, &str); 3] = [
    ("serverless.oned", "http://localhost:2633/RPC2"),
    ("serverless.oneflow", "http://localhost:2474"),
    ("log.severity", "warn"),
];
const LOGS: &str = "/var/log/provision-engine";

const USUAL_HOST: &str = "127.0.0.1";
const USUAL_PORT: u64 = 1337;

/// The file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EngineConf {
    path: PathBuf,
    /// The address to listen at in the words of the file, which may say `localhost`.
    host: Option<String>,
}

impl EngineConf {
    /// Lays the file over the layers so far. What is wrong with it is told together with all other problems.
    pub(super) fn lay_over(layers: &mut Layers<'_>, path: &Path, bytes: &[u8]) -> EngineConf {
        let name: Arc<str> = path.display().to_string().into();
        let mut reading = ConfReader { layers, file: Arc::clone(&name), layer: BTreeMap::new() };
        match utf8(bytes).and_then(::config::parse) {
            Ok(root) => reading.section("", root),
            Err(malformed) => reading.refuse(malformed.spot, "", malformed.message),
        }
        let host = reading.listen();
        reading.implied();
        let mut layer = reading.layer;
        layers.found.append(&mut layer);
        EngineConf { path: path.to_owned(), host }
    }
}

/// One file on its way into the layers.
struct ConfReader<'a, 'b> {
    layers: &'a mut Layers<'b>,
    file: Arc<str>,
    layer: BTreeMap<String, EffectiveValue>,
}

impl ConfReader<'_, '_> {
    /// A map below this key, or the whole file.
    fn section(&mut self, path: &str, node: TreeNode) {
        let entries = match node.value {
            // A key whose lines below are commented out says nothing.
            ConfigValue::Nothing => return,
            ConfigValue::Map(entries) => entries,
            value => return self.refuse(node.spot, path, format!("expected a map, got {}", value.nature())),
        };
        for TreeEntry { key, spot, node } in entries {
            let path = if path.is_empty() { key } else { format!("{path}.{key}") };
            if let Some(key) = KEYS.iter().find(|key| key.path == path) {
                self.value(key, spot, node);
            } else if KEYS.iter().any(|key| key.is_below(&path)) {
                self.section(&path, node);
            } else {
                self.unknown(&path, spot);
            }
        }
    }

    fn value(&mut self, key: &ConfKey, spot: Spot, node: TreeNode) {
        if let ConfigValue::Nothing = node.value {
            return;
        }
        match key.read(node, self.layers.table()) {
            Ok(node) => {
                let found = EffectiveValue { node, source: ValueSource::File(Arc::clone(&self.file)) };
                self.insert(key, spot, found);
            }
            Err(wrong) => self.refuse(wrong.node.spot, key.path, wrong.message),
        }
    }

    /// Two keys may stand for one setting, because the file changed its shape over time. The newer one counts.
    fn insert(&mut self, key: &ConfKey, spot: Spot, found: EffectiveValue) {
        match self.layer.entry(key.setting.to_owned()) {
            Slot::Vacant(slot) => drop(slot.insert(found)),
            Slot::Occupied(mut slot) => {
                if !key.is_old {
                    slot.insert(found);
                }
                let message = format!("{} has an older and a newer key; the newer one counts", key.setting);
                self.warn(spot, message);
            }
        }
    }

    /// Host and port are one setting here. Answers what the file calls the host.
    fn listen(&mut self) -> Option<String> {
        let host = self.layer.remove(keys::HOST);
        let port = self.layer.remove(keys::PORT);
        let spot = host.as_ref().or(port.as_ref())?.node.spot;
        let named = host.and_then(|found| match found.node.value {
            ConfigValue::Text(host) => Some(host),
            _ => None,
        });
        let port = port.and_then(|found| u64::read(&found.node, KeyForm::PORT).ok()).unwrap_or(USUAL_PORT);
        let host = match named.as_deref().unwrap_or(USUAL_HOST) {
            "localhost" => USUAL_HOST.to_owned(),
            host if host.contains(':') => format!("[{host}]"),
            host => host.to_owned(),
        };
        let node = TreeNode { value: ConfigValue::Text(format!("{host}:{port}")), spot };
        let found = EffectiveValue { node, source: ValueSource::File(Arc::clone(&self.file)) };
        self.layer.insert("server.listen".to_owned(), found);
        named
    }

    fn implied(&mut self) {
        let logs = self.layers.surroundings().installed(LOGS);
        for (path, text) in IMPLIED.into_iter().chain([("log.directory", logs.as_str())]) {
            assert!(self.layers.table().find(path).is_some(), "{path}");
            let found = EffectiveValue {
                node: TreeNode::text(text),
                source: ValueSource::Implied(Arc::clone(&self.file)),
            };
            self.layer.entry(path.to_owned()).or_insert(found);
        }
    }

    fn unknown(&mut self, path: &str, spot: Spot) {
        if path == "sandbox" {
            let message = "the key `sandbox` has no effect: only the flag --sandbox starts the sandbox";
            return self.warn(spot, message.to_owned());
        }
        let (section, key) = path.rsplit_once('.').unwrap_or(("", path));
        let siblings = KEYS.iter().filter_map(|known| known.child_of(section));
        let hint = nearest::among(key, siblings);
        let hint = hint.map(|name| format!(": did you mean `:{name}:`?")).unwrap_or_default();
        self.warn(spot, format!("unknown key `{path}` is ignored{hint}"));
    }

    fn refuse(&mut self, spot: Spot, path: &str, message: String) {
        let source = ValueSource::File(Arc::clone(&self.file));
        self.layers.refuse(&source, spot, path, message);
    }

    fn warn(&mut self, spot: Spot, message: String) {
        let origin = ValueSource::File(Arc::clone(&self.file)).at(spot);
        self.layers.warnings.push(Warning { origin, message });
    }
}

/// A value that cannot be used, and why.
struct ConfError {
    node: Box<TreeNode>,
    message: String,
}

impl ConfError {
    fn expected(node: Box<TreeNode>, kind: ValueKind) -> ConfError {
        ConfError { message: error_body(&node, kind), node }
    }
}
