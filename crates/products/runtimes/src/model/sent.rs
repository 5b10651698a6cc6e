//! Which overrides a request carried, for whoever looks at the operation.

use engine::prelude::*;

use engine::overrides::{Entries, Taken, Value};

/// What is kept goes with every save of its operation.
const ENTRIES_MAX: usize = 100;
const CHARS_MAX: usize = 120;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sent {
    overrides: Vec<Entry>,
    /// So many more than are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    more: usize,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// Nothing for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    component: Option<String>,
    key: String,
    value: Kept,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kept {
    /// As it was sent, or its beginning.
    Plain(String),
    /// Made of what whoever asked has sent, which is sealed elsewhere.
    Private,
    Secret,
}

impl Fact for Sent {
    const KEY: &'static str = "runtime.overrides";
}

impl Sent {
    pub(crate) fn of(taken: &Taken) -> Sent {
        let of_components = taken.components.iter().flat_map(|(name, entries)| kept(Some(name), entries));
        let mut all = of_components.chain(kept(None, &taken.global));
        let overrides = all.by_ref().take(ENTRIES_MAX).collect();
        Sent { overrides, more: all.count() }
    }
}

fn kept<'a>(component: Option<&'a String>, entries: &'a Entries) -> impl Iterator<Item = Entry> + 'a {
    entries.iter().map(move |(key, value)| Entry {
        component: component.cloned(),
        key: key.clone(),
        value: match value {
            Value::Public(text) => Kept::Plain(beginning(text)),
            Value::Plain(_) => Kept::Private,
            Value::Secret(_) => Kept::Secret,
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
        let kept = serde_json::to_value(Sent::of(&overrides.take())).unwrap();
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
        let sent = Sent::of(&overrides.take());
        assert_eq!((sent.overrides.len(), sent.more), (ENTRIES_MAX, 3));
    }
}
