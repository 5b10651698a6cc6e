//! Fields that another release saved and this one does not know. They are kept, so that the release that knows
//! them finds them again.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What a value had that its type has no field for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Unknown {
    Field(Value),
    /// Below a field that the type has.
    Inside(BTreeMap<String, Unknown>),
    /// In the items of a list.
    Items(Vec<Option<Unknown>>),
}

impl Unknown {
    /// What of `saved` is missing when it is read as `T` and written again.
    pub(crate) fn of<T: Serialize>(saved: &Value, read: &T) -> Option<Unknown> {
        serde_json::to_value(read).ok().and_then(|known| missing(saved, &known))
    }

    /// `value` with these fields, unless it could not be read as the same any longer.
    pub(crate) fn restore<T: Serialize + DeserializeOwned>(&self, value: Value) -> Value {
        let mut whole = value.clone();
        self.put_back(&mut whole);
        let read = serde_json::from_value::<T>(whole.clone()).and_then(serde_json::to_value);
        if read.is_ok_and(|read| read == value) { whole } else { value }
    }

    fn put_back(&self, value: &mut Value) {
        match (self, value) {
            (Unknown::Inside(fields), Value::Object(map)) => {
                for (name, unknown) in fields {
                    match (unknown, map.get_mut(name)) {
                        (Unknown::Field(field), None) => drop(map.insert(name.clone(), field.clone())),
                        (unknown, Some(below)) => unknown.put_back(below),
                        // What it was in is gone.
                        (_, None) => {}
                    }
                }
            }
            (Unknown::Items(unknown), Value::Array(items)) if unknown.len() == items.len() => {
                for (unknown, item) in unknown.iter().zip(items) {
                    if let Some(unknown) = unknown {
                        unknown.put_back(item);
                    }
                }
            }
            _ => {}
        }
    }
}

fn missing(saved: &Value, known: &Value) -> Option<Unknown> {
    match (saved, known) {
        (Value::Object(saved), Value::Object(known)) => {
            let of = |(name, saved): (&String, &Value)| {
                let unknown = match known.get(name) {
                    Some(known) => missing(saved, known)?,
                    // A field without a value is often not written.
                    None if saved.is_null() => return None,
                    None => Unknown::Field(saved.clone()),
                };
                Some((name.clone(), unknown))
            };
            let fields: BTreeMap<String, Unknown> = saved.iter().filter_map(of).collect();
            (!fields.is_empty()).then_some(Unknown::Inside(fields))
        }
        (Value::Array(saved), Value::Array(known)) if saved.len() == known.len() => {
            let items: Vec<_> = saved.iter().zip(known).map(|(saved, known)| missing(saved, known)).collect();
            items.iter().any(Option::is_some).then_some(Unknown::Items(items))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Disk {
        size: u32,
    }

    #[derive(Serialize, Deserialize)]
    struct State {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none", alias = "place")]
        region: Option<String>,
        #[serde(default)]
        disks: Vec<Disk>,
        #[serde(default)]
        by_name: BTreeMap<String, Disk>,
    }

    /// Reads the saved value, changes it, and writes it with what was unknown.
    fn changed(saved: &Value, change: impl FnOnce(&mut State)) -> Value {
        let mut state: State = serde_json::from_value(saved.clone()).unwrap();
        let unknown = Unknown::of(saved, &state);
        change(&mut state);
        let value = serde_json::to_value(&state).unwrap();
        unknown.map_or(value.clone(), |unknown| unknown.restore::<State>(value))
    }

    #[test]
    fn unknown_fields_survive_a_change_of_known_ones() {
        let saved = json!({"name": "a", "new": [1], "disks": [{"size": 1, "kind": "ssd"}], "by_name": {"x":
            {"size": 2, "kind": "hdd"}}});
        assert_eq!(changed(&saved, |_| {}), saved, "nothing is lost when nothing changes");
        let empty = json!({"name": "a", "region": null, "disks": [], "by_name": {}});
        let state: State = serde_json::from_value(empty.clone()).unwrap();
        assert_eq!(Unknown::of(&empty, &state), None, "a field without a value is not unknown");
        let now = changed(&saved, |state| {
            state.name = "b".into();
            state.region = Some("eu".into());
            state.disks[0].size = 5;
        });
        let expected = json!({"name": "b", "region": "eu", "new": [1], "disks": [{"size": 5, "kind": "ssd"}],
            "by_name": {"x": {"size": 2, "kind": "hdd"}}});
        assert_eq!(now, expected);
    }

    #[test]
    fn what_a_step_removed_does_not_come_back() {
        let saved = json!({"name": "a", "region": "eu", "disks": [{"size": 1, "kind": "ssd"}], "by_name": {"x":
            {"size": 2, "kind": "hdd"}}});
        let now = changed(&saved, |state| {
            state.region = None;
            state.disks.clear();
            state.by_name.clear();
        });
        assert_eq!(now, json!({"name": "a", "disks": [], "by_name": {}}));
    }

    #[test]
    fn a_value_that_would_not_read_back_is_written_without_them() {
        let saved = json!({"name": "a", "place": "eu", "disks": [], "by_name": {}, "gone": null});
        let now = changed(&saved, |state| state.name = "b".into());
        assert_eq!(
            now,
            json!({"name": "b", "region": "eu", "disks": [], "by_name": {}}),
            "the old name of a field"
        );
    }
}
