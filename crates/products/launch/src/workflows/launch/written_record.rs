//! Around every step: what it did goes into the record of the launch, so that lists need not read operations.

use engine::prelude::*;

use crate::model::record::LaunchRecord;
use crate::model::state::{LaunchError, UndoCause};
use crate::workflows::launch::Launch;

pub(crate) struct WrittenRecord {
    step: Box<dyn Step<Launch>>,
}

impl WrittenRecord {
    pub(crate) fn new(step: Box<dyn Step<Launch>>) -> WrittenRecord {
        WrittenRecord { step }
    }

    /// What the outcome says about the step. An error that the step has sorted itself is left as it is.
    fn note(&self, op: &mut Operation<Launch>, outcome: &Outcome, before: Option<&LaunchError>) {
        let name = self.step.name();
        let is_sorted = op.state.error.as_ref() != before;
        let is_known = op.state.error.as_ref().is_some_and(|error| error.step == name);
        match outcome {
            Ok(_) => {
                op.state.done.insert(name.to_owned());
                if is_known {
                    op.state.error = None;
                }
            }
            Err(Halt::Wait { .. }) if is_known && !is_sorted => op.state.error = None,
            Err(Halt::Retry { cause, .. } | Halt::Fail { cause }) if !is_known && !is_sorted => {
                op.state.error = Some(LaunchError::internal(name, cause.as_str()));
            }
            Err(_) => {}
        }
    }
}

/// Notices that an earlier round left behind are still to be sent.
const NOTICES_PENDING: &str = "portrayed.notices_pending";

/// Learns what the record holds for others. Only a launch that begins, or that goes back, can find something there that
/// it did not write itself.
async fn load_notices(op: &mut Operation<Launch>, goes_back: bool) -> Result<(), Halt> {
    let pending = op.recall_as::<bool>(NOTICES_PENDING)?;
    let may_be_there = goes_back || op.state.done.is_empty() || pending == Some(true);
    if !may_be_there || op.input.notices.is_some() {
        return Ok(());
    }
    let notices = op.subject::<LaunchRecord>().await?.map(|record| record.notices).unwrap_or_default();
    if !notices.is_empty() || pending.is_some() {
        op.remember_as(NOTICES_PENDING, &!notices.is_empty())?;
    }
    op.input.notices = Some(notices);
    Ok(())
}

/// Puts what is known now into the record.
pub(crate) fn set_record(op: &mut Operation<Launch>) -> Result<(), Halt> {
    let notices = op.input.notices.clone().unwrap_or_default();
    let record = LaunchRecord { notices, ..LaunchRecord::of(&op.params, &op.state) };
    op.set_record(&record)
}

#[async_trait]
impl Step<Launch> for WrittenRecord {
    fn name(&self) -> &str {
        self.step.name()
    }

    fn title(&self) -> &str {
        self.step.title()
    }

    fn effect(&self) -> Effect {
        self.step.effect()
    }

    fn driver(&self) -> Option<&str> {
        self.step.driver()
    }

    fn limit(&self) -> Option<Duration> {
        self.step.limit()
    }

    fn retries(&self) -> Option<RetryPolicy> {
        self.step.retries()
    }

    async fn run(&self, op: &mut Operation<Launch>) -> Outcome {
        load_notices(op, false).await?;
        let before = op.state.error.clone();
        let outcome = self.step.run(op).await;
        self.note(op, &outcome, before.as_ref());
        set_record(op)?;
        outcome
    }

    async fn undo(&self, op: &mut Operation<Launch>) -> Outcome {
        load_notices(op, true).await?;
        if op.state.undo_cause.is_none() {
            let has_failed = op.state.error.is_some();
            op.state.undo_cause = Some(if has_failed { UndoCause::Failure } else { UndoCause::Cancel });
        }
        let outcome = self.step.undo(op).await;
        set_record(op)?;
        outcome
    }

    async fn preview(&self, op: &mut Operation<Launch>) -> Result<(), Halt> {
        self.step.preview(op).await
    }
}
