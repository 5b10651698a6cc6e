//! One function of a runtime: what is asked of it, and what is seen of its VM.

use opennebula::{NebulaTemplate, VirtualMachine};

use super::fields::{self, Amounts};
use super::json::{Json, Members};
use super::state::{self, RuntimeState};

/// The role of a function in its service.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
)]
pub enum FunctionRole {
    #[serde(rename = "FAAS")]
    Faas,
    #[serde(rename = "DAAS")]
    Daas,
}

impl FunctionRole {
    pub const ALL: [FunctionRole; 2] = [FunctionRole::Faas, FunctionRole::Daas];

    pub fn as_str(self) -> &'static str {
        match self {
            FunctionRole::Faas => "FAAS",
            FunctionRole::Daas => "DAAS",
        }
    }
}

/// What a caller wants of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionSpec {
    pub flavour: String,
    pub amounts: Amounts,
}

/// What is seen of a function now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObservedFunction {
    pub vm_id: Option<i32>,
    pub state: RuntimeState,
    pub error: Option<String>,
    pub amounts: Amounts,
    pub endpoint: String,
}

impl ObservedFunction {
    pub(crate) fn of(machine: &VirtualMachine) -> ObservedFunction {
        let (state, error) = state::of(machine);
        let template = &machine.template;
        ObservedFunction {
            vm_id: Some(machine.id),
            state,
            error,
            amounts: fields::seen(template),
            endpoint: endpoint(template),
        }
    }

    /// A function whose VM is not there yet, or not any longer.
    pub(crate) fn without_machine(
        vm_id: Option<i32>,
        state: RuntimeState,
        error: Option<String>,
    ) -> ObservedFunction {
        ObservedFunction { vm_id, state, error, amounts: Amounts::new(), endpoint: String::new() }
    }

    /// Writes what is seen over what was stored.
    pub(crate) fn onto(&self, members: &mut Members) {
        if let Some(id) = self.vm_id {
            members.set("VM_ID", id);
        }
        members.set("STATE", self.state.as_str());
        for (amount, value) in &self.amounts {
            members.set(amount.member(), *value);
        }
        members.set("ENDPOINT", self.endpoint.as_str());
        match &self.error {
            Some(error) => members.set("ERROR", error.as_str()),
            None => drop(members.remove("ERROR")),
        }
    }
}

/// A number of one of our members, also where an older engine wrote it as text.
pub(crate) fn stored_id(members: &Members, name: &str) -> Option<i32> {
    members.get(name).and_then(Json::as_integer).and_then(|id| i32::try_from(id).ok())
}

/// The address of the first network card.
fn endpoint(template: &NebulaTemplate) -> String {
    let first = template.vectors("NIC").find(|nic| nic.get("NIC_ID") == Some("0"));
    let address = first.and_then(|nic| {
        ["EXTERNAL_IP", "IP6", "IP", "IP6_GLOBAL"].into_iter().find_map(|name| nic.get(name))
    });
    address.unwrap_or_default().to_owned()
}
