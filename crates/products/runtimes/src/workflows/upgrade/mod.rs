//! `runtime.upgrade`: brings one runtime to other versions of Kubernetes, of its nodes or of Kyma.

mod keep;
mod prepare;
mod upgrade_cluster;
mod upgrade_kyma;

use engine::prelude::*;
use engine::secret::Sealer;
use serde_json::Value;
use utoipa::ToSchema;

use crate::clients::Clients;
use crate::model::UPGRADE;
use crate::model::orchestration::Change;
use crate::workflows::shared::{
    ChangeRuntime, Initialisation, Input, OnInstance, OverridesFrom, ServiceManagerOverrides, Start,
};

pub struct Upgrade;

#[derive(Debug, Serialize, Deserialize)]
pub struct Params {
    pub instance_id: String,
    #[serde(default)]
    pub change: Change,
    /// The orchestration that it belongs to, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orchestration: Option<String>,
    #[serde(default)]
    pub attempt: u32,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RequestedUpgrade {
    /// The service instance whose runtime is upgraded.
    instance_id: String,
    /// The version of Kubernetes.
    #[serde(default)]
    kubernetes_version: Option<String>,
    /// The image of the nodes.
    #[serde(default)]
    machine_image: Option<String>,
    /// The version of that image.
    #[serde(default)]
    machine_image_version: Option<String>,
    /// The version of Kyma.
    #[serde(default)]
    kyma_version: Option<String>,
}

impl Workflow for Upgrade {
    const KIND: &'static str = UPGRADE;
    const ABOUT: &'static str = "Upgrades the runtime of a service instance.";
    type Params = Params;
    type State = ();
    type Input = Input;

    fn schema() -> Value {
        api::json_schema::<RequestedUpgrade>()
    }

    fn admit(asked: Value, _: &Sealer) -> Result<Params, String> {
        let asked: RequestedUpgrade = engine::parse(asked)?;
        let change = Change {
            kubernetes_version: asked.kubernetes_version,
            machine_image: asked.machine_image,
            machine_image_version: asked.machine_image_version,
            kyma_version: asked.kyma_version,
        };
        Ok(Params { instance_id: asked.instance_id, change, orchestration: None, attempt: 0 })
    }
}

impl OnInstance for Upgrade {}

/// The table of steps and weights.
pub fn plan(clients: &Clients) -> Plan<Upgrade> {
    let runtimes = &clients.runtimes;
    let mut plan = Plan::new(OnFailure::Leave)
        .step(1, Start)
        .step(1, Initialisation::new(clients))
        .step(1, prepare::Prepare);
    for source in &clients.override_sources {
        plan = plan.step(2, OverridesFrom { source: Arc::clone(source), runtimes: Arc::clone(runtimes) });
    }
    let change_cluster = ChangeRuntime::<upgrade_cluster::UpgradeCluster>::new(clients);
    let change_kyma = ChangeRuntime::<upgrade_kyma::UpgradeKyma>::new(clients);
    plan.step(3, ServiceManagerOverrides { runtimes: Arc::clone(runtimes) })
        .step_when(|op| op.params.change.changes_cluster(), 10, change_cluster)
        .step_when(|op| op.params.change.kyma_version.is_some(), 20, change_kyma)
        .step(50, keep::Keep)
}
