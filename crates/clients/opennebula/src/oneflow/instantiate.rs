//! A service from a template, with our own attributes for its VMs.

use std::collections::BTreeMap;

use reqwest::StatusCode;
use serde_json::{Map, Value, json};

use super::super::template::{NebulaTemplate, Unwritable};
use super::super::{NebulaCredentials, NebulaError, NebulaErrorKind, OpenNebula};
use super::lenient::{DocumentEnvelope, One};
use super::services::{FlowService, ServiceBody};
use super::{Dialect, ONEFLOW, ServiceTemplate, client};

impl OpenNebula {
    /// Makes a service of that name. `contents` are attributes for the VMs of a role, by its name.
    pub async fn instantiate(
        &self,
        who: &NebulaCredentials,
        template: &ServiceTemplate,
        name: &str,
        contents: &BTreeMap<String, NebulaTemplate>,
    ) -> Result<FlowService, NebulaError> {
        let params = json!({ "merge_template": merge(template, name, contents)? });
        let path = ["service_template", &template.id.to_string(), "action"];
        let reply = self.oneflow.act(who, &path, "instantiate", &params).await?;
        if reply.status != StatusCode::CREATED {
            return Err(NebulaError::broken(ONEFLOW, format!("it made no service: {}", reply.status)));
        }
        let one: One<DocumentEnvelope<ServiceBody>> = client::json(&reply)?;
        Ok(one.document.into())
    }
}

/// What is laid over the service template.
fn merge(
    template: &ServiceTemplate,
    name: &str,
    contents: &BTreeMap<String, NebulaTemplate>,
) -> Result<Value, NebulaError> {
    if let Some(role) = contents.keys().find(|name| template.roles.iter().all(|role| role.name != **name)) {
        let message = format!("the service template {:?} has no role {role:?}", template.name);
        return Err(NebulaError::refused(ONEFLOW, NebulaErrorKind::Api, &message));
    }
    let by_place = template.roles.iter().any(|role| role.dialect == Dialect::Six);
    let mut roles = Vec::new();
    for role in &template.roles {
        let mut entry = Map::from_iter([("name".to_owned(), Value::from(role.name.as_str()))]);
        match (contents.get(&role.name), role.dialect) {
            (Some(contents), Dialect::Six) => {
                let text = contents.to_text().map_err(|why| unwritable(&why))?;
                entry.insert("vm_template_contents".to_owned(), Value::String(text));
            }
            (Some(contents), Dialect::Seven) => {
                let object = contents.to_json().map_err(|why| unwritable(&why))?;
                entry.insert("template_contents".to_owned(), object);
            }
            // Its name alone keeps the place of a role that stays as it is.
            (None, _) if by_place => {}
            (None, _) => continue,
        }
        roles.push(Value::Object(entry));
    }
    Ok(json!({ "name": name, "roles": roles }))
}

fn unwritable(why: &Unwritable) -> NebulaError {
    NebulaError::refused(ONEFLOW, NebulaErrorKind::Api, &why.to_string())
}
