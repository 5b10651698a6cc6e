//! The pools of nodes of a cluster.

use serde_json::{Map, Value, json};

use crate::model::catalog::{CatalogPlan, Cloud};
use crate::model::parameters::{Gvisor, Parameters, WorkerPool};

/// The plan with one zone that is neither free nor a trial.
const LITE: &str = "azure_lite";
const MAIN: &str = "cpu-worker-0";
const VOLUME_GB: i32 = 80;
const ZONES_MAX: usize = 3;

pub(super) struct Workers<'a> {
    pub(super) plan: &'a CatalogPlan,
    pub(super) cloud: &'a Cloud,
    pub(super) region: &'a str,
}

impl Workers<'_> {
    /// The first pool, which every cluster has.
    pub(super) fn main(&self, parameters: &Parameters) -> Value {
        let defaults = &self.plan.defaults;
        let machine = parameters.machine_type.as_ref().unwrap_or(&defaults.machine);
        let zones = parameters.zones.clone().unwrap_or_else(|| self.zones(machine, true));
        let mut worker = json!({
            "name": MAIN,
            "machine": {"type": self.cloud.machine(machine)},
            "minimum": parameters.auto_scaler_min.unwrap_or(defaults.min),
            "maximum": parameters.auto_scaler_max.unwrap_or(defaults.max),
            "maxSurge": parameters.max_surge.map_or(json!(zones.len()), Value::from),
            "maxUnavailable": parameters.max_unavailable.unwrap_or(0),
            "zones": zones,
        });
        let size = parameters.volume_size_gb.or(defaults.volume_gb);
        let volume = self.volume(size, parameters.disk_type.as_ref(), parameters.additional_volume_size_gi);
        put(&mut worker, "volume", volume);
        put(&mut worker, "cri", containers(parameters.gvisor));
        worker
    }

    /// The other pools. A pool that is there keeps its zones, and what others wrote into it.
    pub(super) fn additional(&self, parameters: &Parameters, current: &Value) -> Vec<Value> {
        let pools = parameters.additional_worker_node_pools.as_deref().unwrap_or_default();
        let known = |name: &str| {
            let all = current.as_array().map(Vec::as_slice).unwrap_or_default();
            all.iter().find(|worker| worker["name"] == name)
        };
        pools.iter().map(|pool| self.pool(pool, known(&pool.name))).collect()
    }

    fn pool(&self, pool: &WorkerPool, known: Option<&Value>) -> Value {
        let zones = known.map(|known| known["zones"].clone()).filter(Value::is_array);
        let zones = zones.unwrap_or_else(|| json!(self.zones(&pool.machine_type, pool.ha_zones)));
        let mut worker = known.cloned().unwrap_or_else(|| Value::Object(Map::new()));
        let surge = zones.as_array().map_or(1, Vec::len);
        let own = json!({
            "name": pool.name,
            "machine": {"type": self.cloud.machine(&pool.machine_type)},
            "minimum": pool.auto_scaler_min,
            "maximum": pool.auto_scaler_max,
            "maxSurge": surge,
            "maxUnavailable": 0,
            "zones": zones,
        });
        infrastructure_manager::merge(&mut worker, &own);
        let volume = self.volume(self.plan.defaults.volume_gb, None, pool.additional_volume_size_gi);
        put(&mut worker, "volume", volume);
        put(&mut worker, "cri", containers(pool.gvisor));
        put(&mut worker, "labels", (!pool.labels.is_empty()).then(|| json!(pool.labels)));
        put(&mut worker, "annotations", (!pool.annotations.is_empty()).then(|| json!(pool.annotations)));
        put(&mut worker, "taints", (!pool.taints.is_empty()).then(|| json!(pool.taints)));
        worker
    }

    /// `OpenStack` has no choice of disks.
    pub(super) fn volume(
        &self,
        size: Option<i32>,
        disk: Option<&String>,
        more: Option<i32>,
    ) -> Option<Value> {
        let disk = disk.or(self.plan.defaults.disk.as_ref())?;
        let size = size.unwrap_or(VOLUME_GB).saturating_add(more.unwrap_or(0));
        Some(json!({"size": format!("{size}Gi"), "type": disk}))
    }

    fn zones(&self, machine: &str, is_spread: bool) -> Vec<String> {
        let is_single = self.plan.free || self.plan.name == LITE || !is_spread;
        let provider = self.plan.provider.as_str();
        let region = self.region;
        let usual = || match provider {
            "azure" => ["1", "2", "3"].map(str::to_owned).to_vec(),
            _ => ["a", "b", "c"].map(str::to_owned).to_vec(),
        };
        let zone = |zone: String| match provider {
            "azure" => zone,
            "gcp" | "gdch" => format!("{region}-{zone}"),
            "alicloud" if region.ends_with(|c: char| c.is_ascii_alphabetic()) => format!("{region}-{zone}"),
            _ => format!("{region}{zone}"),
        };
        let known = self.cloud.zones_of(machine, region).map(<[String]>::to_vec);
        known
            .unwrap_or_else(usual)
            .into_iter()
            .take(if is_single { 1 } else { ZONES_MAX })
            .map(zone)
            .collect()
    }
}

fn containers(gvisor: Option<Gvisor>) -> Option<Value> {
    let runs_gvisor = gvisor.is_some_and(|gvisor| gvisor.enabled);
    runs_gvisor.then(|| json!({"name": "containerd", "containerRuntimes": [{"type": "gvisor"}]}))
}

fn put(worker: &mut Value, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        worker[name] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::catalog::Catalog;

    #[test]
    fn zones_are_called_as_their_cloud_calls_them() {
        let catalog = Catalog::built_in();
        let of = |name: &str, region: &str| {
            let plan = catalog.plan_named(name).unwrap();
            let cloud = Cloud::default();
            Workers { plan, cloud: &cloud, region }.zones("m", true)
        };
        assert_eq!(of("azure", "westeurope"), ["1", "2", "3"]);
        assert_eq!(of("gcp", "europe-west3"), ["europe-west3-a", "europe-west3-b", "europe-west3-c"]);
        assert_eq!(of("aws", "eu-central-1"), ["eu-central-1a", "eu-central-1b", "eu-central-1c"]);
        assert_eq!(of("trial", "westeurope").len(), 1);
    }

    #[test]
    fn a_pool_that_is_there_keeps_its_zones_and_what_others_wrote() {
        let catalog = Catalog::built_in();
        let plan = catalog.plan_named("aws").unwrap();
        let cloud = Cloud::default();
        let workers = Workers { plan, cloud: &cloud, region: "eu-central-1" };
        let pool = |name: &str, max: i32| WorkerPool {
            name: name.into(),
            machine_type: "m6i.large".into(),
            auto_scaler_min: 1,
            auto_scaler_max: max,
            ..WorkerPool::default()
        };
        let parameters = Parameters {
            additional_worker_node_pools: Some(vec![pool("one", 7), pool("two", 2)]),
            ..Parameters::default()
        };
        let current =
            json!([{"name": "one", "maximum": 3, "zones": ["eu-central-1c"], "sysctls": {"a": "b"}}]);
        let made = workers.additional(&parameters, &current);
        assert_eq!(made[0]["zones"], json!(["eu-central-1c"]));
        assert_eq!((&made[0]["maximum"], &made[0]["sysctls"]), (&json!(7), &json!({"a": "b"})));
        assert_eq!(made[1]["zones"], json!(["eu-central-1a"]));
    }
}
