//! `runtime.provision`: prepares what the back end needs, asks it for a runtime, and waits until it is ready.
//!
//! A step that hands something to the runtime sets overrides and has a weight below that of `create_runtime`.

mod apply_kyma;
mod audit_log_overrides;
mod create_runtime;
mod fetch_dashboard;
mod fetch_kubeconfig;
mod hand_over;
mod resolve_credentials;
mod wait_for_runtime;

use engine::prelude::*;
use utoipa::ToSchema;

use crate::clients::Clients;
use crate::model::PROVISION;
use crate::workflows::shared::{
    Initialisation, Input, OnInstance, OverridesFrom, ServiceManagerOverrides, Start,
};

pub struct Provision;

#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The service instance that gets a runtime.
    pub instance_id: String,
}

/// What the steps learned.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct State {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_id: Option<String>,
    /// The operation at the Provisioner. Unknown where the runtime was found again after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioner_operation: Option<String>,
    #[serde(default)]
    pub is_running: bool,
}

impl Workflow for Provision {
    const KIND: &'static str = PROVISION;
    const ABOUT: &'static str = "Creates a runtime for a service instance.";
    type Params = Params;
    type State = State;
    type Input = Input;

    fn schema() -> serde_json::Value {
        api::json_schema::<Params>()
    }
}

impl OnInstance for Provision {}

/// The weight of the step that takes the overrides.
pub const CREATE_RUNTIME: u16 = 10;

/// The table of steps and weights.
pub fn plan(clients: &Clients) -> Plan<Provision> {
    let runtimes = &clients.runtimes;
    let mut plan = Plan::new(OnFailure::Leave)
        .step(1, Start)
        .step(1, Initialisation::new(clients))
        .step(1, resolve_credentials::ResolveCredentials::new(clients));
    for source in &clients.override_sources {
        plan = plan.step(2, OverridesFrom { source: Arc::clone(source), runtimes: Arc::clone(runtimes) });
    }
    let plan = plan
        .step(3, ServiceManagerOverrides { runtimes: Arc::clone(runtimes) })
        .step(3, audit_log_overrides::AuditLogOverrides { runtimes: Arc::clone(runtimes) })
        .step(CREATE_RUNTIME, create_runtime::CreateRuntime::new(clients))
        .step(20, wait_for_runtime::WaitForRuntime::new(clients))
        .step(25, apply_kyma::ApplyKyma::new(clients))
        .step(30, fetch_kubeconfig::FetchKubeconfig::new(clients))
        .step(40, fetch_dashboard::FetchDashboard::new(clients))
        .step(50, hand_over::HandOver { runtimes: Arc::clone(runtimes) });
    clients.external.join(plan)
}
