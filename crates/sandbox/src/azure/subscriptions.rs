//! Subscriptions: to which organisations they are delegated, and what the delegation allows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

use super::call_error::ArmError;
use super::login::TENANT;
use crate::delays::later;

const SUBSCRIPTIONS_MAX: usize = 10_000;
/// Where customers are.
const CUSTOMER_TENANT: &str = "c0570000-0000-4000-8000-000000000001";
/// The role that customers delegate.
const CONTRIBUTOR: &str = "b24988ac-6180-42a0-ab88-20f7382dd24c";
const SERVICES: [&str; 2] = ["microsoft.compute", "microsoft.network"];

/// What a client sends to `PUT /azure/delegations`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Delegation {
    /// All others where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subscription: Option<String>,
    orgs: Vec<String>,
    #[serde(default = "enabled")]
    state: String,
    #[serde(default = "sandbox")]
    name: String,
    /// Contributor where none are named.
    #[serde(default = "all")]
    actions: Vec<String>,
    #[serde(default = "yes")]
    registered: bool,
}

fn enabled() -> String {
    "Enabled".to_owned()
}

fn sandbox() -> String {
    "Sandbox subscription".to_owned()
}

fn all() -> Vec<String> {
    vec!["*".to_owned()]
}

fn yes() -> bool {
    true
}

