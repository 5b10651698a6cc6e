//! Declarations as they are saved: one record for each workflow, and one for each of its versions.

use engine::secret::Sealed;
use engine::{Resource, Timestamp};
use serde::{Deserialize, Serialize};

/// The tenant of these records. It owns no operation.
pub(crate) const TENANT: &str = "workflows";

/// Where a declaration came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Api,
    /// The name of the file.
    File(String),
}

/// One workflow: what new operations begin with, and which versions there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub workflow: String,
    /// Nothing once the workflow was deleted.
    pub offered: Option<u32>,
    /// Grows for ever, also when versions are forgotten.
    pub last: u32,
    pub source: Source,
    pub secret: Sealed,
    /// Those that are kept, in ascending order.
    pub versions: Vec<VersionLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_at: Option<Timestamp>,
}

/// One version in the list of its workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionLine {
    pub version: u32,
    pub digest: String,
    pub by: String,
    pub at: Timestamp,
    /// Since when new operations begin with another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_at: Option<Timestamp>,
}

/// The content of one version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRecord {
    pub workflow: String,
    pub version: u32,
    pub digest: String,
    /// YAML or JSON, without a secret.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_at: Option<Timestamp>,
}

impl Head {
    pub(crate) fn name(workflow: &str) -> String {
        format!("workflow:{workflow}")
    }

    pub fn line(&self, version: u32) -> Option<&VersionLine> {
        self.versions.iter().find(|line| line.version == version)
    }

    /// The version that new operations begin with.
    pub fn current(&self) -> Option<&VersionLine> {
        self.line(self.offered?)
    }
}

impl VersionRecord {
    /// Two processes may be about to save different contents as the same version. Each has a name of its own, and the
    /// record of the workflow says which one counts.
    pub(crate) fn name(workflow: &str, version: u32, digest: &str) -> String {
        let digest = digest.get(..16).unwrap_or(digest);
        format!("workflow:{workflow}@{version}-{digest}")
    }

    /// As the first release of declared workflows named it.
    pub(crate) fn first_name(workflow: &str, version: u32) -> String {
        format!("workflow:{workflow}@{version}")
    }
}

impl Resource for Head {
    const KIND: &'static str = "declared_workflow";

    fn labels(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn gone_at(&self) -> Option<Timestamp> {
        self.gone_at
    }
}

impl Resource for VersionRecord {
    const KIND: &'static str = "declared_version";

    fn labels(&self) -> Vec<(&'static str, String)> {
        vec![("workflow", self.workflow.clone())]
    }

    fn gone_at(&self) -> Option<Timestamp> {
        self.gone_at
    }
}
