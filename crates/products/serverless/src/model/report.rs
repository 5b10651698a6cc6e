//! Errors of steps, for the caller of the API.

use engine::prelude::*;
use opennebula::NebulaError;

use super::caller_credentials::Input;
use super::runtime_error::RuntimeError;
use super::settings::ServerlessSettings;

/// A workflow whose end a client waits for.
pub(crate) trait Answers: Workflow<Input = Input> {
    /// What the caller is told if it ends badly.
    fn runtime_error(state: &mut Self::State) -> &mut Option<RuntimeError>;
}

/// The caller is told this, unless it is better in a moment.
pub(crate) fn refuse<W: Answers>(op: &mut Operation<W>, runtime_error: RuntimeError) -> Halt {
    let cause = match runtime_error.message.as_str() {
        Some("") => runtime_error.error.clone(),
        Some(message) => format!("{}: {message}", runtime_error.error),
        None => format!("{}: {}", runtime_error.error, runtime_error.message),
    };
    let may_heal = runtime_error.may_heal;
    *W::runtime_error(&mut op.state) = Some(runtime_error);
    let cause = cause.into();
    if may_heal { Halt::Retry { after: None, cause } } else { Halt::Fail { cause } }
}

/// During undo no request waits and nothing may be left behind, so an error that may heal is waited out.
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
    *W::runtime_error(&mut op.state) = Some(RuntimeError::of(error, &cause));
    cause.into()
}

/// The name under which all steps count as calls to OpenNebula.
pub(crate) const OPENNEBULA: &str = "opennebula";

/// A client is waiting for the answer, so trouble that lasts is told in time.
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