impl Default for Delegation {
    fn default() -> Self {
        Delegation {
            subscription: None,
            orgs: vec!["default".to_owned()],
            state: enabled(),
            name: sandbox(),
            actions: all(),
            registered: true,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    known: BTreeMap<String, Delegation>,
    others: Delegation,
    /// Services that were registered by a call, and since when.
    registered: BTreeMap<(String, String), OffsetDateTime>,
}

impl Subscriptions {
    pub(super) fn set(&mut self, delegation: Delegation) -> Result<(), String> {
        match &delegation.subscription {
            None => self.others = delegation,
            Some(id) if Uuid::parse_str(id).is_err() => return Err("a subscription is a UUID".into()),
            Some(id) => {
                if self.known.len() >= SUBSCRIPTIONS_MAX {
                    return Err(format!("there can be at most {SUBSCRIPTIONS_MAX} subscriptions"));
                }
                self.known.insert(id.to_ascii_lowercase(), delegation);
            }
        }
        Ok(())
    }

    pub(super) fn show(&self) -> Value {
        json!({"delegations": self.known.values().chain([&self.others]).collect::<Vec<_>>()})
    }

    fn of(&self, id: &str) -> &Delegation {
        self.known.get(id).unwrap_or(&self.others)
    }

    /// One that is delegated to no organisation cannot be seen.
    pub(super) fn require(&self, id: &str) -> Result<(), ArmError> {
        if Uuid::parse_str(id).is_ok() && !self.of(id).orgs.is_empty() {
            return Ok(());
        }
        let message = format!("the subscription '{id}' could not be found");
        Err(ArmError::new(404, "SubscriptionNotFound", message))
    }

    pub(super) fn require_writable(&self, id: &str) -> Result<(), ArmError> {
        if self.of(id).state == "Enabled" {
            return Ok(());
        }
        let message = format!("the subscription '{id}' is disabled and therefore marked as read only");
        Err(ArmError::new(409, "ReadOnlyDisabledSubscription", message))
    }

    pub(super) fn body(&self, id: &str) -> Value {
        let delegation = self.of(id);
        json!({
            "id": format!("/subscriptions/{id}"),
            "subscriptionId": id,
            "tenantId": CUSTOMER_TENANT,
            "displayName": delegation.name,
            "state": delegation.state,
            "authorizationSource": "RoleBased",
            "subscriptionPolicies": {"locationPlacementId": "Public_2014-09-01", "quotaId": "EnterpriseAgreement_2014-09-01", "spendingLimit": "Off"},
            "managedByTenants": [{"tenantId": TENANT}],
        })
    }

    pub(super) fn delegations(&self, id: &str) -> Vec<Value> {
        let base = format!("/subscriptions/{id}/providers/Microsoft.ManagedServices");
        let assignment = |(number, org): (usize, &String)| {
            let name = Uuid::from_u128(number as u128 + 1);
            let definition = format!("{base}/registrationDefinitions/{name}");
            json!({
                "id": format!("{base}/registrationAssignments/{name}"),
                "name": name,
                "type": "Microsoft.ManagedServices/registrationAssignments",
                "properties": {
                    "registrationDefinitionId": definition,
                    "provisioningState": "Succeeded",
                    "registrationDefinition": {
                        "id": definition,
                        "name": name,
                        "type": "Microsoft.ManagedServices/registrationDefinitions",
                        "properties": {
                            "registrationDefinitionName": "Provisioning",
                            "description": format!("Delegated for provision-engine:{org} by its owner"),
                            "managedByTenantId": TENANT,
                            "managedByTenantName": "Sandbox",
                            "authorizations": [{"principalId": name, "roleDefinitionId": CONTRIBUTOR}],
                            "manageeTenantId": CUSTOMER_TENANT,
                            "provisioningState": "Succeeded",
                        },
                    },
                },
            })
        };
        self.of(id).orgs.iter().enumerate().map(assignment).collect()
    }

    pub(super) fn permissions(&self, id: &str) -> Vec<Value> {
        let not = ["Microsoft.Authorization/*/Delete", "Microsoft.Authorization/*/Write"];
        vec![
            json!({"actions": self.of(id).actions, "notActions": not, "dataActions": [], "notDataActions": []}),
        ]
    }

    /// Whether the delegation allows an action such as `Microsoft.Compute/virtualMachines/write`.
    pub(super) fn require_allowed(&self, id: &str, action: &str) -> Result<(), ArmError> {
        let allows = |pattern: &String| {
            let pattern = pattern.to_ascii_lowercase();
            let action = action.to_ascii_lowercase();
            match pattern.split_once('*') {
                None => pattern == action,
                Some((start, end)) => action.starts_with(start) && action.ends_with(end),
            }
        };
        if self.of(id).actions.iter().any(allows) {
            return Ok(());
        }
        let message = format!("the client does not have authorization to perform action '{action}'");
        Err(ArmError::new(403, "AuthorizationFailed", message))
    }

    fn is_registered(&self, id: &str, namespace: &str, now: OffsetDateTime) -> bool {
        let namespace = namespace.to_ascii_lowercase();
        self.of(id).registered
            || !SERVICES.contains(&namespace.as_str())
            || self.registered.get(&(id.to_owned(), namespace)).is_some_and(|since| *since <= now)
    }

    pub(super) fn require_registered(
        &self,
        id: &str,
        namespace: &str,
        now: OffsetDateTime,
    ) -> Result<(), ArmError> {
        if self.is_registered(id, namespace, now) {
            return Ok(());
        }
        let message = format!("the subscription is not registered to use namespace '{namespace}'");
        let code = "MissingSubscriptionRegistration";
        Err(ArmError::caused(409, code, code, message).about(namespace))
    }

    pub(super) fn register(&mut self, id: &str, namespace: &str, now: OffsetDateTime, lasts_ms: u64) {
        let key = (id.to_owned(), namespace.to_ascii_lowercase());
        self.registered.entry(key).or_insert_with(|| later(now, lasts_ms));
    }

    pub(super) fn service(&self, id: &str, namespace: &str, now: OffsetDateTime) -> Value {
        let is_known = self.registered.contains_key(&(id.to_owned(), namespace.to_ascii_lowercase()));
        let state = match (self.is_registered(id, namespace, now), is_known) {
            (true, _) => "Registered",
            (false, true) => "Registering",
            (false, false) => "NotRegistered",
        };
        let path = format!("/subscriptions/{id}/providers/{namespace}");
        json!({
            "id": path, "namespace": namespace, "authorizations": [], "resourceTypes": [],
            "registrationState": state, "registrationPolicy": "RegistrationRequired",
        })
    }
}
