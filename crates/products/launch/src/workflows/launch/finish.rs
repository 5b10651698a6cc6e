//! The last word about a launch, in the commit with which it ends or gets stuck: its final record, and the notice for
//! others.

use engine::prelude::*;
use engine::store::RecordUpdate;
use engine::{Phase, Settled};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::Launch;
use super::record::{LaunchRecord, Notice, NoticeEvent};
use crate::model::state::{LaunchError, State};
use crate::model::status::LaunchPhase;

pub(crate) fn on_settled(op: &Operation<Launch>, rest: &Settled<'_>) -> Option<RecordUpdate> {
    record(op, rest).record_update().ok()
}

fn record(op: &Operation<Launch>, rest: &Settled<'_>) -> LaunchRecord {
    let stage = stage(&op.state, rest.phase);
    let (event, at) = (event(stage), rest.at);
    let mut record = LaunchRecord::of(&op.params, &op.state);
    record.stage = stage;
    record.finished_at = Some(at);
    record.state.undo_cause = None;
    record.state.error = error(&op.state, stage, rest);
    // Nothing of a launch that is over can use the key, but for instances.
    let needs_key = stage == LaunchPhase::FailedDirty || op.state.has_instances();
    record.state.key_claim = record.state.key_claim.take().filter(|_| needs_key);
    record.notices = op.input.notices.clone().unwrap_or_default();
    record.notices.push(Notice { id: notice_id(op, event, rest), event, at });
    record
}

fn stage(state: &State, phase: Phase) -> LaunchPhase {
    match phase {
        Phase::Succeeded if state.warnings.is_empty() => LaunchPhase::Succeeded,
        Phase::Succeeded => LaunchPhase::SucceededWithWarnings,
        Phase::Cancelled => LaunchPhase::Cancelled,
        Phase::Stuck => LaunchPhase::FailedDirty,
        _ if state.abandoned => LaunchPhase::Abandoned,
        _ => LaunchPhase::Failed,
    }
}

fn event(stage: LaunchPhase) -> NoticeEvent {
    match stage {
        LaunchPhase::Succeeded | LaunchPhase::SucceededWithWarnings => NoticeEvent::LaunchSuccess,
        LaunchPhase::Cancelled => NoticeEvent::LaunchCancelled,
        LaunchPhase::FailedDirty => NoticeEvent::LaunchDirty,
        _ => NoticeEvent::LaunchFailed,
    }
}

/// What the step said that failed, or what the engine says where no step did.
fn error(state: &State, stage: LaunchPhase, rest: &Settled<'_>) -> Option<LaunchError> {
    if stage.success() == Some(true) {
        return None;
    }
    let cause = rest.cause.map_or("the cause is unknown", |cause| cause.as_str());
    let step = rest.step.unwrap_or_default();
    match (&state.error, stage) {
        (_, LaunchPhase::Cancelled) => Some(LaunchError::new(step, "cancelled", cause)),
        (Some(error), _) => Some(error.clone()),
        (None, _) => Some(LaunchError::internal(step, cause)),
    }
}

/// The same for the same end, however often it is written down.
fn notice_id(op: &Operation<Launch>, event: NoticeEvent, rest: &Settled<'_>) -> Uuid {
    let mut hash = Sha256::new();
    hash.update(op.idempotency_key(event.as_str()));
    hash.update(rest.cause.map_or("", |cause| cause.as_str()));
    let digest = hash.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}
