//! What went wrong, sorted and put into words, for the user who looks at the launch.

use cloud::{Category, CloudError};
use engine::prelude::*;
use engine::{Cause, Timestamp};
use image_builder::BuilderError;

use super::quoted::masked;
use crate::model::settings::LaunchSettings;
use crate::model::state::{LaunchError, Leftover};
use crate::workflows::launch::Launch;

impl LaunchError {
    pub(crate) fn new(step: &str, category: &str, message: impl Into<String>) -> LaunchError {
        let message: String = Cause::from(message).to_string();
        let (step, category) = (step.to_owned(), category.to_owned());
        let (hint, provider_code, attempt) = (None, None, None);
        LaunchError { step, category, message, hint, provider_code, retryable: false, attempt }
    }

    /// Of the engine, and not of an external system.
    pub(crate) fn internal(step: &str, message: &str) -> LaunchError {
        LaunchError::new(step, "internal", message)
    }

    fn of_cloud(step: &str, error: &CloudError) -> LaunchError {
        let code = (!error.code.is_empty()).then(|| error.code.clone());
        LaunchError {
            hint: hint(error.category).map(str::to_owned),
            provider_code: code,
            retryable: error.may_heal(),
            ..LaunchError::new(step, category(error.category), error.to_string())
        }
    }

    fn of_builder(step: &str, error: &BuilderError) -> LaunchError {
        let (category, hint) = match error {
            BuilderError::Unknown => {
                ("validation", "look whether the image was deleted, or belongs to others")
            }
            BuilderError::Refused { .. } => ("validation", "change the build request and launch again"),
            BuilderError::Quota { .. } => {
                ("quota", "wait until older builds no longer count, or ask for more")
            }
            BuilderError::Throttled { .. } => ("throttle", "launch again later"),
            BuilderError::Unreachable { .. } => ("network", "look whether the Image Builder is there"),
            BuilderError::TimedOut { .. } => ("timeout", "look whether the Image Builder is there"),
            BuilderError::Broken { .. } => ("upstream", "look whether the Image Builder is well"),
        };
        LaunchError {
            hint: Some(hint.to_owned()),
            retryable: error.may_heal(),
            ..LaunchError::new(step, category, error.to_string())
        }
    }
}

fn category(category: Category) -> &'static str {
    match category {
        Category::Permission => "permission",
        Category::Quota => "quota",
        Category::Capacity => "capacity",
        Category::Throttle => "throttle",
        Category::Network => "network",
        Category::Timeout => "timeout",
        Category::Invalid | Category::NotFound | Category::Duplicate => "validation",
        Category::Mismatch => "internal",
        Category::Terminated | Category::Upstream => "upstream",
    }
}

/// What can be done about it.
fn hint(category: Category) -> Option<&'static str> {
    match category {
        Category::Permission => Some("let the role of the source do this in the account, then launch again"),
        Category::Quota => Some("ask the cloud for a higher limit, or launch fewer or smaller instances"),
        Category::Capacity => Some("choose another instance type or region, or launch again later"),
        Category::Invalid | Category::NotFound => Some("change what the message names and launch again"),
        Category::Terminated => {
            Some("the instances of this launch were terminated outside of it; launch again")
        }
        Category::Throttle | Category::Network | Category::Timeout | Category::Upstream => {
            Some("launch again later")
        }
        Category::Duplicate | Category::Mismatch => None,
    }
}

/// The cloud did not do it. If retries do not help, the launch shows this.
pub(crate) fn stop(op: &mut Operation<Launch>, step: &str, error: CloudError) -> Halt {
    let error = CloudError { message: masked(op, &error.message), ..error };
    op.state.error = Some(LaunchError::of_cloud(step, &error));
    error.into()
}

/// The same for the Image Builder.
pub(crate) fn stop_build(op: &mut Operation<Launch>, step: &str, error: BuilderError) -> Halt {
    note_build(op, step, error, None).into()
}

