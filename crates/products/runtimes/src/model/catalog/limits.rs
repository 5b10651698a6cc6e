//! What requests for a plan may ask for, and how much of it there may be.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::plan::Defaults;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanLimits {
    /// Requests choose neither the machines, nor how many there are, nor their disks.
    pub fixed_size: bool,
    /// Its clusters are in one zone, and so are additional pools.
    pub single_zone: bool,
    /// How many nodes a request may ask for.
    pub nodes: Between,
    /// How large a request may ask the disks to be.
    pub volume_gb: Between,
    /// Live bindings of one instance.
    pub bindings: u16,
    /// Instances of this plan that a global account may have at a time; absent for any number.
    pub instances_per_account: Option<u16>,
    /// The global accounts that may have instances; absent for all.
    pub accounts: Option<BTreeSet<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Between {
    pub min: i32,
    pub max: i32,
}

impl Default for PlanLimits {
    fn default() -> Self {
        PlanLimits {
            fixed_size: false,
            single_zone: false,
            nodes: Between { min: 1, max: 300 },
            volume_gb: Between { min: 20, max: 16384 },
            bindings: 10,
            instances_per_account: None,
            accounts: None,
        }
    }
}

impl PlanLimits {
    pub(crate) fn check(&self, defaults: &Defaults) -> Result<(), String> {
        let Between { min, max } = self.nodes;
        if min < 1 || max < min {
            return Err("limits.nodes: min must be at least 1, and max at least min".into());
        }
        if self.volume_gb.min < 1 || self.volume_gb.max < self.volume_gb.min {
            return Err("limits.volume_gb: min must be at least 1, and max at least min".into());
        }
        if !self.fixed_size && (defaults.min < min || defaults.max > max) {
            return Err("defaults.min and defaults.max: must be within limits.nodes".into());
        }
        if self.instances_per_account == Some(0) {
            return Err(
                "limits.instances_per_account: must be at least 1; leave it out for any number".into()
            );
        }
        Ok(())
    }

    /// Whether this global account may have instances.
    pub fn allow(&self, account: &str) -> bool {
        self.accounts.as_ref().is_none_or(|accounts| accounts.contains(account))
    }
}
