//! Service templates.

use serde::Deserialize;

use super::super::{DocumentFilter, NebulaCredentials, NebulaDocument, NebulaError, OpenNebula};
use super::lenient::{integer, list, maybe};

/// The kind of document that OneFlow keeps for a service template.
const SERVICE_TEMPLATE_DOCUMENT: i32 = 101;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceTemplate {
    pub id: i32,
    pub uid: i32,
    pub gid: i32,
    pub uname: String,
    pub gname: String,
    pub name: String,
    /// `straight` makes a role wait for its parents.
    pub deployment: String,
    pub roles: Vec<TemplateRole>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateRole {
    pub name: String,
    pub vm_template: Option<i32>,
    pub dialect: Dialect,
    pub cardinality: u32,
    pub parents: Vec<String>,
}

/// How a role says from what its VMs are made, and what it takes in addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `vm_template`, and text in `vm_template_contents`. Roles are told apart by their places.
    Six,
    /// `template_id`, and an object in `template_contents`. Roles are told apart by their names.
    Seven,
}

#[derive(Deserialize)]
struct TemplateBody {
    #[serde(default)]
    deployment: String,
    #[serde(default, deserialize_with = "list")]
    roles: Vec<RoleBody>,
}

#[derive(Deserialize)]
struct RoleBody {
    name: String,
    #[serde(default, deserialize_with = "maybe")]
    vm_template: Option<i32>,
    #[serde(default, deserialize_with = "maybe")]
    template_id: Option<i32>,
    #[serde(default = "one", deserialize_with = "integer")]
    cardinality: u32,
    #[serde(default, deserialize_with = "list")]
    parents: Vec<String>,
}

fn one() -> u32 {
    1
}

impl OpenNebula {
    /// All that the caller may use, the newest first, without those that cannot be read.
    pub async fn service_templates(
        &self,
        who: &NebulaCredentials,
    ) -> Result<Vec<ServiceTemplate>, NebulaError> {
        let all = self.documents(who, DocumentFilter::All, SERVICE_TEMPLATE_DOCUMENT, None).await?;
        Ok(all.into_iter().filter_map(ServiceTemplate::stored).collect())
    }
}

impl ServiceTemplate {
    /// What a document says, if it says something that OneFlow can use.
    fn stored(document: NebulaDocument) -> Option<ServiceTemplate> {
        let NebulaDocument { id, uid, gid, uname, gname, name, body, .. } = document;
        let TemplateBody { deployment, roles } = serde_json::from_str(&body).ok()?;
        let roles = roles.into_iter().map(TemplateRole::from).collect();
        Some(ServiceTemplate { id, uid, gid, uname, gname, name, deployment, roles })
    }
}

impl From<RoleBody> for TemplateRole {
    fn from(role: RoleBody) -> TemplateRole {
        let seven = role.template_id.is_some() && role.vm_template.is_none();
        TemplateRole {
            name: role.name,
            vm_template: role.vm_template.or(role.template_id),
            dialect: if seven { Dialect::Seven } else { Dialect::Six },
            cardinality: role.cardinality,
            parents: role.parents,
        }
    }
}
