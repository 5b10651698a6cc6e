//! How much there is: room for instances, and how many calls and bulk calls a project may make.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::call_error::GceError;

const LIMITS_MAX: usize = 1000;

/// So many instances of a zone or machine type can live at once, whosever they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GceCapacity {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) zone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) machine_type: Option<String>,
    /// None takes the limit away.
    pub(super) instances: Option<usize>,
    /// The call itself is refused. Otherwise it fails in its operation.
    #[serde(default)]
    pub(super) at_once: bool,
}

impl GceCapacity {
    pub(super) fn covers(&self, zone: &str, machine_type: &str) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
        is(&self.zone, zone) && is(&self.machine_type, machine_type)
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GceRate {
    /// Calls of a project in a minute, that change something and that read.
    pub(super) changes: u64,
    pub(super) reads: u64,
    /// Bulk calls of a project that are under way at once.
    pub(super) bulks: usize,
}

impl Default for GceRate {
    fn default() -> Self {
        GceRate { changes: 1500, reads: 1500, bulks: 10 }
    }
}

#[derive(Debug, Default)]
pub(super) struct GceLimits {
    pub(super) capacities: Vec<GceCapacity>,
    pub(super) rate: GceRate,
    /// Calls of this minute, by project and whether they change something.
    counted: HashMap<(String, bool), (i64, u64)>,
}

impl GceLimits {
    pub(super) fn set_capacity(&mut self, capacity: GceCapacity) -> Result<(), String> {
        let is_same =
            |other: &GceCapacity| other.zone == capacity.zone && other.machine_type == capacity.machine_type;
        self.capacities.retain(|other| !is_same(other));
        if self.capacities.len() >= LIMITS_MAX {
            return Err(format!("there can be at most {LIMITS_MAX} limits of capacity"));
        }
        if capacity.instances.is_some() {
            self.capacities.push(capacity);
        }
        Ok(())
    }

    /// Counts a call. The quota is full again when the next minute begins.
    pub(super) fn count(
        &mut self,
        project: &str,
        changes: bool,
        now: OffsetDateTime,
    ) -> Result<(), GceError> {
        let minute = now.unix_timestamp().div_euclid(60);
        let counted = self.counted.entry((project.to_owned(), changes)).or_insert((minute, 0));
        if counted.0 != minute {
            *counted = (minute, 0);
        }
        counted.1 += 1;
        let most = if changes { self.rate.changes } else { self.rate.reads };
        if counted.1 <= most {
            return Ok(());
        }
        let what = if changes { "Queries" } else { "Read requests" };
        Err(GceError::new(403, "rateLimitExceeded", format!("Rate Limit Exceeded: {what} per minute")))
    }
}
