//! `runtime.unbind`: takes credentials back. Their token stops working at once, not when it would have expired.

mod close;
mod remove_account;

use engine::prelude::*;

use crate::clients::Clients;
use crate::model::UNBIND;
use crate::model::cluster_access::ClusterAccess;

pub struct Unbind;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    pub instance_id: String,
    pub binding_id: String,
    /// `None` where the runtime is gone, and the account with it.
    #[serde(default)]
    pub runtime_id: Option<String>,
    pub account: String,
    pub subaccount: String,
}

impl Workflow for Unbind {
    const KIND: &'static str = UNBIND;
    const ABOUT: &'static str = "Takes back the credentials of a binding.";
    type Params = Params;
    type State = ();
    type Input = ();
}

/// The table of steps and weights.
pub fn plan(clients: &Clients) -> Plan<Unbind> {
    let access = ClusterAccess::new(clients);
    Plan::new(OnFailure::Leave)
        .step_when(|op| op.params.runtime_id.is_some(), 10, remove_account::RemoveAccount { access })
        .step(20, close::Close)
}
