//! Values that steps hand to a component of what is provisioned, or to all of it, plain or secret. They live for
//! one pass.
//!
//! The order of steps decides: `set` replaces what earlier steps gave a component, `append` adds to it. A key is
//! there once, with the value that came last, and entries come out in the order of their keys.

use std::collections::BTreeMap;
use std::fmt;

use crate::secret::SecretString;

/// The overrides of one pass.
#[derive(Debug, Default)]
pub struct Overrides {
    taken: PassOverrides,
    is_taken: bool,
}

/// Everything that was set, in the order in which it is sent.
#[derive(Debug, Default)]
pub struct PassOverrides {
    pub components: BTreeMap<String, Entries>,
    pub global: Entries,
}

pub type Entries = BTreeMap<String, Value>;

#[derive(Clone)]
pub enum Value {
    /// It has nothing from the request in it, so that it may be kept and shown.
    Public(String),
    /// Sent in the clear, and kept nowhere.
    Plain(String),
    Secret(SecretString),
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Public(text) | Value::Plain(text) => write!(f, "{text:?}"),
            Value::Secret(_) => f.write_str("<secret>"),
        }
    }
}

pub fn public(key: &str, value: impl Into<String>) -> (String, Value) {
    (key.to_owned(), Value::Public(value.into()))
}

pub fn plain(key: &str, value: impl Into<String>) -> (String, Value) {
    (key.to_owned(), Value::Plain(value.into()))
}

pub fn secret(key: &str, value: SecretString) -> (String, Value) {
    (key.to_owned(), Value::Secret(value))
}

impl Overrides {
    /// Replaces everything that earlier steps gave this component.
    pub fn set(&mut self, component: &str, entries: impl IntoIterator<Item = (String, Value)>) {
        self.open(component).components.insert(component.to_owned(), entries.into_iter().collect());
    }

    /// Adds to what earlier steps gave this component; a key that is there already gets the new value.
    pub fn append(&mut self, component: &str, entries: impl IntoIterator<Item = (String, Value)>) {
        self.open(component).components.entry(component.to_owned()).or_default().extend(entries);
    }

    /// The same for all components.
    pub fn append_global(&mut self, entries: impl IntoIterator<Item = (String, Value)>) {
        self.open("all components").global.extend(entries);
    }

    fn open(&mut self, whose: &str) -> &mut PassOverrides {
        assert!(!self.is_taken, "overrides for {whose} come after the step that takes them");
        &mut self.taken
    }

    /// Everything that was set in this pass. A step that sets more after this has too high a weight; it panics,
    /// so that this shows in the first test and not in production.
    ///
    /// # Panics
    /// When they were taken before in the same pass.
    #[must_use]
    pub fn take(&mut self) -> PassOverrides {
        assert!(!self.is_taken, "the overrides were taken before in this pass");
        self.is_taken = true;
        std::mem::take(&mut self.taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(entries: &Entries) -> Vec<(&str, &str)> {
        fn text(value: &Value) -> &str {
            match value {
                Value::Public(text) | Value::Plain(text) => text,
                Value::Secret(_) => "<secret>",
            }
        }
        entries.iter().map(|(key, value)| (key.as_str(), text(value))).collect()
    }

    #[test]
    fn set_replaces_and_append_adds_and_the_last_value_of_a_key_wins() {
        let mut overrides = Overrides::default();
        overrides.append("core", [plain("b", "1"), plain("a", "1")]);
        overrides.append("core", [plain("b", "2")]);
        overrides.append("other", [plain("x", "1"), plain("y", "1")]);
        overrides.set("other", [plain("z", "1")]);
        overrides.append_global([plain("g", "1"), secret("g", "s3cret".into())]);
        let taken = overrides.take();
        assert_eq!(texts(&taken.components["core"]), [("a", "1"), ("b", "2")]);
        assert_eq!(texts(&taken.components["other"]), [("z", "1")]);
        assert_eq!(texts(&taken.global), [("g", "<secret>")]);
    }

    #[test]
    fn a_secret_does_not_show() {
        let mut overrides = Overrides::default();
        overrides.set("hello", [plain("text", "b"), secret("token", "s3cret".into())]);
        let shown = format!("{overrides:?}");
        assert!(shown.contains(r#""text": "b""#) && shown.contains("<secret>"), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }

    #[test]
    #[should_panic(expected = "come after the step that takes them")]
    fn too_high_a_weight_is_found_at_once() {
        let mut overrides = Overrides::default();
        let _ = overrides.take();
        overrides.append("hello", []);
    }
}
