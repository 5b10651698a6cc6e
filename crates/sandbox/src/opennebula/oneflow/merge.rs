//! How OneFlow puts together a service template and what the caller sent with `instantiate`.
//!
//! 6.8 merges lists by position: the second entry of the caller goes into the second role, whatever its name says. A
//! caller that lists the roles in another order swaps their VM templates, and is not told. 7.4 finds roles by their
//! names, and passes over a role that the template does not have.

use serde_json::{Map, Value};

use crate::opennebula::release::Release;

type JsonMembers = Map<String, Value>;

pub(super) fn merged(template: &JsonMembers, sent: &JsonMembers, release: Release) -> JsonMembers {
    match release {
        Release::Six => by_position(template, sent),
        Release::Seven => by_name(template, sent),
    }
}

fn by_position(mine: &JsonMembers, theirs: &JsonMembers) -> JsonMembers {
    let mut result = mine.clone();
    for (key, value) in theirs {
        let merged = match (mine.get(key), value) {
            (Some(Value::Object(mine)), Value::Object(theirs)) => Value::Object(by_position(mine, theirs)),
            (Some(Value::Array(mine)), Value::Array(theirs)) => Value::Array(lists_by_position(mine, theirs)),
            _ => value.clone(),
        };
        result.insert(key.clone(), merged);
    }
    result
}

/// A list with an entry that cannot be merged, also because the other list is shorter, replaces the other list.
fn lists_by_position(mine: &[Value], theirs: &[Value]) -> Vec<Value> {
    let mut result = mine.to_vec();
    for (at, entry) in theirs.iter().enumerate() {
        match (mine.get(at), entry) {
            (Some(Value::Object(mine)), Value::Object(theirs)) => {
                result[at] = Value::Object(by_position(mine, theirs));
            }
            _ => return theirs.to_vec(),
        }
    }
    result
}

fn by_name(template: &JsonMembers, sent: &JsonMembers) -> JsonMembers {
    let (mut template, mut rest) = (template.clone(), sent.clone());
    let roles = rest.get("roles").and_then(Value::as_array).cloned().unwrap_or_default();
    if !roles.is_empty() {
        rest.remove("roles");
    }
    let mine = template.get_mut("roles").and_then(Value::as_array_mut);
    for role in mine.into_iter().flatten().filter_map(Value::as_object_mut) {
        let named =
            roles.iter().filter_map(Value::as_object).find(|sent| sent.get("name") == role.get("name"));
        if let Some(sent) = named {
            *role = deep_merged(role, sent, Lists::Join);
        }
    }
    deep_merged(&template, &rest, Lists::Join)
}

/// What becomes of two lists under one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lists {
    /// They become one; of objects alone, without exact duplicates.
    Join,
    Replace,
}

/// The merge of 7.4: objects are merged, and anything else is replaced.
pub(super) fn deep_merged(mine: &JsonMembers, theirs: &JsonMembers, lists: Lists) -> JsonMembers {
    let mut result = mine.clone();
    for (key, value) in theirs {
        let merged = match (mine.get(key), value) {
            (Some(Value::Object(mine)), Value::Object(theirs)) => {
                Value::Object(deep_merged(mine, theirs, lists))
            }
            (Some(Value::Array(mine)), Value::Array(theirs)) if lists == Lists::Join => {
                Value::Array(joined(mine, theirs))
            }
            _ => value.clone(),
        };
        result.insert(key.clone(), merged);
    }
    result
}

fn joined(mine: &[Value], theirs: &[Value]) -> Vec<Value> {
    let all = [mine, theirs].concat();
    if !all.iter().all(Value::is_object) {
        return all;
    }
    let mut result: Vec<Value> = Vec::with_capacity(all.len());
    for entry in all {
        if !result.contains(&entry) {
            result.push(entry);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(release: Release, template: Value, sent: Value, expected: &Value) {
        let (Value::Object(template), Value::Object(sent)) = (template, sent) else { panic!("no objects") };
        assert_eq!(Value::Object(merged(&template, &sent, release)), *expected);
    }

    #[test]
    fn the_older_release_merges_by_position_and_so_swaps_what_is_listed_in_another_order() {
        let template = json!({"name": "t", "roles": [
            {"name": "DAAS", "vm_template": 1}, {"name": "FAAS", "vm_template": 0}]});
        let sent = json!({"name": "mine", "roles": [
            {"name": "FAAS", "vm_template_contents": "F"}, {"name": "DAAS", "vm_template_contents": "D"}]});
        let expected = json!({"name": "mine", "roles": [
            {"name": "FAAS", "vm_template": 1, "vm_template_contents": "F"},
            {"name": "DAAS", "vm_template": 0, "vm_template_contents": "D"}]});
        check(Release::Six, template, sent, &expected);
    }

    #[test]
    fn in_the_older_release_a_shorter_list_leaves_the_rest_and_a_longer_one_replaces_it() {
        let template = json!({"roles": [{"name": "A", "vm_template": 0}, {"name": "B", "vm_template": 1}]});
        let shorter = json!({"roles": [{"vm_template_contents": "x"}]});
        let expected = json!({"roles": [
            {"name": "A", "vm_template": 0, "vm_template_contents": "x"}, {"name": "B", "vm_template": 1}]});
        check(Release::Six, template.clone(), shorter, &expected);
        let longer = json!({"roles": [{}, {}, {"name": "C"}]});
        check(Release::Six, template, longer.clone(), &longer);
    }

    #[test]
    fn the_newer_release_merges_by_name_and_passes_over_unknown_roles() {
        let template = json!({"name": "t", "roles": [
            {"name": "DAAS", "template_id": 1, "template_contents": {"DISK": [{"A": "1"}], "CPU": "1"}},
            {"name": "FAAS", "template_id": 0}]});
        let sent = json!({"name": "mine", "roles": [
            {"name": "FAAS", "template_contents": {"CPU": "2"}},
            {"name": "DAAS", "template_contents": {"DISK": [{"A": "1"}, {"B": "2"}], "CPU": "3"}},
            {"name": "ELSE", "template_contents": {}}]});
        let expected = json!({"name": "mine", "roles": [
            {"name": "DAAS", "template_id": 1,
             "template_contents": {"DISK": [{"A": "1"}, {"B": "2"}], "CPU": "3"}},
            {"name": "FAAS", "template_id": 0, "template_contents": {"CPU": "2"}}]});
        check(Release::Seven, template, sent, &expected);
    }

    #[test]
    fn lists_of_other_things_than_objects_keep_their_duplicates() {
        let (mine, theirs) = (json!({"a": [1, 2]}), json!({"a": [2]}));
        check(Release::Seven, mine, theirs, &json!({"a": [1, 2, 2]}));
    }
}