/// Shows what is wrong with the Image Builder, also while the step waits for it.
pub(crate) fn note_build(
    op: &mut Operation<Launch>,
    step: &str,
    error: BuilderError,
    attempt: Option<u32>,
) -> BuilderError {
    let error = match error {
        BuilderError::Refused { status, message } => {
            BuilderError::Refused { status, message: masked(op, &message) }
        }
        BuilderError::Quota { message } => BuilderError::Quota { message: masked(op, &message) },
        BuilderError::Broken { cause } => BuilderError::Broken { cause: masked(op, &cause) },
        other => other,
    };
    op.state.error = Some(LaunchError { attempt, ..LaunchError::of_builder(step, &error) });
    error
}

/// No further try can help.
pub(crate) fn refuse(op: &mut Operation<Launch>, error: LaunchError) -> Halt {
    let error = LaunchError { message: masked(op, &error.message), ..error };
    let cause = error.message.as_str().into();
    op.state.error = Some(error);
    Halt::Fail { cause }
}

impl LaunchError {
    #[must_use]
    pub(crate) fn hinting(mut self, hint: impl Into<String>) -> LaunchError {
        self.hint = Some(hint.into());
        self
    }
}

/// Since when trouble keeps a step from taking something back.
struct StepFault(String);

impl StepFault {
    fn of(step: &str) -> StepFault {
        StepFault(format!("{step}.undo_trouble_since"))
    }
}

/// How often to look again while something keeps us from taking back.
const ERROR_PAUSE: Duration = Duration::from_secs(10);

/// Something could not be taken back. Trouble that may heal is waited out; what does not heal, or not in time, is a
/// leftover that a person has to look at.
pub(crate) fn later(
    op: &mut Operation<Launch>,
    settings: &LaunchSettings,
    step: &str,
    error: &CloudError,
    leftovers: Vec<Leftover>,
) -> Result<Halt, Halt> {
    let StepFault(key) = StepFault::of(step);
    let since = op.recall_as::<Option<Timestamp>>(&key)?.flatten();
    let now = op.now();
    let lasts = since.map_or(Duration::ZERO, |since| now.since(since));
    let text = error.to_string();
    if error.may_heal() && lasts < settings.undo_patience {
        op.remember_as(&key, &Some(since.unwrap_or(now)))?;
        let after = error.after.unwrap_or(ERROR_PAUSE.min(settings.settle));
        return Ok(Halt::Wait { after, reason: text, key: None });
    }
    // An operator who lets it go on gives it the whole time again.
    op.remember_as(&key, &None::<Timestamp>)?;
    for leftover in leftovers {
        op.state.leave_over(leftover);
    }
    Ok(Halt::fail(text))
}

/// It works again.
pub(crate) fn healed(op: &mut Operation<Launch>, step: &str) -> Result<(), Halt> {
    let StepFault(key) = StepFault::of(step);
    match op.recall_as::<Option<Timestamp>>(&key)? {
        Some(Some(_)) => op.remember_as(&key, &None::<Timestamp>),
        _ => Ok(()),
    }
}

/// Waits while a call whose answer was lost may still be carried out.
pub(crate) fn settle(
    op: &mut Operation<Launch>,
    call: &'static str,
    settings: &LaunchSettings,
) -> Result<(), Halt> {
    op.attempt(call).settle(settings.settle, |_| Duration::MAX)
}

/// For calls that only look: a few tries, then the caller gets the error.
pub(crate) fn brisk(settings: &LaunchSettings) -> RetryPolicy {
    let first = settings.retry_first;
    RetryPolicy { first, max: first * 10, budget: first * 30 }
}

/// For calls that make something.
pub(crate) fn steady(settings: &LaunchSettings) -> RetryPolicy {
    let first = settings.retry_first;
    RetryPolicy { first, max: first * 30, budget: first * 120 }
}
