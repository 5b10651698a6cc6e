//! How a resource changes: only fields that are ours, over what is there.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::spec::issuers;
use super::workers::Workers;
use crate::backend::ClusterChange;
use crate::model::catalog::{CatalogPlan, Cloud};
use crate::model::parameters::Parameters;

/// What a change asks for, without what the resource holds.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SpecChange {
    /// A merge patch of the first worker.
    pub(super) worker: Map<String, Value>,
    /// The other pools as they are to be, where they change.
    pub(super) pools: Option<Box<PoolChange>>,
    /// A merge patch of the spec without its workers.
    pub(super) spec: Value,
    pub(super) labels: BTreeMap<String, Option<String>>,
}

#[derive(Debug, PartialEq)]
pub(super) struct PoolChange {
    parameters: Parameters,
    plan: PlanOfPools,
}

/// What the pools are made of. Plans are equal by their id.
#[derive(Debug)]
struct PlanOfPools {
    plan: CatalogPlan,
    cloud: Cloud,
}

impl PartialEq for PlanOfPools {
    fn eq(&self, other: &PlanOfPools) -> bool {
        self.plan.id == other.plan.id
    }
}

impl SpecChange {
    pub(super) fn is_empty(&self) -> bool {
        self.worker.is_empty() && self.pools.is_none() && self.spec.is_null() && self.labels.is_empty()
    }

    pub(super) fn of(change: ClusterChange<'_>, cloud: &Cloud) -> SpecChange {
        let ClusterChange { plan, old_plan, old, new, account, .. } = change;
        let mut asked =
            SpecChange { worker: worker(change, cloud), spec: spec(change), ..SpecChange::default() };
        if new.additional_worker_node_pools.is_some()
            && old.additional_worker_node_pools != new.additional_worker_node_pools
        {
            let plan = PlanOfPools { plan: plan.clone(), cloud: cloud.clone() };
            asked.pools = Some(Box::new(PoolChange { parameters: new.clone(), plan }));
        }
        let mut label = |name: &str, value: &str| {
            asked.labels.insert(format!("kyma-project.io/{name}"), Some(value.to_owned()));
        };
        if plan.id != old_plan {
            label("broker-plan-id", &plan.id);
            label("broker-plan-name", &plan.name);
        }
        if let Some(account) = account {
            label("global-account-id", account);
        }
        asked
    }

    /// The merge patch that makes the change on the spec that was read. Lists are replaced whole, so the workers are
    /// taken from there and only our fields change.
    pub(super) fn patch(&self, current: &Value) -> Value {
        let mut patch = self.spec.clone();
        let (shoot, mut workers) = (&current["shoot"], current["shoot"]["provider"]["workers"].clone());
        if let Some(first) = workers.get_mut(0).filter(|_| !self.worker.is_empty()) {
            infrastructure_manager::merge(first, &Value::Object(self.worker.clone()));
            patch["shoot"]["provider"]["workers"] = workers;
        }
        if let Some(pools) = &self.pools {
            let region = shoot["region"].as_str().unwrap_or_default();
            let PlanOfPools { plan, cloud } = &pools.plan;
            let made = Workers { plan, cloud, region };
            let made = made.additional(&pools.parameters, &shoot["provider"]["additionalWorkers"]);
            patch["shoot"]["provider"]["additionalWorkers"] = json!(made);
        }
        patch
    }

    /// The request for people, without what only the resource knows.
    pub(super) fn shown(&self, name: &str) -> Value {
        let pools =
            self.pools.as_ref().and_then(|pools| pools.parameters.additional_worker_node_pools.as_ref());
        json!({
            "method": "PATCH",
            "kind": "Runtime",
            "name": name,
            "labels": &self.labels,
            "spec": &self.spec,
            "worker": &self.worker,
            "additionalWorkers": pools,
        })
    }
}

fn worker(change: ClusterChange<'_>, cloud: &Cloud) -> Map<String, Value> {
    let ClusterChange { plan, old_plan, old, new, versions, .. } = change;
    let mut worker = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        worker.extend(value.map(|value| (name.to_owned(), value)));
    };
    let changes_plan = plan.id != old_plan;
    let of_plan = || changes_plan.then(|| plan.defaults.machine.clone());
    let kind = new.machine_type.clone().or_else(of_plan);
    let kind = kind.filter(|_| changes_plan || old.machine_type != new.machine_type);
    let mut machine = kind.map_or(Value::Null, |kind| json!({"type": cloud.machine(&kind)}));
    if let Some(name) = versions.and_then(|versions| versions.machine_image.as_ref()) {
        machine["image"]["name"] = json!(name);
    }
    if let Some(version) = versions.and_then(|versions| versions.machine_image_version.as_ref()) {
        machine["image"]["version"] = json!(version);
    }
    put("machine", Some(machine).filter(|machine| !machine.is_null()));
    put("minimum", changed(old.auto_scaler_min.as_ref(), new.auto_scaler_min.as_ref()));
    put("maximum", changed(old.auto_scaler_max.as_ref(), new.auto_scaler_max.as_ref()));
    put("maxSurge", changed(old.max_surge.as_ref(), new.max_surge.as_ref()));
    put("maxUnavailable", changed(old.max_unavailable.as_ref(), new.max_unavailable.as_ref()));
    if let Some(more) =
        new.additional_volume_size_gi.filter(|more| old.additional_volume_size_gi != Some(*more))
    {
        let workers = Workers { plan, cloud, region: "" };
        let size = new.volume_size_gb.or(plan.defaults.volume_gb);
        put("volume", workers.volume(size, new.disk_type.as_ref(), Some(more)));
    }
    worker
}

