//! How much there is: room for instances, and what an account may have of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::callers::is_account;
use super::catalog::InstanceType;

const LIMITS_MAX: usize = 1000;

/// So many instances of a region or type can live at once, whichever account has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Capacity {
    /// Everywhere together where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) region: Option<String>,
    /// All types together where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) instance_type: Option<String>,
    /// None takes the limit away.
    instances: Option<usize>,
}

impl Capacity {
    pub(super) fn covers(&self, region: &str, instance_type: &str) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
        is(&self.region, region) && is(&self.instance_type, instance_type)
    }
}

/// How many virtual CPUs an account may have in each region.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quota {
    /// Every account that has no other quota where none is named.
    #[serde(default)]
    account: Option<String>,
    /// None takes the limit away.
    vcpus: Option<usize>,
}

#[derive(Debug, Default)]
pub(super) struct AwsLimits {
    capacities: Vec<Capacity>,
    quotas: BTreeMap<Option<String>, usize>,
}

/// What lives already, as far as the limits need to know.
pub(super) struct Living<'a> {
    pub(super) region: &'a str,
    pub(super) account: &'a str,
    pub(super) kind: &'static InstanceType,
}

/// How many more instances of a kind can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) by_quota: usize,
    pub(super) by_capacity: usize,
}

impl AwsLimits {
    pub(super) fn set_capacity(&mut self, capacity: Capacity) -> Result<(), String> {
        let is_same = |other: &Capacity| {
            other.region == capacity.region && other.instance_type == capacity.instance_type
        };
        self.capacities.retain(|other| !is_same(other));
        if self.capacities.len() >= LIMITS_MAX {
            return Err(format!("there can be at most {LIMITS_MAX} limits of capacity"));
        }
        if capacity.instances.is_some() {
            self.capacities.push(capacity);
        }
        Ok(())
    }

    pub(super) fn set_quota(&mut self, quota: Quota) -> Result<(), String> {
        if quota.account.as_ref().is_some_and(|account| !is_account(account)) {
            return Err("an account has twelve digits".into());
        }
        if self.quotas.len() >= LIMITS_MAX {
            return Err(format!("there can be at most {LIMITS_MAX} quotas"));
        }
        match quota.vcpus {
            Some(vcpus) => self.quotas.insert(quota.account, vcpus),
            None => self.quotas.remove(&quota.account),
        };
        Ok(())
    }

    pub(super) fn capacities(&self) -> &[Capacity] {
        &self.capacities
    }

    pub(super) fn quotas(&self) -> Vec<Quota> {
        let quota = |(account, vcpus): (&Option<String>, &usize)| Quota {
            account: account.clone(),
            vcpus: Some(*vcpus),
        };
        self.quotas.iter().map(quota).collect()
    }

    /// The quota of an account, if it has any.
    pub(super) fn quota_of(&self, account: &str) -> Option<usize> {
        self.quotas.get(&Some(account.to_owned())).or_else(|| self.quotas.get(&None)).copied()
    }

    pub(super) fn room<'a>(
        &self,
        wanted: &Living<'_>,
        living: &(impl Iterator<Item = Living<'a>> + Clone),
    ) -> Room {
        let by_quota = self.quota_of(wanted.account).map_or(usize::MAX, |quota| {
            let is_mine = |one: &Living<'_>| one.account == wanted.account && one.region == wanted.region;
            let used: usize = living.clone().filter(is_mine).map(|one| one.kind.vcpus as usize).sum();
            quota.saturating_sub(used) / wanted.kind.vcpus as usize
        });
        let free = |capacity: &Capacity| {
            let is_there = |one: &Living<'_>| capacity.covers(one.region, one.kind.name);
            capacity.instances.unwrap_or(usize::MAX).saturating_sub(living.clone().filter(is_there).count())
        };
        let covering = self.capacities.iter().filter(|one| one.covers(wanted.region, wanted.kind.name));
        Room { by_quota, by_capacity: covering.map(free).min().unwrap_or(usize::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::catalog;
    use super::*;

    fn living(region: &'static str, account: &'static str, name: &str) -> Living<'static> {
        Living { region, account, kind: catalog::find(name).unwrap() }
    }

    fn room(limits: &AwsLimits, wanted: &Living<'_>) -> Room {
        let there = ["m5.xlarge in a", "t3.micro in b"].iter().map(|text| {
            let (name, region) = text.split_once(" in ").unwrap();
            living(region, "100000000000", name)
        });
        limits.room(wanted, &there)
    }

    #[test]
    fn the_narrowest_limit_counts() {
        let mut limits = AwsLimits::default();
        let wanted = living("a", "100000000000", "t3.micro");
        assert_eq!(room(&limits, &wanted), Room { by_quota: usize::MAX, by_capacity: usize::MAX });
        let capacity = |limits: &mut AwsLimits, json| {
            limits.set_capacity(serde_json::from_value(json).unwrap()).unwrap();
        };
        capacity(&mut limits, json!({"instances": 9}));
        capacity(&mut limits, json!({"instances": 4, "region": "a"}));
        capacity(&mut limits, json!({"instances": 5, "instance_type": "t3.micro"}));
        assert_eq!(room(&limits, &wanted).by_capacity, 3);
        capacity(&mut limits, json!({"instances": null, "region": "a"}));
        assert_eq!(room(&limits, &wanted).by_capacity, 4);
        let quota = |limits: &mut AwsLimits, json| limits.set_quota(serde_json::from_value(json).unwrap());
        quota(&mut limits, json!({"vcpus": 10})).unwrap();
        assert_eq!(room(&limits, &wanted).by_quota, 3);
        quota(&mut limits, json!({"vcpus": 5, "account": "100000000000"})).unwrap();
        assert_eq!(room(&limits, &wanted).by_quota, 0);
        assert_eq!(room(&limits, &living("b", "100000000000", "t3.micro")).by_quota, 1);
        assert!(quota(&mut limits, json!({"vcpus": 5, "account": "1"})).is_err());
    }
}
