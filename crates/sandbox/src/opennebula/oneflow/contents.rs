//! The template text that OneFlow hands to oned for each machine of a role.
//!
//! In the dialect of 6.x the caller's own text is passed on, in that of 7.x a JSON object is turned into
//! text. Both times `$name` and `${role.path}` are expanded in it, also where the caller did not mean that,
//! and what is unescaped stays unescaped: whoever sends text here must know the grammar.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value as Json};

use super::body::{Body, Dialect, Role};
use crate::opennebula::template::{Template, Value, Vector};

/// What a text can refer to.
pub(super) struct Terms<'a> {
    pub(super) service: i32,
    /// Values that the caller sent for the template's own attributes and networks.
    pub(super) values: &'a BTreeMap<String, String>,
    /// What a machine of a role says at a path, such as `TEMPLATE.NIC.IP`.
    pub(super) of_role: &'a dyn Fn(&str, &str) -> Option<String>,
}

pub(super) fn text(role: &Role, template: &Template, terms: &Terms<'_>) -> String {
    let mut text = match role.dialect() {
        Dialect::Six => with_kept(role.vm_template_contents.as_deref().unwrap_or_default(), template),
        Dialect::Seven => from_json(role.template_contents.as_ref(), template),
    };
    let (service, name) = (terms.service, &role.name);
    let _ = write!(text, "\nSERVICE_ID = {service}\nROLE_NAME = \"{name}\"");
    expanded(&text, terms)
}

/// A line `APPEND="A,B"` keeps these attributes of the VM template beside those of the text.
fn with_kept(contents: &str, template: &Template) -> String {
    let append = contents.lines().find_map(|line| line.trim().strip_prefix("APPEND="));
    let mut text = String::new();
    for name in append.into_iter().flat_map(|names| names.trim_matches('"').split(',')) {
        for attribute in template.iter().filter(|attribute| attribute.name == name.trim()) {
            match &attribute.value {
                Value::Text(value) => write_text(&mut text, &attribute.name, value),
                Value::Vector(vector) => write_vector(&mut text, &attribute.name, vector),
            }
        }
    }
    text.push_str(contents);
    text
}

fn from_json(contents: Option<&Map<String, Json>>, template: &Template) -> String {
    let mut text = String::new();
    for (name, value) in contents.into_iter().flatten() {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in values {
            let Json::Object(members) = value else {
                write_text(&mut text, name, &plain(value));
                continue;
            };
            // Of all vectors, only this one is merged with the one of the VM template.
            let mut vector = match name.as_str() {
                "CONTEXT" => template.vectors("CONTEXT").next().cloned().unwrap_or_default(),
                _ => Vector::new(),
            };
            vector.extend(members.iter().map(|(key, value)| (key.clone(), plain(value))));
            write_vector(&mut text, name, &vector);
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn write_text(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "{name}=\"{}\"", value.replace('"', "\\\""));
}

fn write_vector(text: &mut String, name: &str, vector: &Vector) {
    let pair = |(key, value): (&String, &String)| format!("{key}=\"{}\"", value.replace('"', "\\\""));
    let pairs: Vec<String> = vector.iter().map(pair).collect();
    let _ = writeln!(text, "{name}=[{}]", pairs.join(",\n"));
}

/// The values that may be named by `$name`, wherever the caller put them.
pub(super) fn values(body: &Body) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for key in ["custom_attrs_values", "user_inputs_values"] {
        let named = body.others.get(key).and_then(Json::as_object);
        values.extend(named.into_iter().flatten().map(|(name, value)| (name.clone(), plain(value))));
    }
    let networks = body.others.get("networks_values").and_then(Json::as_array);
    for (name, network) in networks.into_iter().flatten().filter_map(Json::as_object).flatten() {
        values.insert(name.clone(), plain(&network["id"]));
    }
    values
}

/// A name that nobody knows stays as it is, because oned has some of its own; an unknown path becomes blank.
fn expanded(text: &str, terms: &Terms<'_>) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        result.push_str(before);
        let (replacement, len) = reference(from, terms).unwrap_or(("$".to_owned(), 1));
        result.push_str(&replacement);
        rest = &from[len..];
    }
    result.push_str(rest);
    result
}

