//! Pools of nodes beside the first one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::catalog::Cloud;

/// A pool that is spread over zones has a node in each.
const ZONES: usize = 3;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkerPool {
    pub name: String,
    pub machine_type: String,
    /// Spread over three zones; otherwise all of it is in one.
    pub ha_zones: bool,
    pub auto_scaler_min: i32,
    pub auto_scaler_max: i32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gvisor: Option<super::Gvisor>,
    /// On top of what the plan gives a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_volume_size_gi: Option<i32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: String,
}

fn place(at: usize, field: &str) -> String {
    format!("parameters.additionalWorkerNodePools.{at}.{field}")
}

pub(super) fn check(pools: &[WorkerPool], cloud: &Cloud, region: &str) -> Result<(), String> {
    for (at, pool) in pools.iter().enumerate() {
        let place = |field: &str| place(at, field);
        if pools[..at].iter().any(|other| other.name == pool.name) {
            return Err(format!("{}: is the name of another pool", place("name")));
        }
        if pool.auto_scaler_min > pool.auto_scaler_max {
            return Err(format!("{}: is more than autoScalerMax", place("autoScalerMin")));
        }
        let nodes_min = i32::try_from(ZONES).unwrap_or(i32::MAX);
        if pool.ha_zones && pool.auto_scaler_min < nodes_min {
            return Err(format!("{}: must be at least {ZONES} with haZones", place("autoScalerMin")));
        }
        cloud
            .check_machine(&pool.machine_type, region)
            .map_err(|rule| format!("{}: {rule}", place("machineType")))?;
        let zones = cloud.zones_of(&pool.machine_type, region);
        if pool.ha_zones && zones.is_some_and(|zones| zones.len() < ZONES) {
            return Err(format!(
                "{}: this machine type is in fewer than {ZONES} zones of the region; set it to false",
                place("haZones")
            ));
        }
        let same = |one: &Taint, other: &Taint| (&one.key, &one.effect) == (&other.key, &other.effect);
        let is_twice = |&n: &usize| pool.taints[..n].iter().any(|other| same(other, &pool.taints[n]));
        if let Some(n) = (0..pool.taints.len()).find(is_twice) {
            return Err(format!("{}.{n}: its key has this effect already", place("taints")));
        }
    }
    Ok(())
}

/// `general` are the machine types that a pool may move between.
pub(super) fn check_change(old: &[WorkerPool], new: &[WorkerPool], general: &[String]) -> Result<(), String> {
    for (at, pool) in new.iter().enumerate() {
        let Some(before) = old.iter().find(|before| before.name == pool.name) else { continue };
        if before.ha_zones != pool.ha_zones {
            return Err(format!("{}: cannot be changed; make another pool", place(at, "haZones")));
        }
        let is_general = |machine: &String| general.contains(machine);
        let moves = before.machine_type != pool.machine_type;
        if moves && !(is_general(&before.machine_type) && is_general(&pool.machine_type)) {
            return Err(format!(
                "{}: a pool moves only between {}; make another pool",
                place(at, "machineType"),
                general.join(", ")
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(name: &str, machine: &str, ha_zones: bool, (min, max): (i32, i32)) -> WorkerPool {
        WorkerPool {
            name: name.into(),
            machine_type: machine.into(),
            ha_zones,
            auto_scaler_min: min,
            auto_scaler_max: max,
            ..WorkerPool::default()
        }
    }

    fn cloud() -> Cloud {
        serde_saphyr::from_str(
            "zones: {north: [a, b, c], south: [a]}\n\
             machine_regions: {g6: {north: [x, y]}, ri: {north: []}}",
        )
        .unwrap()
    }

    #[test]
    fn pools_have_names_of_their_own_and_fit_the_region() {
        let taint =
            |key: &str, effect: &str| Taint { key: key.into(), value: "v".into(), effect: effect.into() };
        let tainted = |taints: Vec<Taint>| WorkerPool { taints, ..pool("a", "m", false, (0, 1)) };
        for (pools, region, expect) in [
            (vec![], "north", None),
            (vec![pool("a", "m", true, (3, 20)), pool("b", "m", false, (0, 1))], "north", None),
            (vec![pool("a", "ri.large", true, (3, 3))], "north", None),
            (vec![pool("a", "g6.xlarge", false, (1, 1))], "north", None),
            (vec![tainted(vec![taint("k", "NoExecute"), taint("k", "NoSchedule")])], "north", None),
            (
                vec![pool("a", "m", false, (0, 1)), pool("a", "m", true, (3, 3))],
                "north",
                Some("1.name: is the name"),
            ),
            (vec![pool("a", "m", false, (4, 3))], "north", Some("0.autoScalerMin: is more")),
            (vec![pool("a", "m", true, (2, 3))], "north", Some("0.autoScalerMin: must be at least 3")),
            (vec![pool("a", "g6.xlarge", true, (3, 3))], "north", Some("0.haZones: this machine type")),
            (
                vec![pool("a", "g6.xlarge", false, (3, 3))],
                "south",
                Some("0.machineType: is not in this region"),
            ),
            (vec![pool("a", "m", true, (3, 3))], "south", Some("0.haZones: this machine type")),
            (
                vec![tainted(vec![taint("k", "NoExecute"), taint("k", "NoExecute")])],
                "north",
                Some("0.taints.1: its key"),
            ),
        ] {
            let checked = check(&pools, &cloud(), region);
            match expect {
                None => checked.unwrap(),
                Some(part) => {
                    let error = checked.unwrap_err();
                    assert!(
                        error.starts_with("parameters.additionalWorkerNodePools.") && error.contains(part),
                        "{error}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_pool_keeps_its_zones_and_moves_between_general_machines_only() {
        let general = ["m".to_owned(), "n".to_owned()];
        let old = [pool("a", "m", true, (3, 3)), pool("gpu", "g6.xlarge", false, (1, 1))];
        for (new, expect) in [
            (pool("a", "n", true, (4, 9)), None),
            (pool("b", "g6.xlarge", false, (1, 1)), None),
            (pool("gpu", "g6.xlarge", false, (0, 3)), None),
            (pool("a", "m", false, (3, 3)), Some("0.haZones: cannot be changed")),
            (pool("a", "g6.xlarge", true, (3, 3)), Some("0.machineType: a pool moves only between m, n")),
            (pool("gpu", "m", false, (1, 1)), Some("0.machineType: a pool moves only")),
        ] {
            let checked = check_change(&old, std::slice::from_ref(&new), &general);
            assert_eq!(checked.is_err(), expect.is_some(), "{new:?}: {checked:?}");
            let error = checked.err().unwrap_or_default();
            assert!(error.contains(expect.unwrap_or_default()), "{error}");
        }
    }
}
