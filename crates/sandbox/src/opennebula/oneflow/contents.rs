//! The template text that OneFlow hands to oned for each machine of a role.
//!
//! 6.8 passes the caller's own text on. 7.4 merges the caller's object with the VM template and turns that into text.
//! Both expand `$name` and `${role.path}` in it, also where the caller did not mean that.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value as Json};

use super::body::{FlowBody, FlowRole};
use super::merge::{Lists, deep_merged};
use crate::opennebula::release::Release;
use crate::opennebula::template::{TemplateText, TemplateValue, Vector};

/// What a text can refer to.
pub(super) struct Terms<'a> {
    pub(super) service: i32,
    /// Values that the caller sent for the template's own attributes and networks.
    pub(super) values: &'a BTreeMap<String, String>,
    /// What a machine of a role says at a path, such as `TEMPLATE.NIC.IP`.
    pub(super) of_role: &'a dyn Fn(&str, &str) -> Option<String>,
}

pub(super) fn text(role: &FlowRole, template: &TemplateText, terms: &Terms<'_>, release: Release) -> String {
    let (service, name) = (terms.service, &role.name);
    let text = match release {
        Release::Six => {
            let text = with_kept(role.vm_template_contents.as_deref().unwrap_or_default(), template);
            format!("{text}\nSERVICE_ID = {service}\nROLE_NAME = \"{name}\"")
        }
        Release::Seven => {
            let mut contents = role.template_contents.clone().unwrap_or_default();
            if !contents.is_empty() {
                contents = deep_merged(&json_of(template), &contents, Lists::Replace);
            }
            contents.insert("SERVICE_ID".into(), service.into());
            contents.insert("ROLE_NAME".into(), name.as_str().into());
            raw(&contents)
        }
    };
    expanded(&text, terms)
}

/// A line `APPEND="A,B"` keeps these attributes of the VM template beside those of the text.
fn with_kept(contents: &str, template: &TemplateText) -> String {
    let append = contents.lines().find_map(|line| line.trim().strip_prefix("APPEND="));
    let mut text = String::new();
    for name in append.into_iter().flat_map(|names| names.trim_matches('"').split(',')) {
        for attribute in template.iter().filter(|attribute| attribute.name == name.trim()) {
            match &attribute.value {
                TemplateValue::Text(value) => write_text(&mut text, &attribute.name, value),
                TemplateValue::Vector(vector) => write_vector(&mut text, &attribute.name, vector),
            }
        }
    }
    text.push_str(contents);
    text
}

/// An attribute that appears several times is a list.
fn json_of(template: &TemplateText) -> Map<String, Json> {
    let mut members = Map::new();
    for attribute in template.iter() {
        let value = match &attribute.value {
            TemplateValue::Text(text) => Json::from(text.as_str()),
            TemplateValue::Vector(vector) => {
                vector.iter().map(|(key, text)| (key.clone(), text.as_str())).collect()
            }
        };
        match members.get_mut(&attribute.name) {
            Some(Json::Array(values)) => values.push(value),
            Some(first) => *first = Json::Array(vec![first.take(), value]),
            None => {
                members.insert(attribute.name.clone(), value);
            }
        }
    }
    members
}

/// An object as text. The lines inside an object get commas between them, also those of a value with line breaks.
fn raw(members: &Map<String, Json>) -> String {
    let mut text = String::new();
    for (name, value) in members {
        match value {
            Json::Object(inside) => {
                let inside = raw(inside);
                let lines: Vec<&str> = inside.trim_end_matches('\n').split('\n').collect();
                let _ = writeln!(text, "{name} = [\n{}\n]", lines.join(",\n"));
            }
            Json::Array(values) => {
                for value in values {
                    text += &raw(&Map::from_iter([(name.clone(), value.clone())]));
                }
            }
            _ => {
                let _ = writeln!(text, "{name} = \"{}\"", plain(value).replace('"', "\\\""));
            }
        }
    }
    text
}

fn plain(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
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
pub(super) fn values(body: &FlowBody) -> BTreeMap<String, String> {
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

/// A name that is unknown stays as it is, because oned has some of its own; an unknown path becomes blank.
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

    fn role(json: Json) -> FlowRole {
        serde_json::from_value(json).unwrap()
    }

    fn template() -> TemplateText {
        let mut template = TemplateText::default();
        template.set("CPU", "1");
        template.set_vector("CONTEXT", [("NETWORK".into(), "YES".into()), ("A".into(), "old".into())].into());
        template.add("DISK", TemplateValue::Vector([("IMAGE".into(), "x".into())].into()));
        template
    }

    #[track_caller]
    fn check(role_json: Json, expected: &str) {
        check_in(Release::Six, role_json, expected);
    }

    #[track_caller]
    fn check_in(release: Release, mut role_json: Json, expected: &str) {
        role_json["cardinality"] = json!(1);
        let values = [("KEY".to_owned(), "value".to_owned())].into();
        let of_role = |role: &str, path: &str| (role == "FAAS").then(|| format!("<{path}>"));
        let terms = Terms { service: 7, values: &values, of_role: &of_role };
        assert_eq!(text(&role(role_json), &template(), &terms, release), expected);
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
    fn the_newer_release_merges_the_vm_template_and_turns_all_of_it_into_text() {
        check_in(
            Release::Seven,
            json!({"name": "F", "template_id": 0, "template_contents": {
                "CONTEXT": {"A": "new \"q\""}, "DISK": [{"SIZE": "5"}, {"SIZE": 6}], "MEMORY": 128}}),
            "CONTEXT = [\nA = \"new \\\"q\\\"\",\nNETWORK = \"YES\"\n]\nCPU = \"1\"\n\
             DISK = [\nSIZE = \"5\"\n]\nDISK = [\nSIZE = \"6\"\n]\nMEMORY = \"128\"\n\
             ROLE_NAME = \"F\"\nSERVICE_ID = \"7\"\n",
        );
        check_in(
            Release::Seven,
            json!({"name": "F", "template_id": 0}),
            "ROLE_NAME = \"F\"\nSERVICE_ID = \"7\"\n",
        );
    }

    #[test]
    fn in_the_newer_release_a_list_with_one_object_replaces_the_vector_of_the_vm_template() {
        check_in(
            Release::Seven,
            json!({"name": "F", "template_id": 0, "template_contents": {"CONTEXT": [{"B": 1}], "DISK": {"SIZE": 5}}}),
            "CONTEXT = [\nB = \"1\"\n]\nCPU = \"1\"\nDISK = [\nIMAGE = \"x\",\nSIZE = \"5\"\n]\n\
             ROLE_NAME = \"F\"\nSERVICE_ID = \"7\"\n",
        );
    }

    #[test]
    fn in_the_newer_release_a_line_break_in_a_vector_becomes_a_comma_and_a_line_break() {
        check_in(
            Release::Seven,
            json!({"name": "F", "template_id": 0, "template_contents": {
                "CONTEXT": [{"A": "l1\nl2\n"}], "CPU": "2", "DISK": [], "NOTE": "a\nb"}}),
            "CONTEXT = [\nA = \"l1,\nl2,\n\"\n]\nCPU = \"2\"\nNOTE = \"a\nb\"\n\
             ROLE_NAME = \"F\"\nSERVICE_ID = \"7\"\n",
        );
    }
}
