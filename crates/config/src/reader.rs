//! Turns found values into typed ones, and collects everything that is wrong with them on the way.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use crate::error::{Origin, SettingError};
use crate::layers::{EffectiveValue, ValueSource, preset};
use crate::setting::Setting;
use crate::table::Table;
use crate::tree::{Spot, TreeNode};
use crate::value::{self, FromNode};

/// A part of the configuration: its rows of the table, and what they are read into.
pub trait Section: Sized {
    const SETTINGS: &'static [Setting];

    fn read(settings: &mut SectionReader<'_>) -> Self;
}

/// Reads settings by their path. A path that is not in the table is a mistake in the program. It has no `Debug`, because values may be
/// secrets.
pub struct SectionReader<'a> {
    table: &'a Table,
    found: &'a BTreeMap<String, EffectiveValue>,
    pub problems: Vec<SettingError>,
}

impl<'a> SectionReader<'a> {
    pub fn new(
        table: &'a Table,
        found: &'a BTreeMap<String, EffectiveValue>,
        problems: Vec<SettingError>,
    ) -> SectionReader<'a> {
        SectionReader { table, found, problems }
    }

    pub fn section<S: Section>(&mut self) -> S {
        S::read(self)
    }

    /// The value of a setting. A bad one is noted, and its default stands in for it until all are read.
    pub fn get<T: FromNode>(&mut self, path: &str) -> T {
        let kind = self.setting(path).kind;
        self.get_with(path, |node| T::read(node, kind))
    }

    /// The same for a type of another crate. The error is the value at fault.
    pub fn get_with<T>(&mut self, path: &str, read: impl Fn(&TreeNode) -> Result<T, Box<TreeNode>>) -> T {
        let good = self.checked(path, &read);
        good.or_else(|| read(&preset(self.setting(path))).ok())
            .expect("the default of every setting is a good value")
    }

    /// The same where the setting may be left out.
    pub fn get_if_set<T>(
        &mut self,
        path: &str,
        read: impl Fn(&TreeNode) -> Result<T, Box<TreeNode>>,
    ) -> Option<T> {
        self.get_with(path, |node| if node.is_nothing() { Ok(None) } else { read(node).map(Some) })
    }

    /// One of a few words, each with what it stands for.
    pub fn one_of<T: Copy>(&mut self, path: &str, words: &[(&str, T)]) -> T {
        self.get_with(path, |node| {
            value::text(node, |text| {
                words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning)
            })
        })
    }

    /// A word that serde knows.
    pub fn word<T: DeserializeOwned>(&mut self, path: &str) -> T {
        self.get_with(path, word)
    }

    /// The same where the setting may be left out.
    pub fn word_if_set<T: DeserializeOwned>(&mut self, path: &str) -> Option<T> {
        self.get_if_set(path, word)
    }

    /// A list of such words, where it is set.
    pub fn words_if_set<T: DeserializeOwned>(&mut self, path: &str) -> Option<Vec<T>> {
        self.get_if_set(path, |node| value::list(node, word))
    }

    /// The items of a list that is written as one text with commas.
    pub fn items(&mut self, path: &str) -> Vec<String> {
        let text: Option<String> = self.get(path);
        let items = text.iter().flat_map(|text| text.split(','));
        items.map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }

    /// Every value below a section whose names are the operator's, such as `engine.limits.*`.
    pub fn named<T: FromNode>(&mut self, section: &str) -> BTreeMap<String, T> {
        let found = self.found;
        let names =
            found.keys().filter_map(|path| Some((path, path.strip_prefix(section)?.strip_prefix('.')?)));
        let mut named = BTreeMap::new();
        for (path, name) in names.filter(|(path, _)| self.table.iter().all(|row| row.path != *path)) {
            let kind = self.setting(path).kind;
            if let Some(value) = self.checked(path, |node| T::read(node, kind)) {
                named.insert(name.to_owned(), value);
            }
        }
        named
    }

    /// Refuses a setting for a reason that has to do with others.
    pub fn refuse(&mut self, path: &str, message: impl Into<String>) {
        let spot = self.found.get(path).map(|found| found.node.spot).unwrap_or_default();
        self.refuse_at(path, spot, message.into());
    }

    /// Whether a flag of the command line has set it.
    pub fn is_flag(&self, path: &str) -> bool {
        self.found.get(path).is_some_and(|found| matches!(found.source, ValueSource::Flag))
    }

    pub fn origins(&self) -> Origins {
        let entries = self.found.iter().filter_map(|(path, found)| {
            let value = value::shown(&found.node, self.table.find(path)?.kind);
            Some((path.clone(), (value, found.source.at(found.node.spot))))
        });
        Origins(entries.collect())
    }

    fn checked<T>(&mut self, path: &str, read: impl Fn(&TreeNode) -> Result<T, Box<TreeNode>>) -> Option<T> {
        let kind = self.setting(path).kind;
        let found = self.found.get(path).expect("every setting has at least its default");
        match read(&found.node) {
            Ok(value) => Some(value),
            Err(node) => {
                self.refuse_at(path, node.spot, value::error_body(&node, kind));
                None
            }
        }
    }

    fn setting(&self, path: &str) -> &'a Setting {
        self.table.find(path).unwrap_or_else(|| panic!("{path} is not in the table of settings"))
    }

    fn refuse_at(&mut self, path: &str, spot: Spot, message: String) {
        let origin = self.found.get(path).map(|found| found.source.at(spot));
        let problem = SettingError { origin, path: path.to_owned(), message };
        // Two sections may read one setting.
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

fn word<T: DeserializeOwned>(node: &TreeNode) -> Result<T, Box<TreeNode>> {
    value::text(node, |text| serde_json::from_value(text.into()).ok())
}

/// Where each value in force came from. Secrets are masked already when they get here.
#[derive(Debug, Clone, Default)]
pub struct Origins(BTreeMap<String, (serde_json::Value, Origin)>);

impl Origins {
    /// Path, masked value and origin of every setting, by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &serde_json::Value, &Origin)> {
        self.0.iter().map(|(path, (value, origin))| (path.as_str(), value, origin))
    }

    pub fn of(&self, path: &str) -> Option<&Origin> {
        self.0.get(path).map(|(_, origin)| origin)
    }

    /// What is in force, as a tree.
    pub fn to_value(&self) -> serde_json::Value {
        let mut root = serde_json::Map::new();
        for (path, value, _) in self.iter() {
            let (sections, key) = path.rsplit_once('.').unwrap_or(("", path));
            let mut map = &mut root;
            for section in sections.split('.').filter(|section| !section.is_empty()) {
                let inner = map.entry(section).or_insert_with(|| serde_json::Map::new().into());
                map = inner.as_object_mut().expect("no setting is above another one");
            }
            map.insert(key.to_owned(), value.clone());
        }
        root.into()
    }
}
