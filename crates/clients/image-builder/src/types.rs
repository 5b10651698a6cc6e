//! The types of builds.

use std::fmt;

use cloud::Architecture;
use engine::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// How far a build is. It moves from the first to the fifth, and from anywhere to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuildStatus {
    Pending,
    Building,
    Uploading,
    Registering,
    Success,
    Failure,
}

impl BuildStatus {
    /// Nothing follows.
    pub fn is_over(self) -> bool {
        matches!(self, BuildStatus::Success | BuildStatus::Failure)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            BuildStatus::Pending => "pending",
            BuildStatus::Building => "building",
            BuildStatus::Uploading => "uploading",
            BuildStatus::Registering => "registering",
            BuildStatus::Success => "success",
            BuildStatus::Failure => "failure",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UploadStatus {
    Pending,
    Running,
    Success,
    Failure,
}

/// Where the image went, or will go.
#[derive(Debug, Clone, PartialEq)]
pub struct Upload {
    pub status: UploadStatus,
    /// `aws`, `azure`, `gcp` and others.
    pub kind: String,
    /// The image in AWS, as soon as it has a name.
    pub ami: Option<String>,
    pub region: Option<String>,
    pub options: Value,
}

/// One build as it stands. Its request may hold activation keys, so that `Debug` leaves it out.
#[derive(Clone, PartialEq)]
pub struct Compose {
    pub status: BuildStatus,
    /// Steps done, of how many.
    pub progress: Option<(u32, u32)>,
    pub upload: Option<Upload>,
    /// Why it failed, in one line.
    pub error: Option<String>,
    pub request: Value,
    pub architecture: Option<Architecture>,
    pub image_type: Option<String>,
}

/// What can be built, by the name that a request gives.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Distribution {
    pub name: String,
    #[serde(default)]
    pub description: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DistributionArchitecture {
    /// `x86_64` or `aarch64`.
    pub arch: String,
    pub image_types: Vec<String>,
}

/// One build in the list of an organisation.
#[derive(Clone, PartialEq)]
pub struct ListedImages {
    pub id: Uuid,
    pub created_at: Timestamp,
    pub image_name: Option<String>,
    /// The description that the request gave the image.
    pub description: Option<String>,
    pub request: Value,
}

impl fmt::Debug for Compose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compose")
            .field("status", &self.status)
            .field("progress", &self.progress)
            .field("upload", &self.upload)
            .field("error", &self.error)
            .field("architecture", &self.architecture)
            .field("image_type", &self.image_type)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ListedImages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listed")
            .field("id", &self.id)
            .field("created_at", &self.created_at)
            .field("image_name", &self.image_name)
            .field("description", &self.description)
            .finish_non_exhaustive()
    }
}
