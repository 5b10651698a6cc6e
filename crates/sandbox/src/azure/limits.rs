//! How much there is: room for instances, and what a subscription may have of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::catalog::VmSize;

const LIMITS_MAX: usize = 1000;
/// What a subscription may have where no quota was set.
const VCPUS_DEFAULT: u64 = 10_000;

/// When a want of room shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CapacityFails {
    /// The call is refused.
    Call,
    /// The call is accepted, and its operation fails.
    #[default]
    Operation,
}

/// So many instances of a location or size can live at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AzureCapacity {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<String>,
    /// None takes the limit away.
    instances: Option<usize>,
    #[serde(default)]
    at: CapacityFails,
}

impl AzureCapacity {
    fn covers(&self, location: &str, size: &str) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(found))
        };
        is(&self.location, location) && is(&self.size, size)
    }
}

/// How many virtual CPUs a subscription may have in each location.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AzureQuota {
    /// All families together where none is named.
    #[serde(default)]
    family: Option<String>,
    /// None takes the limit away.
    vcpus: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct AzureLimits {
    capacities: Vec<AzureCapacity>,
    quotas: BTreeMap<Option<String>, u64>,
}

impl AzureLimits {
    pub(super) fn set_capacity(&mut self, capacity: AzureCapacity) -> Result<(), String> {
        self.capacities.retain(|one| one.location != capacity.location || one.size != capacity.size);
        if self.capacities.len() >= LIMITS_MAX {
            return Err(format!("there can be at most {LIMITS_MAX} limits of capacity"));
        }
        if capacity.instances.is_some() {
            self.capacities.push(capacity);
        }
        Ok(())
    }

    pub(super) fn set_quota(&mut self, quota: AzureQuota) -> Result<(), String> {
        if self.quotas.len() >= LIMITS_MAX {
            return Err(format!("there can be at most {LIMITS_MAX} quotas"));
        }
        match quota.vcpus {
            Some(vcpus) => self.quotas.insert(quota.family, vcpus),
            None => self.quotas.remove(&quota.family),
        };
        Ok(())
    }

    pub(super) fn capacities(&self) -> &[AzureCapacity] {
        &self.capacities
    }

    pub(super) fn quotas(&self) -> Vec<AzureQuota> {
        let quota = |(family, vcpus): (&Option<String>, &u64)| AzureQuota {
            family: family.clone(),
            vcpus: Some(*vcpus),
        };
        self.quotas.iter().map(quota).collect()
    }

    /// Of all families together, or of one.
    pub(super) fn quota(&self, family: Option<&str>) -> u64 {
        self.quotas.get(&family.map(str::to_owned)).copied().unwrap_or(VCPUS_DEFAULT)
    }

    /// When one more fails for want of room, if it does. `living` are those that live, by location and size.
    pub(super) fn is_full<'a>(
        &self,
        location: &str,
        size: &VmSize,
        living: &(impl Iterator<Item = (&'a str, &'a str)> + Clone),
    ) -> Option<CapacityFails> {
        let mut covering = self.capacities.iter().filter(|one| one.covers(location, size.name));
        let full = covering.find(|capacity| {
            let there = living.clone().filter(|(location, size)| capacity.covers(location, size)).count();
            capacity.instances.is_some_and(|instances| there >= instances)
        });
        full.map(|capacity| capacity.at)
    }
}
