//! Values that steps hand to a component of what is provisioned, plain or secret. They live for one pass.

use std::collections::BTreeMap;
use std::fmt;

use engine::secret::SecretString;

/// The overrides of one pass, by component and key.
#[derive(Debug, Default)]
pub struct Overrides {
    components: BTreeMap<String, BTreeMap<String, Value>>,
    is_taken: bool,
}

pub enum Value {
    Plain(String),
    Secret(SecretString),
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Plain(text) => write!(f, "{text:?}"),
            Value::Secret(_) => f.write_str("<secret>"),
        }
    }
}

pub fn plain(key: &str, value: impl Into<String>) -> (String, Value) {
    (key.to_owned(), Value::Plain(value.into()))
}

pub fn secret(key: &str, value: SecretString) -> (String, Value) {
    (key.to_owned(), Value::Secret(value))
}

impl Overrides {
    /// Sets values for a component; a key that is there already is replaced.
    ///
    /// # Panics
    /// When the step that uses the overrides has run: the step that sets them has too high a weight, and that
    /// must show in the first test and not in production.
    pub fn set(&mut self, component: &str, entries: impl IntoIterator<Item = (String, Value)>) {
        assert!(!self.is_taken, "overrides for {component} come after the step that takes them");
        self.components.entry(component.to_owned()).or_default().extend(entries);
    }

    /// Everything that was set in this pass.
    ///
    /// # Panics
    /// When they were taken before in the same pass.
    #[must_use]
    pub fn take(&mut self) -> BTreeMap<String, BTreeMap<String, Value>> {
        assert!(!self.is_taken, "the overrides were taken before in this pass");
        self.is_taken = true;
        std::mem::take(&mut self.components)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show_and_a_key_is_replaced() {
        let mut overrides = Overrides::default();
        overrides.set("hello", [plain("text", "a"), secret("token", "s3cret".into())]);
        overrides.set("hello", [plain("text", "b")]);
        let shown = format!("{overrides:?}");
        assert!(shown.contains(r#""text": "b""#) && shown.contains("<secret>"), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }

    #[test]
    #[should_panic(expected = "come after the step that takes them")]
    fn too_high_a_weight_is_found_at_once() {
        let mut overrides = Overrides::default();
        let _ = overrides.take();
        overrides.set("hello", []);
    }
}
