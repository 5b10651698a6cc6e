//! How OneFlow checks a service template, in the order of its schema and in its words.

use serde_json::{Map, Value, json};

use super::body::{CARDINALITY_MAX, ROLES_MAX};
use super::upgrade::upgrade;
use crate::opennebula::release::Release;

type BodyMembers = Map<String, Value>;

/// Sets the defaults too. 7.4 first turns the form of 6.8 into its own.
pub(super) fn validate(body: &mut BodyMembers, release: Release) -> Result<(), String> {
    if release == Release::Seven {
        upgrade(body);
    }
    let schema = Schema { release };
    schema.require(body, "name", "string")?;
    schema.text(body, "name")?;
    set_default(body, "deployment", json!("none"));
    schema.one_of(body, "deployment", &["none", "straight"])?;
    set_default(body, "description", json!(""));
    schema.text(body, "description")?;
    schema.require(body, "roles", "array")?;
    let Some(roles) = body.get_mut("roles").and_then(Value::as_array_mut) else {
        return Err("KEY: 'roles' must be an Array;".into());
    };
    for role in roles.iter_mut() {
        schema.role(role)?;
    }
    require_distinct_names(roles)?;
    require_size(roles)
}

struct Schema {
    release: Release,
}

impl Schema {
    fn role(&self, role: &mut Value) -> Result<(), String> {
        let Some(role) = role.as_object_mut() else {
            return Err(match self.release {
                Release::Six => "KEY: roles must be a Hash; SCHEMA:".into(),
                Release::Seven => "KEY: '' must be an Object;".into(),
            });
        };
        self.require(role, "name", "string")?;
        self.text(role, "name")?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = role["name"].as_str().unwrap_or_default();
        if !name.lines().any(|line| !line.is_empty() && line.chars().all(is_word)) {
            return Err("KEY: 'name' must match regexp /^\\w+$/;".into());
        }
        let (template, cardinality) = match self.release {
            Release::Six => ("vm_template", 1),
            Release::Seven => {
                self.require(role, "type", "string")?;
                ("template_id", 0)
            }
        };
        set_default(role, "cardinality", json!(cardinality));
        integer(role, "cardinality")?;
        self.require(role, template, "integer")?;
        integer(role, template)?;
        self.text(role, "vm_template_contents")?;
        if role.get("template_contents").is_some_and(|contents| is_there(contents) && !contents.is_object()) {
            return Err("KEY: 'template_contents' must be an Object;".into());
        }
        Ok(())
    }

    fn require(&self, members: &BodyMembers, key: &str, kind: &str) -> Result<(), String> {
        if members.get(key).is_some_and(is_there) {
            return Ok(());
        }
        Err(match self.release {
            Release::Six => format!("KEY: '{key}' is required;"),
            Release::Seven => {
                let body = json!(members);
                format!("Mandatory document key '{key} ({kind})' is missing from {body}")
            }
        })
    }

    fn text(&self, members: &BodyMembers, key: &str) -> Result<(), String> {
        // 7.4 knows no old contents, and lets pass what it does not know.
        if self.release == Release::Seven && key == "vm_template_contents" {
            return Ok(());
        }
        match members.get(key) {
            Some(value) if is_there(value) && !value.is_string() => {
                Err(format!("KEY: '{key}' must be a String;"))
            }
            _ => Ok(()),
        }
    }

    fn one_of(&self, members: &BodyMembers, key: &str, known: &[&str]) -> Result<(), String> {
        self.text(members, key)?;
        match members.get(key).and_then(Value::as_str) {
            Some(value) if !known.contains(&value) => {
                Err(format!("KEY: '{key}' must be one of {};", known.join(", ")))
            }
            _ => Ok(()),
        }
    }
}

/// In Ruby, false is as good as nothing.
fn is_there(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

fn set_default(members: &mut BodyMembers, key: &str, default: Value) {
    if !members.get(key).is_some_and(is_there) {
        members.insert(key.into(), default);
    }
}

/// A text that is a number becomes one.
fn integer(members: &mut BodyMembers, key: &str) -> Result<(), String> {
    let number = match &members[key] {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let Some(number) = number else { return Err(format!("KEY: '{key}' must be an Integer;")) };
    if key == "cardinality" && number < 0 {
        return Err("KEY: 'cardinality' must be greater than or equal to 0;".into());
    }
    members.insert(key.into(), json!(number));
    Ok(())
}

fn require_distinct_names(roles: &[Value]) -> Result<(), String> {
    for (at, role) in roles.iter().enumerate() {
        if roles[at + 1..].iter().any(|other| other["name"] == role["name"]) {
            let name = role["name"].as_str().unwrap_or_default();
            return Err(format!("Role name '{name}' is repeated"));
        }
    }
    Ok(())
}

/// The sandbox's own limits.
fn require_size(roles: &[Value]) -> Result<(), String> {
    if !(1..=ROLES_MAX).contains(&roles.len()) {
        return Err(format!("KEY: 'roles' must have 1 to {ROLES_MAX} entries;"));
    }
    for role in roles {
        if role["cardinality"].as_u64().is_none_or(|cardinality| cardinality > u64::from(CARDINALITY_MAX)) {
            return Err(format!("KEY: 'cardinality' must be at most {CARDINALITY_MAX};"));
        }
        let parents = role["parents"].as_array().map(Vec::as_slice).unwrap_or_default();
        if !parents.iter().all(|parent| roles.iter().any(|other| other["name"] == *parent)) {
            let name = role["name"].as_str().unwrap_or_default();
            return Err(format!("KEY: role '{name}' has an unknown parent;"));
        }
    }
    Ok(())
}
