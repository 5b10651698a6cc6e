//! Services: what was made from a template, and how it is doing.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{Credentials, NebulaError, OpenNebula};
use super::client;
use super::lenient::{All, Envelope, One, integer, list, maybe};

/// Where a service can be in its life, by number.
const STATES: [&str; 16] = [
    "PENDING",
    "DEPLOYING",
    "RUNNING",
    "UNDEPLOYING",
    "WARNING",
    "DONE",
    "FAILED_UNDEPLOYING",
    "FAILED_DEPLOYING",
    "SCALING",
    "FAILED_SCALING",
    "COOLDOWN",
    "DEPLOYING_NETS",
    "UNDEPLOYING_NETS",
    "FAILED_DEPLOYING_NETS",
    "FAILED_UNDEPLOYING_NETS",
    "HOLD",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    pub id: i32,
    pub uid: i32,
    pub name: String,
    pub state: i32,
    pub roles: Vec<ServiceRole>,
    /// What OneFlow says about it, as it says it.
    pub log: Value,
    /// In seconds since 1970.
    pub started_at: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceRole {
    pub name: String,
    pub state: i32,
    pub cardinality: u32,
    /// The ids of its machines, as far as there are any yet.
    pub nodes: Vec<i32>,
    pub parents: Vec<String>,
}

impl Service {
    pub fn has_failed(&self) -> bool {
        self.state_name().starts_with("FAILED")
    }

    pub fn state_name(&self) -> &'static str {
        usize::try_from(self.state).ok().and_then(|state| STATES.get(state)).copied().unwrap_or("UNKNOWN")
    }
}

#[derive(Deserialize)]
pub(super) struct Body {
    #[serde(deserialize_with = "integer")]
    state: i32,
    #[serde(default, deserialize_with = "list")]
    roles: Vec<RoleBody>,
    #[serde(default)]
    log: Value,
    #[serde(default, deserialize_with = "maybe")]
    start_time: Option<i64>,
}

#[derive(Deserialize)]
struct RoleBody {
    name: String,
    #[serde(default, deserialize_with = "integer")]
    state: i32,
    #[serde(default, deserialize_with = "integer")]
    cardinality: u32,
    #[serde(default, deserialize_with = "list")]
    nodes: Vec<Node>,
    #[serde(default, deserialize_with = "list")]
    parents: Vec<String>,
}

#[derive(Deserialize)]
struct Node {
    #[serde(deserialize_with = "integer")]
    deploy_id: i32,
}

impl OpenNebula {
    pub async fn service(&self, who: &Credentials, id: i32) -> Result<Service, NebulaError> {
        let reply = self.oneflow.get(who, &["service", &id.to_string()]).await?;
        let one: One<Envelope<Body>> = client::json(&reply)?;
        Ok(one.document.into())
    }

    /// All that the caller may see, the newest first.
    pub async fn services(&self, who: &Credentials) -> Result<Vec<Service>, NebulaError> {
        let all: All<Envelope<Body>> = client::json(&self.oneflow.get(who, &["service"]).await?)?;
        Ok(all.pool.documents.into_iter().map(Service::from).collect())
    }

    /// Begins to take the service down. It is gone when it is not found any more.
    pub async fn delete_service(&self, who: &Credentials, id: i32) -> Result<(), NebulaError> {
        self.oneflow.delete(who, &["service", &id.to_string()]).await.map(drop)
    }

    /// Takes the service away in any state. It is known to leave machines behind.
    pub async fn recover_delete_service(&self, who: &Credentials, id: i32) -> Result<(), NebulaError> {
        let path = ["service", &id.to_string(), "action"];
        self.oneflow.act(who, &path, "recover", &json!({ "delete": true })).await.map(drop)
    }
}

impl From<Envelope<Body>> for Service {
    fn from(found: Envelope<Body>) -> Service {
        let body = found.template.body;
        Service {
            id: found.id,
            uid: found.uid,
            name: found.name,
            state: body.state,
            roles: body.roles.into_iter().map(ServiceRole::from).collect(),
            log: body.log,
            started_at: body.start_time,
        }
    }
}

impl From<RoleBody> for ServiceRole {
    fn from(role: RoleBody) -> ServiceRole {
        ServiceRole {
            name: role.name,
            state: role.state,
            cardinality: role.cardinality,
            nodes: role.nodes.into_iter().map(|node| node.deploy_id).collect(),
            parents: role.parents,
        }
    }
}
