//! `runtime.bind`: makes credentials for a runtime that work for a time and not longer.

mod issue_token;
mod make_account;

use engine::prelude::*;
use utoipa::ToSchema;

use crate::backend::RuntimeRef;
use crate::clients::Clients;
use crate::model::BIND;
use crate::model::cluster_access::ClusterAccess;

pub struct Bind;

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The service instance.
    pub instance_id: String,
    /// The new binding; its account in the cluster has this name.
    pub binding_id: String,
    /// The runtime at its back end.
    pub runtime_id: String,
    /// The global account of the instance.
    pub account: String,
    /// The subaccount of the instance.
    pub subaccount: String,
    /// How long the credentials work.
    pub expiration_seconds: u32,
}

impl Params {
    fn runtime(&self) -> RuntimeRef<'_> {
        RuntimeRef {
            account: &self.account,
            subaccount: &self.subaccount,
            instance_id: &self.instance_id,
            id: &self.runtime_id,
            uid: None,
        }
    }
}

impl Workflow for Bind {
    const KIND: &'static str = BIND;
    const ABOUT: &'static str = "Creates credentials for a runtime that expire.";
    const DEADLINE: Duration = Duration::from_hours(1);
    type Params = Params;
    type State = ();
    type Input = ();

    fn schema() -> serde_json::Value {
        api::json_schema::<Params>()
    }
}

/// The table of steps and weights.
pub fn plan(clients: &Clients) -> Plan<Bind> {
    let access = ClusterAccess::new(clients);
    Plan::new(OnFailure::Unwind)
        .step(
            10,
            make_account::MakeAccount { access: access.clone(), role: clients.runtimes.cluster_role.clone() },
        )
        .step(20, issue_token::IssueToken { access })
}
