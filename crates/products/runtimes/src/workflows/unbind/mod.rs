//! `runtime.unbind`: takes credentials back. Their token stops working at once, not when it would have expired.

mod close;
mod remove_account;

use engine::prelude::*;
use utoipa::ToSchema;

use crate::clients::Clients;
use crate::model::UNBIND;
use crate::model::cluster_access::ClusterAccess;

pub struct Unbind;

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The service instance.
    pub instance_id: String,
    /// The binding whose credentials are taken back.
    pub binding_id: String,
    /// The runtime at the Provisioner. Nothing where it is gone, and the account with it.
    #[serde(default)]
    pub runtime_id: Option<String>,
    /// The global account of the instance.
    pub account: String,
    /// The subaccount of the instance.
    pub subaccount: String,
}

impl Workflow for Unbind {
    const KIND: &'static str = UNBIND;
    const ABOUT: &'static str = "Deletes the credentials of a binding.";
    type Params = Params;
    type State = ();
    type Input = ();

    fn schema() -> serde_json::Value {
        api::json_schema::<Params>()
    }
}

/// The table of steps and weights.
pub fn plan(clients: &Clients) -> Plan<Unbind> {
    let access = ClusterAccess::new(clients);
    Plan::new(OnFailure::Leave)
        .step_when(|op| op.params.runtime_id.is_some(), 10, remove_account::RemoveAccount { access })
        .step(20, close::Close)
}
