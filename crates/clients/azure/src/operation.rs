//! Operations that go on after the answer: followed for a short while within a call, and found again by the state of
//! the resource in the next one.

use std::time::Duration;

use cloud::{CloudAccount, CloudError};
use reqwest::StatusCode;
use serde::Deserialize;

use super::Azure;
use super::arm::{ArmAnswer, ArmCall};
use super::error::{ArmErrorBody, of_operation, of_state};
use super::resource::ResourceHead;

/// A call may follow an operation for so long; network resources are ready after a few seconds.
const FOLLOW_MAX: Duration = Duration::from_secs(15);
/// Where Azure does not say when to come back. Network resources are made fast.
const FOLLOW_PAUSE: Duration = Duration::from_secs(2);
/// A server that says 0 is asked again after this time.
const PAUSE_MIN: Duration = Duration::from_millis(50);

/// Where an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readiness {
    Ready,
    /// Ask again after this time.
    Busy(Duration),
}

#[derive(Deserialize)]
struct OperationBody {
    status: String,
    #[serde(default)]
    error: Option<ArmErrorBody>,
}

/// Whether the operation has ended well. One that ended badly is its error.
fn has_succeeded(answer: &ArmAnswer) -> Result<bool, CloudError> {
    let body: OperationBody = answer.json("the state of an operation")?;
    match body.status.to_ascii_lowercase().as_str() {
        "succeeded" => Ok(true),
        "failed" | "canceled" => Err(match &body.error {
            Some(error) => of_operation(error),
            None => of_state("", "the operation failed without a reason"),
        }),
        _ => Ok(false),
    }
}

impl Azure {
    /// Follows what a call began to make, up to its end or for a short while.
    pub(super) async fn follow(
        &self,
        place: &CloudAccount<'_>,
        begun: &ArmAnswer,
        look: &ArmCall,
    ) -> Result<Readiness, CloudError> {
        if begun.operation.is_none() && begun.location.is_none() {
            let resource: ResourceHead = begun.json("a resource")?;
            if resource.is_ready() {
                return Ok(Readiness::Ready);
            }
        }
        let deadline = self.arm.clock.now().plus(FOLLOW_MAX);
        let pause_of = |after: Option<Duration>| self.pause(after.or(Some(self.poll.min(FOLLOW_PAUSE))));
        let mut pause = pause_of(begun.after);
        while self.arm.clock.now().plus(pause) < deadline {
            self.arm.clock.sleep(pause).await;
            let (is_done, after) = self.ask_state(place, begun, look).await?;
            if is_done {
                return Ok(Readiness::Ready);
            }
            pause = pause_of(after);
        }
        Ok(Readiness::Busy(pause))
    }

    async fn ask_state(
        &self,
        place: &CloudAccount<'_>,
        begun: &ArmAnswer,
        look: &ArmCall,
    ) -> Result<(bool, Option<Duration>), CloudError> {
        if let Some(url) = &begun.operation {
            let answer = self.arm.follow(place, url).await?;
            return Ok((has_succeeded(&answer)?, answer.after));
        }
        if let Some(url) = &begun.location {
            let answer = self.arm.follow(place, url).await?;
            return Ok((answer.status != StatusCode::ACCEPTED, answer.after));
        }
        let answer = self.arm.call(place, look).await?;
        let resource: ResourceHead = answer.json("a resource")?;
        if resource.has_failed() {
            return Err(of_state("", "Azure could not make the resource and gives no reason"));
        }
        Ok((resource.is_ready(), answer.after))
    }

    /// What Azure asked us to wait, or our own time between two looks.
    pub(super) fn pause(&self, after: Option<Duration>) -> Duration {
        after.map_or(self.poll, |after| after.max(PAUSE_MIN))
    }
}
