//! All settings of a program: defaults, ranges, hints and the reference manual come from this table.

use crate::program::own_variable;
use crate::setting::Setting;

/// The settings of a program, in the order of the manual.
#[derive(Debug)]
pub struct Table {
    settings: Vec<Setting>,
    removed: Vec<&'static str>,
}

/// What a dotted path means.
#[derive(Debug)]
pub enum SettingShape<'a> {
    /// A map of further settings; the empty path is the whole file.
    Section,
    Leaf(&'a Setting),
    Unknown,
}

impl Table {
    /// One slice per part of the program. Rows with the same first name stand together, where the first of them is; a
    /// row that two parts share is taken from the first of them.
    pub fn new(parts: &[&[Setting]]) -> Table {
        let mut groups: Vec<(&str, Vec<Setting>)> = Vec::new();
        for setting in parts.iter().flat_map(|part| part.iter()) {
            let name = setting.path.split_once('.').map_or("", |(name, _)| name);
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, rows)) if rows.iter().any(|row| row.path == setting.path) => {}
                Some((_, rows)) => rows.push(*setting),
                None => groups.push((name, vec![*setting])),
            }
        }
        Table { settings: groups.into_iter().flat_map(|(_, rows)| rows).collect(), removed: Vec::new() }
    }

    /// Settings of earlier releases. A file that still has one is read, with a warning that says so.
    #[must_use]
    pub fn removed(self, paths: Vec<&'static str>) -> Table {
        Table { removed: paths, ..self }
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Setting> {
        self.settings.iter()
    }

    pub fn had(&self, path: &str) -> bool {
        self.removed.contains(&path)
    }

    pub fn shape(&self, path: &str) -> SettingShape<'_> {
        if let Some(setting) = self.find(path) {
            return SettingShape::Leaf(setting);
        }
        if path.is_empty() || self.iter().any(|setting| is_below(setting.path, path)) {
            return SettingShape::Section;
        }
        SettingShape::Unknown
    }

    pub fn find(&self, path: &str) -> Option<&Setting> {
        let exact = self.iter().find(|setting| setting.path == path);
        exact.or_else(|| self.iter().find(|setting| matches_any_name(setting.path, path)))
    }
}

impl<'a> IntoIterator for &'a Table {
    type Item = &'a Setting;
    type IntoIter = std::slice::Iter<'a, Setting>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

fn matches_any_name(pattern: &str, path: &str) -> bool {
    let name = pattern.strip_suffix('*').and_then(|section| path.strip_prefix(section));
    name.is_some_and(|name| !name.is_empty() && !name.contains('.'))
}

fn is_below(path: &str, section: &str) -> bool {
    path.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
}

/// The environment variable that sets this path.
pub fn variable(path: &str) -> String {
    own_variable(&path.replace('.', "__").to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::{Preset, ValueKind, set};

    #[test]
    fn a_name_stands_for_the_star_but_not_for_two_levels() {
        let row = |path| set(path, Preset::Nothing, ValueKind::Text, "Some text.");
        let table = Table::new(&[&[row("engine.limits.default"), row("engine.limits.*")]]);
        let leaf = |path| match table.shape(path) {
            SettingShape::Leaf(setting) => setting.path,
            _ => "none",
        };
        assert_eq!(leaf("engine.limits.greeter"), "engine.limits.*");
        assert_eq!(leaf("engine.limits.default"), "engine.limits.default");
        assert!(matches!(table.shape("engine.limits"), SettingShape::Section));
        assert!(matches!(table.shape("engine.limits."), SettingShape::Unknown));
        assert!(matches!(table.shape("engine.limits.a.b"), SettingShape::Unknown));
        assert!(matches!(table.shape("eng"), SettingShape::Unknown));
    }

    #[test]
    fn rows_of_one_name_stand_together_and_a_shared_row_stands_once() {
        let row = |path| set(path, Preset::Nothing, ValueKind::Text, "Some text.");
        let table = Table::new(&[&[row("a.x"), row("b.x")], &[row("a.y"), row("b.x"), row("b.y")]]);
        let paths: Vec<&str> = table.iter().map(|setting| setting.path).collect();
        assert_eq!(paths, ["a.x", "a.y", "b.x", "b.y"]);
    }

    #[test]
    fn a_variable_is_the_path_in_capitals() {
        assert_eq!(variable("engine.retry.first"), "PROVISION_ENGINE_ENGINE__RETRY__FIRST");
        assert_eq!(variable("data_dir"), "PROVISION_ENGINE_DATA_DIR");
    }
}