/// What stands for the reference at the beginning of this text, and how long that reference is.
fn reference(text: &str, terms: &Terms<'_>) -> Option<(String, usize)> {
    if let Some(path) = text.strip_prefix("${") {
        let end = path.find('}')?;
        let (role, inner) = path[..end].split_once('.').unwrap_or((&path[..end], ""));
        return Some(((terms.of_role)(role, inner).unwrap_or_default(), end + 3));
    }
    let name = &text[1..];
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = &name[..name.find(|c| !is_part(c)).unwrap_or(name.len())];
    terms.values.get(name).map(|value| (value.clone(), name.len() + 1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(json: Json) -> Role {
        serde_json::from_value(json).unwrap()
    }

    fn template() -> Template {
        let mut template = Template::default();
        template.set("CPU", "1");
        template.set_vector("CONTEXT", [("NETWORK".into(), "YES".into()), ("A".into(), "old".into())].into());
        template.add("DISK", Value::Vector([("IMAGE".into(), "x".into())].into()));
        template
    }

    fn check(role_json: Json, expected: &str) {
        let values = [("KEY".to_owned(), "value".to_owned())].into();
        let of_role = |role: &str, path: &str| (role == "FAAS").then(|| format!("<{path}>"));
        let terms = Terms { service: 7, values: &values, of_role: &of_role };
        assert_eq!(text(&role(role_json), &template(), &terms), expected);
    }

    #[test]
    fn the_callers_text_is_passed_on_with_the_marks_of_the_service() {
        check(
            json!({"name": "FAAS", "vm_template": 0, "vm_template_contents": "CPU=2\nX=\"a\"b\""}),
            "CPU=2\nX=\"a\"b\"\nSERVICE_ID = 7\nROLE_NAME = \"FAAS\"",
        );
        check(json!({"name": "D", "vm_template": 0}), "\nSERVICE_ID = 7\nROLE_NAME = \"D\"");
    }

    #[test]
    fn an_append_line_keeps_attributes_of_the_vm_template() {
        check(
            json!({"name": "F", "vm_template": 0, "vm_template_contents": "APPEND=\"DISK,CPU\"\nCPU=2"}),
            "DISK=[IMAGE=\"x\"]\nCPU=\"1\"\nAPPEND=\"DISK,CPU\"\nCPU=2\nSERVICE_ID = 7\nROLE_NAME = \"F\"",
        );
    }

    #[test]
    fn names_and_paths_are_expanded_and_unknown_names_left_alone() {
        let contents = "A=$KEY\nB=\"$USER[X] $ ${FAAS.TEMPLATE.NIC.IP} ${NO.WAY} ${open\"";
        check(
            json!({"name": "F", "vm_template": 0, "vm_template_contents": contents}),
            "A=value\nB=\"$USER[X] $ <TEMPLATE.NIC.IP>  ${open\"\nSERVICE_ID = 7\nROLE_NAME = \"F\"",
        );
    }

    #[test]
    fn the_newer_dialect_turns_json_into_text_and_merges_only_the_context() {
        check(
            json!({"name": "F", "template_id": 0, "vm_template_contents": "CPU=9", "template_contents": {
                "CONTEXT": {"A": "new \"q\""}, "DISK": [{"SIZE": "5"}, {"SIZE": 6}], "MEMORY": 128}}),
            "CONTEXT=[A=\"new \\\"q\\\"\",\nNETWORK=\"YES\"]\nDISK=[SIZE=\"5\"]\nDISK=[SIZE=\"6\"]\nMEMORY=\"128\"\n\
             SERVICE_ID = 7\nROLE_NAME = \"F\"",
        );
    }
}
