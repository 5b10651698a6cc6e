//! Operations: what Compute Engine is doing, and how it ended.

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::catalog::LINK;
use super::faults::GceFailure;
use super::instances::GcePlace;

#[derive(Debug)]
pub(super) struct GceOperation {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) project: String,
    pub(super) zone: String,
    pub(super) kind: &'static str,
    /// The part of the link behind the zone.
    pub(super) target: String,
    pub(super) user: String,
    pub(super) request_id: Option<String>,
    pub(super) group: Option<String>,
    pub(super) begun_at: OffsetDateTime,
    pub(super) done_at: Option<OffsetDateTime>,
    pub(super) errors: Vec<GceFailure>,
    pub(super) bulk: Option<BulkProgress>,
}

/// How far a bulk call is.
#[derive(Debug, Clone, Default)]
pub(super) struct BulkProgress {
    pub(super) names: Vec<String>,
    pub(super) least: usize,
    pub(super) created: usize,
    pub(super) deleted: usize,
    pub(super) failed: usize,
    /// What was made, and may have to be taken back.
    pub(super) made: Vec<(GcePlace, u64)>,
    pub(super) is_rolling_back: bool,
}

impl GceOperation {
    pub(super) fn is_done(&self) -> bool {
        self.done_at.is_some()
    }

    pub(super) fn show(&self) -> Value {
        let (project, zone) = (&self.project, &self.zone);
        let site = format!("{LINK}/projects/{project}/zones/{zone}");
        let mut shown = json!({
            "kind": "compute#operation",
            "id": self.id.to_string(),
            "name": self.name,
            "operationType": self.kind,
            "status": if self.is_done() { "DONE" } else { "RUNNING" },
            "progress": if self.is_done() { 100 } else { 0 },
            "user": self.user,
            "zone": site,
            "targetLink": format!("{site}/{}", self.target),
            "targetId": (self.id + 1).to_string(),
            "insertTime": moment(self.begun_at),
            "startTime": moment(self.begun_at),
            "selfLink": format!("{site}/operations/{}", self.name),
        });
        if let Some(request_id) = &self.request_id {
            shown["clientOperationId"] = request_id.as_str().into();
        }
        if let Some(group) = &self.group {
            shown["operationGroupId"] = group.as_str().into();
        }
        if let Some(at) = self.done_at {
            shown["endTime"] = moment(at).into();
        }
        if self.is_done() && !self.errors.is_empty() {
            let errors = self.errors.iter().map(|one| json!({"code": one.code, "message": one.message}));
            shown["error"] = json!({"errors": errors.collect::<Vec<Value>>()});
            shown["httpErrorStatusCode"] = status_of(&self.errors[0].code).into();
            shown["httpErrorMessage"] = self.errors[0].code.as_str().into();
        }
        if let Some(bulk) = &self.bulk {
            shown["instancesBulkInsertOperationMetadata"] = self.progress(bulk);
        }
        shown
    }

    fn progress(&self, bulk: &BulkProgress) -> Value {
        let status = match (self.is_done(), bulk.is_rolling_back) {
            (true, _) => "DONE",
            (false, true) => "ROLLING_BACK",
            (false, false) => "CREATING",
        };
        json!({"perLocationStatus": {format!("zones/{}", self.zone): {
            "status": status,
            "targetVmCount": bulk.names.len(),
            "createdVmCount": bulk.created,
            "deletedVmCount": bulk.deleted,
            "failedToCreateVmCount": bulk.failed,
        }}})
    }
}

fn status_of(code: &str) -> u16 {
    match code {
        "ZONE_RESOURCE_POOL_EXHAUSTED" | "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS" => 503,
        "QUOTA_EXCEEDED" | "PERMISSIONS_ERROR" => 403,
        "RESOURCE_ALREADY_EXISTS" => 409,
        "RESOURCE_NOT_FOUND" => 404,
        "INVALID_FIELD_VALUE" | "INVALID_USAGE" => 400,
        _ => 500,
    }
}

pub(super) fn moment(at: OffsetDateTime) -> String {
    at.format(&Rfc3339).unwrap_or_default()
}
