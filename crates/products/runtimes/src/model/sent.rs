//! Which overrides a request carried, for the user who looks at the operation.

use engine::prelude::*;

use engine::overrides::{Entries, PassOverrides, Value};

/// What is kept goes with every save of its operation.
const ENTRIES_MAX: usize = 100;
const CHARS_MAX: usize = 120;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SentOverrides {
    overrides: Vec<SentEntry>,
    /// So many more than are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    more: usize,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SentEntry {
    /// Nothing for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    component: Option<String>,
    key: String,
    value: SentValue,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SentValue {
    /// As it was sent, or its beginning.
    Plain(String),
    /// Made of what the request held, which is sealed elsewhere.
    Private,
    Secret,
}

impl Fact for SentOverrides {
    const KEY: &'static str = "runtime.overrides";
}

impl SentOverrides {
    pub(crate) fn of(taken: &PassOverrides) -> SentOverrides {
        let of_components = taken.components.iter().flat_map(|(name, entries)| kept(Some(name), entries));
        let mut all = of_components.chain(kept(None, &taken.global));
        let overrides = all.by_ref().take(ENTRIES_MAX).collect();
        SentOverrides { overrides, more: all.count() }
    }
}

fn kept<'a>(component: Option<&'a String>, entries: &'a Entries) -> impl Iterator<Item = SentEntry> + 'a {
    entries.iter().map(move |(key, value)| SentEntry {
        component: component.cloned(),
        key: key.clone(),
        value: match value {
            Value::Public(text) => SentValue::Plain(beginning(text)),
            Value::Plain(_) => SentValue::Private,
            Value::Secret(_) => SentValue::Secret,
        },
    })
}

fn beginning(text: &str) -> String {
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use engine::overrides::{Overrides, plain, public, secret};

    #[test]
    fn only_what_may_be_shown_is_kept() {
        let mut overrides = Overrides::default();
        let long = "é".repeat(CHARS_MAX + 1);
        overrides
            .append("core", [public("a", "1"), plain("b", "of-the-tenant"), secret("c", "s3cret".into())]);
        overrides.append_global([public("g", long.as_str())]);
        let kept = serde_json::to_value(SentOverrides::of(&overrides.take())).unwrap();
        let expected = json!({"overrides": [
            {"component": "core", "key": "a", "value": {"plain": "1"}},
            {"component": "core", "key": "b", "value": "private"},
            {"component": "core", "key": "c", "value": "secret"},
            {"key": "g", "value": {"plain": format!("{}…", "é".repeat(CHARS_MAX))}},
        ]});
        assert_eq!(kept, expected);
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let mut overrides = Overrides::default();
        overrides.append_global((0..ENTRIES_MAX + 3).map(|n| public(&format!("k{n}"), "1")));
        let sent = SentOverrides::of(&overrides.take());
        assert_eq!((sent.overrides.len(), sent.more), (ENTRIES_MAX, 3));
    }
}
