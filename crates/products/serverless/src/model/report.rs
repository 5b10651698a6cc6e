//! How a step tells the caller why it could not go on.

use engine::prelude::*;
use opennebula::NebulaError;

use super::errand::Input;
use super::refusal::Refusal;
use super::settings::ServerlessSettings;

/// A workflow somebody waits for.
pub(crate) trait Answers: Workflow<Input = Input> {
    /// What the caller is told if it ends badly.
    fn refusal(state: &mut Self::State) -> &mut Option<Refusal>;
}

/// The caller is told this, unless it is better in a moment.
pub(crate) fn refuse<W: Answers>(op: &mut Operation<W>, refusal: Refusal) -> Halt {
    let cause = match refusal.message.as_str() {
        Some("") => refusal.error.clone(),
        Some(message) => format!("{}: {message}", refusal.error),
        None => format!("{}: {}", refusal.error, refusal.message),
    };
    let may_heal = refusal.may_heal;
    *W::refusal(&mut op.state) = Some(refusal);
    let cause = cause.into();
    if may_heal { Halt::Retry { after: None, cause } } else { Halt::Fail { cause } }
}

/// On the way back nobody waits for an answer and nothing may be left behind, so trouble that may heal is waited out.
pub(crate) fn later(settings: &ServerlessSettings, cause: &NebulaError) -> Halt {
    let text = cause.to_string();
    if cause.may_heal() {
        Halt::Wait { after: settings.poll * 4, reason: text, key: None }
    } else {
        Halt::fail(text)
    }
}

/// OpenNebula did not do it. If trying again does not help either, the caller is told this.
pub(crate) fn stop<W: Answers>(op: &mut Operation<W>, error: &str, cause: NebulaError) -> Halt {
    *W::refusal(&mut op.state) = Some(Refusal::of(error, &cause));
    cause.into()
}

/// The name under which all steps count as calls to OpenNebula.
pub(crate) const OPENNEBULA: &str = "opennebula";

/// Somebody is waiting for the answer, so trouble that lasts is told in time.
pub(crate) fn brisk(settings: &ServerlessSettings) -> RetryPolicy {
    let (first, max) = (Duration::from_millis(200), Duration::from_secs(5));
    RetryPolicy { first, max, budget: settings.timeout }
}

/// Nothing may be left behind, so trouble has to last very long.
pub(crate) const PATIENT: RetryPolicy = RetryPolicy {
    first: Duration::from_millis(500),
    max: Duration::from_mins(1),
    budget: Duration::from_hours(12),
};
