//! `runtime.bind`: makes credentials for a runtime that work for a time and not longer.

mod issue_token;
mod make_account;

use engine::prelude::*;

use super::BIND;
use super::cluster_access::ClusterAccess;
use crate::drivers::Drivers;

pub struct Bind;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    pub instance_id: String,
    pub binding_id: String,
    pub runtime_id: String,
    pub account: String,
    pub subaccount: String,
    pub expiration_seconds: u32,
}

impl Workflow for Bind {
    const KIND: &'static str = BIND;
    const ABOUT: &'static str = "Makes credentials for a runtime that expire.";
    const DEADLINE: Duration = Duration::from_hours(1);
    type Params = Params;
    type State = ();
    type Input = ();
}

/// The table of steps and weights.
pub fn plan(drivers: &Drivers) -> Plan<Bind> {
    let access = ClusterAccess::new(drivers);
    Plan::new(OnFailure::Unwind)
        .step(
            10,
            make_account::MakeAccount { access: access.clone(), role: drivers.runtimes.cluster_role.clone() },
        )
        .step(20, issue_token::IssueToken { access })
}
