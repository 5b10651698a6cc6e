//! How OneFlow 7.4 turns what it gets in the form of 6.8 into its own.

use serde_json::{Map, Value, json};

type TemplateMembers = Map<String, Value>;

/// Only where every role is in the old form; where some are, what they have of it is passed over.
pub(super) fn upgrade(body: &mut TemplateMembers) {
    let is_old =
        |role: &Value| role.get("vm_template").is_some() || role.get("vm_template_contents").is_some();
    let roles = body.get_mut("roles").and_then(Value::as_array_mut);
    let Some(roles) = roles.filter(|roles| roles.iter().all(is_old)) else { return };
    for role in roles.iter_mut().filter_map(Value::as_object_mut) {
        // A role that had a `template_id` and got old contents is made of template 0 then.
        let template = role.remove("vm_template").as_ref().map_or(0, integer);
        role.insert("template_id".into(), json!(template));
        role.insert("type".into(), json!("vm"));
        if let Some(Value::String(text)) = role.remove("vm_template_contents") {
            role.insert("template_contents".into(), Value::Object(contents(&text)));
        }
        rename(role, "custom_attrs", "user_inputs");
    }
    rename(body, "custom_attrs", "user_inputs");
    rename(body, "custom_attrs_values", "user_inputs_values");
}

fn rename(members: &mut TemplateMembers, old: &str, new: &str) {
    if let Some(value) = members.remove(old) {
        members.insert(new.into(), value);
    }
}

fn integer(value: &Value) -> i64 {
    value.as_i64().or_else(|| value.as_str()?.parse().ok()).unwrap_or_default()
}

/// Text as an object. All quotation marks are lost, and so is what they held together.
fn contents(text: &str) -> TemplateMembers {
    let mut contents = TemplateMembers::new();
    for line in attributes(text) {
        let Some((key, value)) = line.split_once('=') else { continue };
        let (key, value) = (key.trim().to_owned(), value.trim().replace('"', ""));
        let vector = value.strip_prefix('[').and_then(|inside| inside.strip_suffix(']'));
        let value = vector.map_or_else(|| json!(value), members);
        match contents.get_mut(&key) {
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = json!([first.take(), value]),
            None => {
                contents.insert(key, value);
            }
        }
    }
    for value in contents.values_mut().filter(|value| value.is_object()) {
        *value = json!([value.take()]);
    }
    contents
}

/// The text is divided at line breaks, but not at those from which a closing bracket comes before an opening one.
fn attributes(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices('\n') {
        let is_inside = match text[at + 1..].find(['[', ']']) {
            Some(bracket) => text[at + 1 + bracket..].starts_with(']'),
            None => false,
        };
        if !is_inside {
            parts.push(&text[start..at]);
            start = at + 1;
        }
    }
    parts.push(&text[start..]);
    parts
}

fn members(inside: &str) -> Value {
    let pairs = inside.split(',').filter(|pair| !pair.trim().is_empty());
    let pair = |pair: &str| match pair.split_once('=') {
        Some((key, value)) => (key.trim().to_owned(), json!(value.trim())),
        None => (pair.trim().to_owned(), Value::Null),
    };
    Value::Object(pairs.map(pair).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upgraded(body: Value) -> Value {
        let Value::Object(mut body) = body else { panic!("no object") };
        upgrade(&mut body);
        Value::Object(body)
    }

    #[test]
    fn a_body_in_the_old_form_becomes_one_in_the_new_form() {
        let contents = "CPU=2\nNIC=[NETWORK=\"a\",\nX=\"b c\"]\nDISK=[A=1]\nDISK=[A=2]\nNAME=\"x \"y\"";
        let old = json!({"name": "n", "roles": [{"name": "FAAS", "vm_template": 3, "vm_template_contents": contents}]});
        let new = json!({"name": "n", "roles": [{"name": "FAAS", "template_id": 3, "type": "vm", "template_contents": {
            "CPU": "2", "NIC": [{"NETWORK": "a", "X": "b c"}], "DISK": [{"A": "1"}, {"A": "2"}], "NAME": "x y"}}]});
        assert_eq!(upgraded(old), new);
    }

    #[test]
    fn old_contents_for_all_roles_of_a_new_template_lose_its_vm_templates() {
        let mixed =
            json!({"roles": [{"name": "A", "type": "vm", "template_id": 5, "vm_template_contents": "X=1"}]});
        let made = json!({"roles": [{"name": "A", "type": "vm", "template_id": 0, "template_contents": {"X": "1"}}]});
        assert_eq!(upgraded(mixed), made);
    }

    #[test]
    fn old_contents_for_some_roles_are_left_as_they_are() {
        let some = json!({"roles": [{"name": "A", "type": "vm", "template_id": 5, "vm_template_contents": "X=1"},
            {"name": "B", "type": "vm", "template_id": 6}]});
        assert_eq!(upgraded(some.clone()), some);
    }
}
