//! What a cluster was asked to be: its parameters over the defaults of the plan, without anything that may be a secret.

use serde_json::{Value, json};

use super::{ExistingInstance, Operators};
use crate::model::catalog::CatalogPlan;
use crate::model::{InstanceRecord, Parameters};

pub(super) struct RuntimeConfig {
    instance: InstanceRecord,
    plan: CatalogPlan,
    parameters: Parameters,
}

impl RuntimeConfig {
    /// `None` where the plan or the parameters cannot be read any longer.
    pub(super) fn of(app: &Operators, found: &ExistingInstance) -> Option<RuntimeConfig> {
        let ExistingInstance { row, instance } = found;
        let plan = app.catalog.plan(&instance.plan_id)?.on(&instance.provider).into_owned();
        let opened = instance.parameters(&app.engine.sealer(&row.tenant, &row.name)).ok()?;
        let parameters = Parameters::read(&opened).ok()?;
        Some(RuntimeConfig { instance: instance.clone(), plan, parameters })
    }

    fn machine(&self) -> &str {
        self.parameters.machine_type.as_ref().unwrap_or(&self.plan.defaults.machine)
    }

    fn nodes(&self) -> (i32, i32) {
        let (parameters, defaults) = (&self.parameters, &self.plan.defaults);
        let min = parameters.auto_scaler_min.unwrap_or(defaults.min);
        (min, parameters.auto_scaler_max.unwrap_or(defaults.max))
    }

    /// In the form of a `Runtime` resource, as far as the request says it.
    pub(super) fn runtime(&self) -> Value {
        let (instance, parameters) = (&self.instance, &self.parameters);
        let (minimum, maximum) = self.nodes();
        let pools = parameters.additional_worker_node_pools.as_deref().unwrap_or_default();
        let additional: Vec<Value> = pools
            .iter()
            .map(|pool| {
                json!({"name": pool.name, "machine": {"type": pool.machine_type}, "minimum": pool.auto_scaler_min,
                       "maximum": pool.auto_scaler_max})
            })
            .collect();
        let networking = parameters.networking.clone().unwrap_or_default();
        json!({
            "metadata": {"name": instance.runtime_id},
            "spec": {
                "shoot": {
                    "name": instance.shoot, "region": instance.region, "platformRegion": instance.platform_region,
                    "enforceSeedLocation": parameters.colocate_control_plane,
                    "provider": {
                        "type": instance.provider,
                        "workers": [{"name": "cpu-worker-0", "machine": {"type": self.machine()}, "minimum": minimum,
                                     "maximum": maximum}],
                        "additionalWorkers": additional,
                    },
                    "networking": {"nodes": networking.nodes, "pods": networking.pods, "services": networking.services,
                                   "dualStack": networking.dual_stack},
                },
                "security": {"administrators": parameters.administrators},
            },
        })
    }

    pub(super) fn kyma(&self) -> Value {
        let Parameters { kyma_version, components, modules, .. } = &self.parameters;
        json!({"version": kyma_version, "components": components, "modules": modules})
    }

    pub(super) fn cluster(&self) -> Value {
        let (min, max) = self.nodes();
        json!({
            "name": self.instance.shoot, "provider": self.instance.provider, "region": self.instance.region,
            "machineType": self.machine(), "autoScalerMin": min, "autoScalerMax": max,
        })
    }
}
