//! How OneFlow puts together a service template and what the caller sent with `instantiate`.
//!
//! The dialect of 6.x merges lists by position: the second entry of the caller goes into the second role,
//! whatever its name says. A caller that lists the roles in another order swaps their VM templates, and is
//! not told. The dialect of 7.x finds roles by their names, and does not see `vm_template_contents`.

use serde_json::{Map, Value};

use super::body::Dialect;

pub(super) fn merged(template: &Value, sent: &Value) -> Value {
    match Dialect::of(template) {
        Dialect::Six => by_position(template, sent),
        Dialect::Seven => by_name(template, sent),
    }
}

fn by_position(mine: &Value, theirs: &Value) -> Value {
    match (mine, theirs) {
        (Value::Object(mine), Value::Object(theirs)) => {
            let mut result = mine.clone();
            for (key, value) in theirs {
                let merged = mine.get(key).map_or_else(|| value.clone(), |old| by_position(old, value));
                result.insert(key.clone(), merged);
            }
            Value::Object(result)
        }
        (Value::Array(mine), Value::Array(theirs)) => {
            let pair = |at: usize| match (mine.get(at), theirs.get(at)) {
                (Some(mine), Some(theirs)) => by_position(mine, theirs),
                (Some(only), None) | (None, Some(only)) => only.clone(),
                (None, None) => Value::Null,
            };
            Value::Array((0..mine.len().max(theirs.len())).map(pair).collect())
        }
        _ => theirs.clone(),
    }
}

fn by_name(template: &Value, sent: &Value) -> Value {
    let mut rest = sent.clone();
    let roles = rest.as_object_mut().and_then(|rest| rest.remove("roles"));
    let mut result = by_position(template, &rest);
    let (Some(Value::Array(mine)), Some(Value::Array(theirs))) = (result.get_mut("roles"), roles) else {
        return result;
    };
    for sent in &theirs {
        let named = mine.iter_mut().find(|role| role["name"] == sent["name"]);
        if let (Some(Value::Object(role)), Some(sent)) = (named, sent.as_object()) {
            merge_role(role, sent);
        }
    }
    result
}

fn merge_role(role: &mut Map<String, Value>, sent: &Map<String, Value>) {
    for (key, value) in sent {
        match (key.as_str(), role.get_mut(key)) {
            ("vm_template_contents", _) => {}
            ("template_contents", Some(Value::Object(contents))) => {
                let Some(sent) = value.as_object() else { continue };
                for (name, value) in sent {
                    let merged = contents.get(name).map_or_else(|| value.clone(), |old| joined(old, value));
                    contents.insert(name.clone(), merged);
                }
            }
            _ => {
                role.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Lists become one list without its exact duplicates; objects are merged; anything else is replaced.
fn joined(mine: &Value, theirs: &Value) -> Value {
    match (mine, theirs) {
        (Value::Array(mine), Value::Array(theirs)) => {
            let mut result = mine.clone();
            result.extend(theirs.iter().filter(|entry| !mine.contains(entry)).cloned());
            Value::Array(result)
        }
        (Value::Object(mine), Value::Object(theirs)) => {
            let mut result = mine.clone();
            for (key, value) in theirs {
                let merged = mine.get(key).map_or_else(|| value.clone(), |old| joined(old, value));
                result.insert(key.clone(), merged);
            }
            Value::Object(result)
        }
        _ => theirs.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_older_dialect_merges_by_position_and_so_swaps_what_is_listed_in_another_order() {
        let template = json!({"name": "t", "roles": [
            {"name": "DAAS", "vm_template": 1}, {"name": "FAAS", "vm_template": 0}]});
        let sent = json!({"name": "mine", "roles": [
            {"name": "FAAS", "vm_template_contents": "F"}, {"name": "DAAS", "vm_template_contents": "D"}]});
        let expected = json!({"name": "mine", "roles": [
            {"name": "FAAS", "vm_template": 1, "vm_template_contents": "F"},
            {"name": "DAAS", "vm_template": 0, "vm_template_contents": "D"}]});
        assert_eq!(merged(&template, &sent), expected);
    }

    #[test]
    fn in_the_older_dialect_a_shorter_list_leaves_the_rest_and_a_longer_one_adds_to_it() {
        let template = json!({"roles": [{"name": "A", "vm_template": 0}, {"name": "B", "vm_template": 1}]});
        let shorter = json!({"roles": [{"vm_template_contents": "x"}]});
        assert_eq!(
            merged(&template, &shorter),
            json!({"roles": [
                {"name": "A", "vm_template": 0, "vm_template_contents": "x"},
                {"name": "B", "vm_template": 1}]})
        );
        let longer = json!({"roles": [{}, {}, {"name": "C"}]});
        assert_eq!(merged(&template, &longer)["roles"][2], json!({"name": "C"}));
    }

    #[test]
    fn the_newer_dialect_merges_by_name_and_does_not_see_the_older_contents() {
        let template = json!({"name": "t", "roles": [
            {"name": "DAAS", "template_id": 1, "template_contents": {"DISK": [{"A": "1"}], "CPU": "1"}},
            {"name": "FAAS", "template_id": 0}]});
        let sent = json!({"name": "mine", "roles": [
            {"name": "FAAS", "vm_template_contents": "F", "template_contents": {"CPU": "2"}},
            {"name": "DAAS", "template_contents": {"DISK": [{"A": "1"}, {"B": "2"}], "CPU": "3"}},
            {"name": "ELSE", "template_contents": {}}]});
        let expected = json!({"name": "mine", "roles": [
            {"name": "DAAS", "template_id": 1,
             "template_contents": {"DISK": [{"A": "1"}, {"B": "2"}], "CPU": "3"}},
            {"name": "FAAS", "template_id": 0, "template_contents": {"CPU": "2"}}]});
        assert_eq!(merged(&template, &sent), expected);
    }
}
