//! Services: what was made from a template, and how it is doing. They are read from `oned`, where OneFlow keeps them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{
    DocumentFilter, DocumentPage, NebulaCredentials, NebulaDocument, NebulaError, NebulaErrorKind, OpenNebula,
};
use super::ONEFLOW;
use super::lenient::{DocumentEnvelope, integer, list, maybe};

/// The kind of document that OneFlow keeps for a service.
const SERVICE_DOCUMENT: i32 = 100;
/// So many services make one call: each has some kilobytes.
const PAGE: u32 = 200;
/// A page begins before the last one ended: services that end in between move all others up.
const STRIDE: u32 = 150;
/// Beyond this, looking through everything is the wrong way.
const PAGES_MAX: u32 = 300;

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
pub struct FlowService {
    pub id: i32,
    pub uid: i32,
    pub uname: String,
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
    /// The ids of its VMs, as far as there are any yet.
    pub nodes: Vec<i32>,
    pub parents: Vec<String>,
}

impl FlowService {
    pub fn has_failed(&self) -> bool {
        self.state_name().starts_with("FAILED")
    }

    pub fn state_name(&self) -> &'static str {
        usize::try_from(self.state).ok().and_then(|state| STATES.get(state)).copied().unwrap_or("UNKNOWN")
    }
}

#[derive(Deserialize)]
pub(super) struct ServiceBody {
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
    nodes: Vec<RoleNode>,
    #[serde(default, deserialize_with = "list")]
    parents: Vec<String>,
}

#[derive(Deserialize)]
struct RoleNode {
    #[serde(deserialize_with = "integer")]
    deploy_id: i32,
}

impl OpenNebula {
    pub async fn service(&self, who: &NebulaCredentials, id: i32) -> Result<FlowService, NebulaError> {
        let document = self.document(who, id).await?;
        if document.kind != SERVICE_DOCUMENT {
            let message = format!("document {id} is not a service");
            return Err(NebulaError::refused(ONEFLOW, NebulaErrorKind::NotFound, &message));
        }
        FlowService::stored(document)
            .ok_or_else(|| NebulaError::broken(ONEFLOW, format!("the body of service {id} cannot be read")))
    }

    /// Those that the caller may see, or only those that are newer than the document `after`, the newest first.
    /// What cannot be read is left out.
    pub async fn services(
        &self,
        who: &NebulaCredentials,
        whose: DocumentFilter,
        after: Option<i32>,
    ) -> Result<Vec<FlowService>, NebulaError> {
        let is_new = |document: &NebulaDocument| after.is_none_or(|after| document.id > after);
        let mut found = BTreeMap::new();
        for number in 0..PAGES_MAX {
            let page = DocumentPage { offset: number * STRIDE, size: PAGE };
            let documents = self.documents(who, whose, SERVICE_DOCUMENT, Some(page)).await?;
            let is_last = documents.len() < PAGE as usize || !goes_on(&documents, is_new);
            let services = documents.into_iter().filter(is_new).filter_map(FlowService::stored);
            found.extend(services.map(|service| (service.id, service)));
            if is_last {
                return Ok(found.into_values().rev().collect());
            }
        }
        Err(NebulaError::broken(ONEFLOW, format!("there are more than {} services", STRIDE * PAGES_MAX)))
    }

    /// Begins to take the service down. It is gone when it is not found any more.
    pub async fn delete_service(&self, who: &NebulaCredentials, id: i32) -> Result<(), NebulaError> {
        self.oneflow.delete(who, &["service", &id.to_string()]).await.map(drop)
    }

    /// Takes the service away in any state. It is known to leave VMs behind.
    pub async fn recover_delete_service(&self, who: &NebulaCredentials, id: i32) -> Result<(), NebulaError> {
        let path = ["service", &id.to_string(), "action"];
        self.oneflow.act(who, &path, "recover", &json!({ "delete": true })).await.map(drop)
    }
}

/// Whether the next page may have what is wanted. Pages begin with the newest, unless `oned` is configured otherwise.
fn goes_on(documents: &[NebulaDocument], is_new: impl Fn(&NebulaDocument) -> bool) -> bool {
    let newest_first =
        documents.first().zip(documents.last()).is_some_and(|(first, last)| first.id > last.id);
    !newest_first || documents.last().is_some_and(is_new)
}

impl FlowService {
    fn stored(document: NebulaDocument) -> Option<FlowService> {
        let NebulaDocument { id, uid, uname, name, body, .. } = document;
        Some(FlowService::of((id, uid, uname, name), serde_json::from_str(&body).ok()?))
    }

    fn of((id, uid, uname, name): (i32, i32, String, String), body: ServiceBody) -> FlowService {
        FlowService {
            id,
            uid,
            uname,
            name,
            state: body.state,
            roles: body.roles.into_iter().map(ServiceRole::from).collect(),
            log: body.log,
            started_at: body.start_time,
        }
    }
}

/// As OneFlow answers it.
impl From<DocumentEnvelope<ServiceBody>> for FlowService {
    fn from(found: DocumentEnvelope<ServiceBody>) -> FlowService {
        FlowService::of((found.id, found.uid, found.uname, found.name), found.template.body)
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
