//! The parameters of an instance, read into a type. The schema of the plan has checked each one before.

mod networking;
mod oidc;
mod provisioner;
mod worker_pools;

pub use networking::{AccessControlList, Networking};
pub(crate) use oidc::merged as merged_oidc;
pub use oidc::{Oidc, OidcConfig};
pub use worker_pools::{Taint, WorkerPool};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::catalog::{CatalogPlan, Cloud};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Parameters {
    pub name: String,
    pub region: Option<String>,
    /// The cloud, in plans that offer more than one.
    pub provider: Option<String>,
    pub machine_type: Option<String>,
    pub auto_scaler_min: Option<i32>,
    pub auto_scaler_max: Option<i32>,
    pub max_surge: Option<i32>,
    pub max_unavailable: Option<i32>,
    pub zones: Option<Vec<String>>,
    pub disk_type: Option<String>,
    pub volume_size_gb: Option<i32>,
    /// On top of what the plan gives a node.
    pub additional_volume_size_gi: Option<i32>,
    pub purpose: Option<String>,
    pub target_secret: Option<String>,
    pub kyma_version: Option<String>,
    pub components: Vec<String>,
    pub administrators: Option<Vec<String>>,
    pub oidc: Option<Oidc>,
    pub networking: Option<Networking>,
    /// Beside the first pool, which has no name in a request.
    pub additional_worker_node_pools: Option<Vec<WorkerPool>>,
    pub modules: Option<Modules>,
    /// The control plane runs in the region of the nodes.
    pub colocate_control_plane: Option<bool>,
    pub ingress_filtering: Option<bool>,
    pub access_control_list: Option<AccessControlList>,
    pub gvisor: Option<Gvisor>,
    pub audit_log_access: Option<bool>,
    /// Of a cluster that the user has already.
    pub kubeconfig: Option<String>,
    pub shoot_name: Option<String>,
    pub shoot_domain: Option<String>,
}

/// Which modules of Kyma are installed: those of the plan, or those of a list, which may be empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Modules {
    pub default: Option<bool>,
    pub channel: Option<String>,
    pub list: Option<Vec<Module>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Module {
    pub name: String,
    pub channel: Option<String>,
    /// `CreateAndDelete` or `Ignore`.
    pub custom_resource_policy: Option<String>,
}

/// Whether containers run in gVisor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Gvisor {
    pub enabled: bool,
}

impl Parameters {
    /// The error names the field and repeats no value.
    pub fn read(parameters: &Map<String, Value>) -> Result<Parameters, String> {
        let read = serde_path_to_error::deserialize(Value::Object(parameters.clone()));
        read.map_err(|error| format!("parameters.{} cannot be used", error.path()))
    }

    /// What the fields mean together and in this region, which no schema says. Of those that were there before only
    /// what is new is judged: rules may be younger than an instance.
    pub fn check(
        &self,
        plan: &CatalogPlan,
        cloud: &Cloud,
        region: &str,
        old: Option<&Parameters>,
    ) -> Result<(), String> {
        fn new<'a, T: PartialEq>(value: Option<&'a T>, old: Option<&'a T>) -> Option<&'a T> {
            value.filter(|_| value != old)
        }
        let min = self.auto_scaler_min.unwrap_or(plan.defaults.min);
        let max = self.auto_scaler_max.unwrap_or(plan.defaults.max);
        if min > max {
            return Err(format!(
                "parameters.autoScalerMin: {min} is more than autoScalerMax, which is {max}; give both"
            ));
        }
        if self.max_surge == Some(0) && self.max_unavailable == Some(0) {
            return Err("parameters.maxUnavailable: cannot be 0 when maxSurge is 0".into());
        }
        let machine = old.and_then(|old| old.machine_type.as_ref());
        if let Some(machine) = new(self.machine_type.as_ref(), machine) {
            cloud.check_machine(machine, region).map_err(|rule| format!("parameters.machineType: {rule}"))?;
        }
        if self.colocate_control_plane == Some(true) && old.is_none() {
            cloud.check_control_plane(region)?;
        }
        let networking = old.and_then(|old| old.networking.as_ref());
        new(self.networking.as_ref(), networking).map_or(Ok(()), Networking::check)?;
        let list = old.and_then(|old| old.access_control_list.as_ref());
        new(self.access_control_list.as_ref(), list).map_or(Ok(()), AccessControlList::check)?;
        let oidc = old.and_then(|old| old.oidc.as_ref());
        new(self.oidc.as_ref(), oidc).map_or(Ok(()), Oidc::check)?;
        let pools = old.and_then(|old| old.additional_worker_node_pools.as_ref());
        if let Some(pools) = new(self.additional_worker_node_pools.as_ref(), pools) {
            worker_pools::check(pools, cloud, region)?;
        }
        self.modules.as_ref().map_or(Ok(()), Modules::check)?;
        old.map_or(Ok(()), |old| self.check_change(old, plan))
    }

    /// What cannot become of what is there.
    fn check_change(&self, old: &Parameters, plan: &CatalogPlan) -> Result<(), String> {
        if let (Some(Oidc::Object(_)), Some(Oidc::List { .. })) = (&self.oidc, &old.oidc) {
            return Err("parameters.oidc: this service instance has a list, which one object cannot \
                        replace; send a list"
                .into());
        }
        if (old.audit_log_access, self.audit_log_access) == (Some(true), Some(false)) {
            return Err("parameters.auditLogAccess: cannot be turned off again".into());
        }
        let (old, new) = (&old.additional_worker_node_pools, &self.additional_worker_node_pools);
        match (old, new) {
            (Some(old), Some(new)) if old != new => worker_pools::check_change(old, new, &plan.machines),
            _ => Ok(()),
        }
    }
}

impl Modules {
    fn check(&self) -> Result<(), String> {
        let list = self.list.as_deref().unwrap_or_default();
        let is_twice = |(at, module): (usize, &Module)| {
            list[..at].iter().any(|other| other.name == module.name).then_some(at)
        };
        match list.iter().enumerate().find_map(is_twice) {
            Some(at) => Err(format!("parameters.modules.list.{at}.name: is in the list already")),
            None => Ok(()),
        }
    }
}
