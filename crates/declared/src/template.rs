//! The name of the resource of an operation, made of its params.

use serde_json::{Map, Value};

use crate::params::Params;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template(Vec<TemplatePart>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Param(String),
    Tenant,
}

impl Template {
    pub(crate) fn parse(text: &str, params: &Params) -> Result<Template, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) = after.split_once('}').ok_or("resource has a { without a }")?;
            if !before.is_empty() {
                parts.push(TemplatePart::Text(before.to_owned()));
            }
            parts.push(if name == "tenant" {
                TemplatePart::Tenant
            } else {
                params.check_name(name).map_err(|why| format!("resource: {why}"))?;
                TemplatePart::Param(name.to_owned())
            });
            rest = behind;
        }
        if !rest.is_empty() {
            parts.push(TemplatePart::Text(rest.to_owned()));
        }
        Ok(Template(parts))
    }

    pub(crate) fn fill(&self, tenant: &str, params: &Map<String, Value>) -> Result<String, String> {
        let part = |part: &TemplatePart| match part {
            TemplatePart::Text(text) => Ok(text.clone()),
            TemplatePart::Tenant => Ok(tenant.to_owned()),
            TemplatePart::Param(name) => match params.get(name) {
                Some(Value::String(text)) => Ok(text.clone()),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value.to_string()),
                _ => Err(format!("{name} is needed: it is a part of the name of the resource")),
            },
        };
        self.0.iter().map(part).collect()
    }
}
