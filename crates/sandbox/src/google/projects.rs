//! Projects: whom they belong to, whom they let in, and how much they may have.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::call_error::GceError;
use super::catalog::{self, LINK};
use super::instances::GceInstance;

/// The project that the sources of the sandbox name, and whom it belongs to.
const FIRST: (&str, &str) = ("sandbox-project-7", "default");
const ORGANISATION_LABEL: &str = "provision-engine-org";

const QUOTAS: &[(&str, u64)] = &[
    ("CPUS", 72),
    ("CPUS_ALL_REGIONS", 288),
    ("INSTANCES", 720),
    ("IN_USE_ADDRESSES", 69),
    ("N2_CPUS", 72),
    ("SSD_TOTAL_GB", 500),
    ("T2A_CPUS", 8),
];

/// What a client sends to `PUT /gcp/projects/{project}`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct GceProject {
    pub(super) labels: BTreeMap<String, String>,
    /// The service accounts that it lets in. All where none is named.
    trusted: Vec<String>,
    /// Permissions that it does not give, to no service account.
    denied: Vec<String>,
    /// The limits of metrics, where they differ.
    quotas: BTreeMap<String, u64>,
    os_login: bool,
    /// Compute Engine is not switched on.
    api_off: bool,
    no_default_network: bool,
    /// Subnetworks besides that of the default network, in every region.
    subnetworks: Vec<String>,
}

pub(super) fn first() -> BTreeMap<String, GceProject> {
    let labels = BTreeMap::from([(ORGANISATION_LABEL.to_owned(), FIRST.1.to_owned())]);
    BTreeMap::from([(FIRST.0.to_owned(), GceProject { labels, ..GceProject::default() })])
}

impl GceProject {
    pub(super) fn admit(&self, project: &str, email: &str) -> Result<(), GceError> {
        if self.api_off {
            let message = format!(
                "Compute Engine API has not been used in project {project} before or it is disabled."
            );
            return Err(GceError::new(403, "accessNotConfigured", message));
        }
        self.require(project, email, "compute.projects.get")
    }

    pub(super) fn require(&self, project: &str, email: &str, permission: &str) -> Result<(), GceError> {
        if self.trusts(email) && !self.denied.iter().any(|denied| denied == permission) {
            return Ok(());
        }
        Err(GceError::forbidden(permission, &format!("projects/{project}")))
    }

    pub(super) fn trusts(&self, email: &str) -> bool {
        self.trusted.is_empty() || self.trusted.iter().any(|trusted| trusted == email)
    }

    /// Those of the asked ones that a service account has.
    pub(super) fn granted(&self, email: &str, asked: &Value) -> Value {
        let asked = asked["permissions"].as_array().into_iter().flatten();
        let has = |one: &&Value| self.trusts(email) && !self.denied.iter().any(|denied| *one == denied);
        let granted: Vec<&Value> = asked.filter(has).collect();
        if granted.is_empty() { json!({}) } else { json!({"permissions": granted}) }
    }

    pub(super) fn limit(&self, metric: &str) -> u64 {
        let usual = QUOTAS.iter().find(|(name, _)| *name == metric).map_or(u64::MAX, |(_, limit)| *limit);
        self.quotas.get(metric).copied().unwrap_or(usual)
    }

    pub(super) fn quotas<'a>(
        &self,
        living: &(impl Iterator<Item = &'a GceInstance> + Clone),
        of_project: bool,
    ) -> Value {
        let is_here = |metric: &str| metric.ends_with("_ALL_REGIONS") == of_project;
        let quota = |(metric, _): &(&str, u64)| {
            let usage: u64 = living.clone().map(|instance| instance.uses(metric)).sum();
            #[expect(clippy::cast_precision_loss, reason = "Compute Engine has them with a decimal point")]
            let [limit, usage] = [self.limit(metric), usage].map(|number| number as f64);
            json!({"metric": metric, "limit": limit, "usage": usage})
        };
        QUOTAS.iter().filter(|(metric, _)| is_here(metric)).map(quota).collect()
    }

    pub(super) fn show(&self, project: &str, quotas: &Value) -> Value {
        let mut items = Vec::new();
        if self.os_login {
            items.push(json!({"key": "enable-oslogin", "value": "TRUE"}));
        }
        json!({
            "kind": "compute#project",
            "id": number_of(project),
            "creationTimestamp": "2024-01-21T10:30:53.390-08:00",
            "name": project,
            "commonInstanceMetadata": {"kind": "compute#metadata", "fingerprint": "3zEcGBxH6Vs=", "items": items},
            "quotas": quotas,
            "defaultServiceAccount": format!("{}-compute@developer.gserviceaccount.com", number_of(project)),
            "selfLink": format!("{LINK}/projects/{project}"),
        })
    }

    /// As the service that knows projects shows it.
    pub(super) fn resource(&self, project: &str) -> Value {
        json!({
            "name": format!("projects/{}", number_of(project)),
            "parent": "organizations/1",
            "projectId": project,
            "displayName": project,
            "state": "ACTIVE",
            "createTime": "2024-01-21T18:30:53.390Z",
            "updateTime": "2024-01-21T18:30:53.390123Z",
            "etag": "W/\"0123456789abcdef\"",
            "labels": self.labels,
        })
    }

    pub(super) fn has_network(&self, name: &str) -> bool {
        name == "default" && !self.no_default_network
    }

    pub(super) fn has_subnetwork(&self, region: &str, name: &str) -> bool {
        let is_known = self.has_network(name) || self.subnetworks.iter().any(|one| one == name);
        catalog::is_region(region) && is_known
    }
}

/// Projects have a number, too.
fn number_of(project: &str) -> String {
    let number = project.bytes().fold(7u64, |number, byte| (number * 31 + u64::from(byte)) % 1_000_000_007);
    (100_000_000_000 + number).to_string()
}
