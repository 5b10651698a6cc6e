//! `PUT`: makes a resource, or changes the one of that name.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

use super::call_error::ArmError;
use super::catalog;
use super::endpoint::ArmReply;
use super::faults::{ArmMethod, AzureChance, FaultText};
use super::resource::{ArmKey, ArmKind, ArmNext, ArmResource, ArmStage};
use super::world::AzureState;
use crate::delays::later;

const TAGS_MAX: usize = 50;

/// The parts of a body that all resources have.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct PutBody {
    pub(super) location: Option<String>,
    #[serde(default)]
    pub(super) tags: Option<BTreeMap<String, String>>,
    #[serde(default)]
    pub(super) sku: Option<Value>,
    #[serde(default)]
    pub(super) properties: Option<Value>,
}

/// A resource that is about to be made.
pub(super) struct NewResource<'a> {
    pub(super) key: &'a ArmKey,
    pub(super) location: &'a str,
    pub(super) body: &'a PutBody,
    pub(super) now: OffsetDateTime,
}

/// What follows from making it.
pub(super) struct Making {
    pub(super) properties: Value,
    pub(super) lasts_ms: u64,
    pub(super) failure: Option<FaultText>,
    /// It is ready with the answer, and no operation is named.
    pub(super) at_once: bool,
}

pub(super) fn put(
    state: &mut AzureState,
    key: &ArmKey,
    name: &str,
    body: &Value,
    only_if_new: bool,
    now: OffsetDateTime,
) -> Result<ArmReply, ArmError> {
    let body: PutBody = serde_json::from_value(body.clone())
        .map_err(|error| ArmError::new(400, "InvalidRequestContent", error.to_string()))?;
    check(state, key, &body, now)?;
    let existing = state.resources.get(key);
    if only_if_new && existing.is_some() {
        return Err(ArmError::new(412, "PreconditionFailed", "the resource exists already"));
    }
    if existing.is_some_and(|one| one.stage == ArmStage::Deleting) {
        return Err(ArmError::new(409, "AnotherOperationInProgress", "the resource is being deleted"));
    }
    let location = body.location.as_deref().unwrap_or_default().to_ascii_lowercase();
    if !catalog::is_location(&location) {
        let message = format!("the location '{location}' is not available");
        return Err(ArmError::new(400, "LocationNotAvailableForResourceType", message));
    }
    if existing.is_some_and(|one| one.location != location) {
        return Err(ArmError::new(409, "InvalidResourceLocation", "the resource is in another location"));
    }
    let new = NewResource { key, location: &location, body: &body, now };
    let made = match key.kind {
        ArmKind::Group => Making { properties: json!({}), lasts_ms: 0, failure: None, at_once: true },
        ArmKind::Vm => state.make_vm(&new)?,
        ArmKind::Disk | ArmKind::Image => {
            return Err(ArmError::new(405, "MethodNotAllowed", "the sandbox makes none by this call"));
        }
        _ => state.make_network(&new)?,
    };
    Ok(state.keep(&new, name, made))
}

/// What holds for resources of all kinds.
fn check(state: &AzureState, key: &ArmKey, body: &PutBody, now: OffsetDateTime) -> Result<(), ArmError> {
    state.subscriptions.require_writable(&key.subscription)?;
    let action = match key.kind {
        ArmKind::Group => "Microsoft.Resources/subscriptions/resourceGroups/write".to_owned(),
        kind => format!("{}/write", kind.path()),
    };
    state.subscriptions.require_allowed(&key.subscription, &action)?;
    if state.controls.policy_denies.contains(&key.kind) {
        let message = format!("the {} was disallowed by policy", key.kind.name());
        return Err(ArmError::new(403, "RequestDisallowedByPolicy", message));
    }
    let tags = body.tags.iter().flatten();
    let is_bad = |(name, value): (&String, &String)| {
        name.chars().count() > 512 || name.contains(|c| "<>%&\\?/".contains(c)) || value.chars().count() > 256
    };
    if tags.clone().count() > TAGS_MAX || tags.clone().any(is_bad) {
        return Err(ArmError::new(400, "InvalidTagName", "a tag does not fit"));
    }
    if key.kind != ArmKind::Group {
        state.subscriptions.require_registered(&key.subscription, key.kind.namespace(), now)?;
        state.require_group(key)?;
    }
    Ok(())
}

