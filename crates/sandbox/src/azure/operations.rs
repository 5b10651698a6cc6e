//! Operations that go on after the answer. How one ends is decided when it begins.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

use super::call_error::ArmError;
use super::endpoint::ArmReply;
use super::faults::FaultText;
use crate::delays::later;

const OPERATIONS_MAX: usize = 100_000;

#[derive(Debug, Clone)]
struct AzureOperation {
    began_at: OffsetDateTime,
    ends_at: OffsetDateTime,
    failure: Option<FaultText>,
    /// Compute tells times and a name; Network tells the state alone.
    is_talkative: bool,
}

#[derive(Debug, Default)]
pub(super) struct Operations {
    by_id: BTreeMap<String, AzureOperation>,
}

impl Operations {
    pub(super) fn begin(
        &mut self,
        began_at: OffsetDateTime,
        lasts_ms: u64,
        failure: Option<FaultText>,
        is_talkative: bool,
    ) -> String {
        // Ids ascend, so the oldest goes first.
        while self.by_id.len() >= OPERATIONS_MAX {
            self.by_id.pop_first();
        }
        let id = Uuid::now_v7().to_string();
        let ends_at = later(began_at, lasts_ms);
        self.by_id.insert(id.clone(), AzureOperation { began_at, ends_at, failure, is_talkative });
        id
    }

    pub(super) fn show(&self, id: &str, by_status: bool, now: OffsetDateTime) -> Result<ArmReply, ArmError> {
        let operation = self
            .by_id
            .get(id)
            .ok_or_else(|| ArmError::new(404, "NotFound", "the operation was not found"))?;
        let rest = u64::try_from((operation.ends_at - now).whole_seconds()).unwrap_or_default();
        let is_over = operation.ends_at <= now;
        if by_status {
            return Ok(if is_over { ArmReply::empty(200) } else { ArmReply::empty(202).retry_after(rest) });
        }
        let status = match (&operation.failure, is_over) {
            (_, false) => "InProgress",
            (None, true) => "Succeeded",
            (Some(_), true) => "Failed",
        };
        let mut body = json!({"status": status});
        if operation.is_talkative {
            body["name"] = json!(id);
            body["startTime"] = json!(moment(operation.began_at));
            if is_over {
                body["endTime"] = json!(moment(operation.ends_at));
            }
        }
        if let (Some(why), true) = (&operation.failure, is_over) {
            body["error"] = error(why);
        }
        let reply = ArmReply::new(200, body);
        Ok(if is_over { reply } else { reply.retry_after(rest) })
    }
}

/// Compute writes seven digits and the offset.
pub(super) fn moment(at: OffsetDateTime) -> String {
    let (date, time) = (at.to_utc().date(), at.to_utc().time());
    let (hour, minute, second, nano) = time.as_hms_nano();
    format!("{date}T{hour:02}:{minute:02}:{second:02}.{:07}+00:00", nano / 100)
}

fn error(why: &FaultText) -> Value {
    json!({"code": why.code, "message": why.message})
}
