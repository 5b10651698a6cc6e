//! Operations: what the cloud is doing, and how it ended.

use std::collections::HashMap;

use cloud::{CloudAccount, CloudError};
use engine::Timestamp;
use serde::Deserialize;

use crate::Google;
use crate::call::Call;
use crate::names::Names;
use crate::paths::Site;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Operation {
    pub(super) name: String,
    status: String,
    client_operation_id: Option<String>,
    end_time: Option<String>,
    pub(super) error: Option<OperationErrors>,
    pub(super) http_error_status_code: Option<u16>,
    pub(super) http_error_message: Option<String>,
    #[serde(default)]
    instances_bulk_insert_operation_metadata: BulkMetadata,
}

#[derive(Debug, Deserialize)]
pub(super) struct OperationErrors {
    #[serde(default)]
    pub(super) errors: Vec<OperationErrorItem>,
}

#[derive(Debug, Deserialize)]
pub(super) struct OperationErrorItem {
    #[serde(default)]
    pub(super) code: String,
    #[serde(default)]
    pub(super) message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BulkMetadata {
    per_location_status: HashMap<String, LocationStatus>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LocationStatus {
    status: String,
}

impl Operation {
    /// Also not while instances are being taken back: they are still there, and doomed.
    pub(super) fn is_done(&self) -> bool {
        let metadata = &self.instances_bulk_insert_operation_metadata;
        let is_rolling_back =
            metadata.per_location_status.values().any(|place| place.status == "ROLLING_BACK");
        self.status == "DONE" && !is_rolling_back
    }

    pub(super) fn ended_at(&self) -> Option<Timestamp> {
        self.end_time.as_deref().and_then(Timestamp::parse)
    }
}

/// The operation that a call with this request id began, if the cloud still knows it.
pub(super) async fn of_request(
    google: &Google,
    place: &CloudAccount<'_>,
    request_id: &str,
) -> Result<Option<Operation>, CloudError> {
    let filter = format!("clientOperationId=\"{request_id}\"");
    let call = Call::get(Site::of(place)?.zonal("operations")).with("filter", filter);
    let found: Vec<Operation> = google.pages(place, call).await?;
    Ok(found.into_iter().find(|operation| operation.client_operation_id.as_deref() == Some(request_id)))
}

impl Google {
    /// What is not there, or is on its way out already, needs no deletion.
    pub(super) async fn begin_deletion(
        &self,
        place: &CloudAccount<'_>,
        call: Call,
    ) -> Result<(), CloudError> {
        match self.find_one::<Operation>(place, call).await {
            Err(error) if error.code == "resourceNotReady" => Ok(()),
            answer => answer.map(drop),
        }
    }
}

/// Whether a bulk call of this launch is still making instances, whichever try began it.
pub(super) async fn is_making(
    google: &Google,
    place: &CloudAccount<'_>,
    names: &Names,
) -> Result<bool, CloudError> {
    let filter = "(operationType=\"bulkInsert\") AND (status!=\"DONE\")";
    let call = Call::get(Site::of(place)?.zonal("operations")).with("filter", filter);
    let found: Vec<Operation> = google.pages(place, call).await?;
    let is_ours = |operation: &Operation| {
        operation.client_operation_id.as_deref().is_some_and(|request_id| names.has_made(request_id))
    };
    Ok(found.iter().any(|operation| !operation.is_done() && is_ours(operation)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_taken_back_is_not_done() {
        let operation = |status, inside| -> Operation {
            serde_json::from_value(json!({
                "kind": "compute#operation", "id": "7", "name": "operation-1", "status": status,
                "instancesBulkInsertOperationMetadata": {"perLocationStatus": {"zones/us-central1-a": {
                    "status": inside, "targetVmCount": 2, "createdVmCount": 1, "deletedVmCount": 0}}},
            }))
            .unwrap()
        };
        assert!(operation("DONE", "DONE").is_done());
        assert!(!operation("DONE", "ROLLING_BACK").is_done());
        assert!(!operation("RUNNING", "CREATING").is_done());
        assert!(!operation("PENDING", "DONE").is_done());
        let plain: Operation = serde_json::from_value(json!({"name": "o", "status": "DONE"})).unwrap();
        assert!(plain.is_done());
    }
}
