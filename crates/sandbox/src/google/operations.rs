//! Operations: what Compute Engine is doing, and how it ended.

use axum::http::StatusCode;
use serde_json::{Value, json};
use time::{OffsetDateTime, UtcOffset};

use super::catalog::{LINK, region_of};
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
            "insertTime": moment(self.begun_at),
            "startTime": moment(self.begun_at),
            "selfLink": format!("{site}/operations/{}", self.name),
        });
        // A bulk call is about a zone, which has no number.
        if self.bulk.is_none() {
            shown["targetId"] = (self.id + 1).to_string().into();
        }
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
            let errors = self.errors.iter().map(|one| {
                json!({
                    "code": one.code, "message": one.message, "errorDetails": details(&one.code, zone),
                })
            });
            shown["error"] = json!({"errors": errors.collect::<Vec<Value>>()});
            let status = status_of(&self.errors[0].code);
            shown["httpErrorStatusCode"] = status.into();
            let words = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
            shown["httpErrorMessage"] = words.unwrap_or_default().to_ascii_uppercase().into();
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

/// What a program can read of an error.
fn details(code: &str, zone: &str) -> Value {
    if code == "QUOTA_EXCEEDED" {
        let region = region_of(zone);
        return json!([{"quotaInfo": {"metricName": "compute.googleapis.com/cpus", "limitName": "CPUS-per-project-region",
            "dimensions": {"region": region}, "limit": 0.0}}]);
    }
    let help =
        json!({"links": [{"description": "how to go on", "url": "https://cloud.google.com/compute/docs"}]});
    json!([
        {"help": help},
        {"localizedMessage": {"locale": "en-US", "message": code}},
        {"errorInfo": {"reason": "resource_availability", "domain": "compute.googleapis.com", "metadatas": {"zone": zone}}},
    ])
}

/// Compute Engine writes milliseconds, and the time of California.
pub(super) fn moment(at: OffsetDateTime) -> String {
    let at = at.to_offset(UtcOffset::from_hms(-8, 0, 0).unwrap_or(UtcOffset::UTC));
    let (hour, minute, second, milli) = at.time().as_hms_milli();
    format!("{}T{hour:02}:{minute:02}:{second:02}.{milli:03}-08:00", at.date())
}