impl AzureState {
    /// The group of a resource, alive.
    pub(super) fn require_group(&self, key: &ArmKey) -> Result<(), ArmError> {
        match self.resources.get(&key.group_key()) {
            None => Err(ArmError::no_group(&key.group)),
            Some(group) if group.stage == ArmStage::Deleting => {
                let message = format!("the resource group '{}' is in deprovisioning state", key.group);
                Err(ArmError::new(409, "ResourceGroupBeingDeleted", message))
            }
            Some(_) => Ok(()),
        }
    }

    fn keep(&mut self, new: &NewResource<'_>, name: &str, made: Making) -> ArmReply {
        let existing = self.resources.get(new.key);
        let status = if existing.is_some() { 200 } else { 201 };
        let next = match &made.failure {
            _ if made.at_once => None,
            None => Some(ArmNext::Succeed),
            Some(why) if why.code == "OSProvisioningTimedOut" => Some(ArmNext::RunLate(why.clone())),
            Some(why) => Some(ArmNext::Fail(why.clone())),
        };
        let group = match new.key.kind {
            ArmKind::Group => name.to_owned(),
            _ => self.resources.get(&new.key.group_key()).map(|one| one.name.clone()).unwrap_or_default(),
        };
        let address = match existing {
            Some(one) => one.address,
            None => self.new_address(new.key, name),
        };
        let existing = self.resources.get(new.key);
        let resource = ArmResource {
            key: new.key.clone(),
            group: existing.map_or(group, |one| one.group.clone()),
            name: existing.map_or_else(|| name.to_owned(), |one| one.name.clone()),
            location: new.location.to_owned(),
            tags: new.body.tags.clone().unwrap_or_default(),
            sku: new.body.sku.clone(),
            properties: made.properties,
            etag: Uuid::now_v7(),
            created_at: existing.map_or(new.now, |one| one.created_at),
            stage: if made.at_once { ArmStage::Succeeded } else { ArmStage::Creating },
            failure: None,
            next: next.map(|next| (later(new.now, made.lasts_ms), next)),
            address,
            reserved: existing.and_then(|one| one.reserved.clone()),
        };
        self.insert(resource.clone());
        let body = self.view(&resource, None);
        if made.at_once {
            return ArmReply::new(status, body);
        }
        let is_compute = new.key.kind.is_compute();
        let id = self.operations.begin(new.now, made.lasts_ms, made.failure, is_compute);
        let url = self.operation_url(new.key, new.location, &id);
        ArmReply::new(status, body).header("azure-asyncoperation", url).retry_after(made.lasts_ms / 1000)
    }

    fn new_address(&self, key: &ArmKey, name: &str) -> Option<std::net::Ipv4Addr> {
        use super::faults::AzureFaultKind::NoAddress;
        let chance = AzureChance { method: ArmMethod::Put, kind: Some(key.kind), name };
        if key.kind != ArmKind::PublicIp || self.faults.hits(NoAddress, &chance).is_some() {
            return None;
        }
        self.network.lease()
    }

    pub(super) fn operation_url(&self, key: &ArmKey, location: &str, id: &str) -> String {
        let ArmKey { subscription, kind, .. } = key;
        let (base, namespace) = (&self.base_url, kind.namespace());
        format!(
            "{base}/subscriptions/{subscription}/providers/{namespace}/locations/{location}/operations/{id}\
             ?api-version=2024-07-01"
        )
    }
}
