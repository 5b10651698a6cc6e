//! One build, and how it stands at a moment.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

use super::admission::{Admitted, UploadTarget};
use super::delay_times::BuildDelays;
use crate::delays::later;

/// How many pieces of work building has.
const TOTAL: u64 = 7;
/// Where images are made in AWS.
pub(super) const REGION: &str = "us-east-1";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Pending,
    Building,
    Uploading,
    Registering,
    Success,
    Failure,
}

impl Status {
    pub(super) fn is_over(self) -> bool {
        matches!(self, Status::Success | Status::Failure)
    }
}

/// It fails at the end of a status, with an error as Image Builder tells it.
#[derive(Debug, Clone)]
pub(super) struct BuildFailure {
    pub(super) at: Status,
    pub(super) error: Value,
}

/// A build that is held goes on building until an operator lets it go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BuildHold {
    No,
    Held,
    Released(OffsetDateTime),
}

#[derive(Debug)]
pub(super) struct Build {
    pub(super) id: Uuid,
    pub(super) org: String,
    pub(super) admitted: Admitted,
    /// As text it takes a fraction of the memory. Passwords are not in it.
    pub(super) request: String,
    pub(super) created_at: OffsetDateTime,
    pub(super) region: String,
    pub(super) delay_times: BuildDelays,
    pub(super) failure: Option<BuildFailure>,
    pub(super) hold: BuildHold,
    /// The answer leaves out what became of the upload.
    pub(super) hides_upload: bool,
    /// Taken out of the list by its owner.
    pub(super) is_hidden: bool,
    /// Image Builder has lost it.
    pub(super) is_forgotten: bool,
}

impl Build {
    pub(super) fn request(&self) -> Value {
        serde_json::from_str(&self.request).unwrap_or_default()
    }

    /// Its end, if that is known.
    pub(super) fn ends_at(&self) -> Option<OffsetDateTime> {
        self.until(self.failure.as_ref().map_or(Status::Registering, |failure| failure.at))
    }

    /// When a status ends, if that is known.
    fn until(&self, status: Status) -> Option<OffsetDateTime> {
        let pending = later(self.created_at, self.delay_times.pending_ms);
        if status == Status::Pending {
            return Some(pending);
        }
        let building = later(pending, self.delay_times.building_ms);
        let building = match self.hold {
            BuildHold::No => building,
            BuildHold::Held => return None,
            BuildHold::Released(at) => building.max(at),
        };
        let uploading = later(building, self.delay_times.uploading_ms);
        Some(match status {
            Status::Building => building,
            Status::Uploading => uploading,
            _ => later(uploading, self.delay_times.registering_ms),
        })
    }

    pub(super) fn status(&self, now: OffsetDateTime) -> Status {
        let walk = [Status::Pending, Status::Building, Status::Uploading, Status::Registering];
        for status in walk {
            if self.until(status).is_none_or(|until| now < until) {
                return status;
            }
            if self.failure.as_ref().is_some_and(|failure| failure.at == status) {
                return Status::Failure;
            }
        }
        Status::Success
    }

    /// The name of the image in AWS. The public ones begin differently.
    pub(super) fn ami(&self) -> String {
        let id = self.id.simple().to_string();
        format!("ami-0e{}", &id[id.len() - 15..])
    }

    /// The name of the image in Azure.
    fn azure_name(&self, named: Option<&str>) -> String {
        named.map_or_else(|| format!("composer-api-{}", self.id), str::to_owned)
    }

    /// The id of the image in Azure and its generation, where it goes there.
    pub(super) fn azure_image(&self) -> Option<(String, &str)> {
        let UploadTarget::Azure { image_name, group, generation } = &self.admitted.target else {
            return None;
        };
        let name = self.azure_name(image_name.as_deref());
        Some((format!("{group}/providers/Microsoft.Compute/images/{name}"), generation))
    }

    /// The answer to the question how it stands.
    pub(super) fn body(&self, now: OffsetDateTime) -> Value {
        let status = self.status(now);
        let mut image = json!({"status": status});
        if status == Status::Building {
            image["progress"] = json!({"done": self.done(now), "total": TOTAL});
        }
        if !self.hides_upload {
            image["upload_status"] = self.upload(status);
        }
        if let (Status::Failure, Some(failure)) = (status, &self.failure) {
            image["error"] = failure.error.clone();
        }
        json!({"image_status": image, "request": self.request()})
    }

    fn done(&self, now: OffsetDateTime) -> u64 {
        let since = now - later(self.created_at, self.delay_times.pending_ms);
        let since_ms = u64::try_from(since.whole_milliseconds()).unwrap_or_default();
        (1 + since_ms.saturating_mul(TOTAL) / self.delay_times.building_ms.max(1)).min(TOTAL)
    }

    pub(super) fn upload(&self, status: Status) -> Value {
        let word = match status {
            Status::Pending | Status::Building => "pending",
            Status::Uploading | Status::Registering => "running",
            Status::Success => "success",
            Status::Failure => "failure",
        };
        json!({"status": word, "type": self.admitted.target.name(), "options": self.options(status)})
    }

    fn options(&self, status: Status) -> Value {
        let is_done = status == Status::Success;
        let known = |text: String| if is_done { text } else { String::new() };
        match &self.admitted.target {
            UploadTarget::Aws { .. } => {
                json!({"ami": known(self.ami()), "region": known(self.region.clone())})
            }
            UploadTarget::Azure { image_name, .. } => {
                json!({"image_name": known(self.azure_name(image_name.as_deref()))})
            }
            UploadTarget::Gcp => {
                let name = format!("composer-api-{}", self.id);
                json!({"project_id": known("sandbox-images".into()), "image_name": known(name)})
            }
            UploadTarget::Store(_) => {
                json!({"url": known(format!("https://images.sandbox.local/{}", self.id))})
            }
        }
    }
}