fn spec(change: ClusterChange<'_>) -> Value {
    let ClusterChange { old, new, versions, .. } = change;
    let mut spec = Value::Null;
    if let Some(oidc) = new.oidc.as_ref().filter(|oidc| old.oidc.as_ref() != Some(oidc)) {
        spec["shoot"]["kubernetes"]["kubeAPIServer"]["additionalOidcConfig"] = issuers(oidc);
    }
    if let Some(list) =
        new.access_control_list.as_ref().filter(|list| old.access_control_list.as_ref() != Some(list))
    {
        let acl = match list.allowed_cidrs.as_slice() {
            [] => Value::Null,
            cidrs => json!({"allowedCIDRs": cidrs}),
        };
        spec["shoot"]["kubernetes"]["kubeAPIServer"]["acl"] = acl;
    }
    if let Some(version) = versions.and_then(|versions| versions.kubernetes.as_ref()) {
        spec["shoot"]["kubernetes"]["version"] = json!(version);
    }
    if let Some(administrators) = changed(old.administrators.as_ref(), new.administrators.as_ref()) {
        spec["security"]["administrators"] = administrators;
    }
    if let Some(is_filtered) = changed(old.ingress_filtering.as_ref(), new.ingress_filtering.as_ref()) {
        spec["security"]["networking"]["filter"]["ingress"]["enabled"] = is_filtered;
    }
    if (old.audit_log_access, new.audit_log_access) != (Some(true), Some(true))
        && new.audit_log_access == Some(true)
    {
        spec["auditLogAccessEnabled"] = json!(true);
    }
    spec
}

fn changed<T: PartialEq + serde::Serialize>(old: Option<&T>, new: Option<&T>) -> Option<Value> {
    if old == new { None } else { new.map(|new| json!(new)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::ClusterVersions;
    use crate::model::catalog::Catalog;

    fn unchanged<'a>(plan: &'a CatalogPlan, parameters: &'a Parameters) -> ClusterChange<'a> {
        let (old, new) = (parameters, parameters);
        ClusterChange { plan, old_plan: &plan.id, old, new, versions: None, account: None }
    }

    #[test]
    fn a_change_writes_our_fields_and_keeps_what_others_wrote() {
        let catalog = Catalog::built_in();
        let plan = catalog.plan_named("azure").unwrap();
        let old = Parameters { auto_scaler_max: Some(5), ..Parameters::default() };
        let new = Parameters { auto_scaler_max: Some(7), ..old.clone() };
        let same = unchanged(plan, &old);
        assert!(SpecChange::of(same, &Cloud::default()).is_empty());
        let asked = SpecChange::of(ClusterChange { new: &new, ..same }, &Cloud::default());
        let current = json!({"shoot": {"name": "s", "provider": {"type": "azure", "workers": [
            {"name": "cpu-worker-0", "maximum": 5, "zones": ["1"], "annotations": {"of": "another"}}]}}});
        assert_eq!(
            asked.patch(&current),
            json!({"shoot": {"provider": {"workers": [
                {"name": "cpu-worker-0", "maximum": 7, "zones": ["1"], "annotations": {"of": "another"}}]}}})
        );
    }

    #[test]
    fn an_upgrade_changes_versions_alone() {
        let catalog = Catalog::built_in();
        let plan = catalog.plan_named("azure").unwrap();
        let (parameters, versions) = (
            Parameters::default(),
            ClusterVersions {
                kubernetes: Some("1.33.1".into()),
                machine_image: None,
                machine_image_version: Some("15.6".into()),
            },
        );
        let change = ClusterChange { versions: Some(&versions), ..unchanged(plan, &parameters) };
        let asked = SpecChange::of(change, &Cloud::default());
        let current = json!({"shoot": {"provider": {"workers": [
            {"name": "w", "machine": {"type": "m", "image": {"name": "gardenlinux", "version": "1"}}}]}}});
        assert_eq!(
            asked.patch(&current),
            json!({"shoot": {"kubernetes": {"version": "1.33.1"}, "provider": {"workers": [
                {"name": "w", "machine": {"type": "m", "image": {"name": "gardenlinux", "version": "15.6"}}}]}}})
        );
        assert!(asked.labels.is_empty());
    }

    #[test]
    fn a_list_that_is_emptied_is_removed() {
        use crate::model::parameters::AccessControlList;
        let catalog = Catalog::built_in();
        let plan = catalog.plan_named("azure").unwrap();
        let with = |cidrs: &[&str]| Parameters {
            access_control_list: Some(AccessControlList {
                allowed_cidrs: cidrs.iter().map(|&cidr| cidr.to_owned()).collect(),
            }),
            ..Parameters::default()
        };
        let (old, new) = (with(&["10.0.0.0/8"]), with(&[]));
        let asked = SpecChange::of(ClusterChange { new: &new, ..unchanged(plan, &old) }, &Cloud::default());
        assert_eq!(
            asked.patch(&Value::Null),
            json!({"shoot": {"kubernetes": {"kubeAPIServer": {"acl": null}}}})
        );
    }
}
