//! Errors of Image Builder, sorted by what the caller can do about them.

use std::time::Duration;

use engine::Halt;

/// A call to Image Builder that did not bring what was asked for.
///
/// The external system may have done the work all the same: `may_have_happened` tells.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuilderError {
    /// There is no such build, or another node owns it.
    #[error("image builder does not know this build")]
    Unknown,
    /// The external system understood and said no. `message` is its own text, in one line and not too long.
    #[error("image builder refused with status {status}: {message}")]
    Refused { status: u16, message: String },
    /// The organisation has had all the builds that it may have for now.
    #[error("the quota of image builder is used up: {message}")]
    Quota { message: String },
    /// The external system is busy and did nothing.
    #[error("image builder asks to wait for {} s", retry_after.as_secs())]
    Throttled { retry_after: Duration },
    /// No connection, or one that broke.
    #[error("image builder is not answering: {cause}")]
    Unreachable { cause: String, was_asked: bool },
    /// Silence for too long.
    #[error("image builder did not answer in time: {cause}")]
    TimedOut { cause: String, was_asked: bool },
    /// The answer cannot be read, or the external system fails.
    #[error("image builder is broken: {cause}")]
    Broken { cause: String },
}

impl BuilderError {
    /// Trying again may help.
    pub fn may_heal(&self) -> bool {
        match self {
            BuilderError::Unknown | BuilderError::Refused { .. } | BuilderError::Quota { .. } => false,
            BuilderError::Throttled { .. }
            | BuilderError::Unreachable { .. }
            | BuilderError::TimedOut { .. }
            | BuilderError::Broken { .. } => true,
        }
    }

    /// The external system may have done the work, or may be doing it still.
    pub fn may_have_happened(&self) -> bool {
        match self {
            BuilderError::Unknown
            | BuilderError::Refused { .. }
            | BuilderError::Quota { .. }
            | BuilderError::Throttled { .. } => false,
            BuilderError::Unreachable { was_asked, .. } | BuilderError::TimedOut { was_asked, .. } => {
                *was_asked
            }
            BuilderError::Broken { .. } => true,
        }
    }

    pub(super) fn broken(cause: impl Into<String>) -> BuilderError {
        BuilderError::Broken { cause: cause.into() }
    }
}

impl From<BuilderError> for Halt {
    fn from(error: BuilderError) -> Halt {
        let cause = error.to_string().into();
        match error {
            BuilderError::Throttled { retry_after } => Halt::Retry { after: Some(retry_after), cause },
            error if error.may_heal() => Halt::Retry { after: None, cause },
            _ => Halt::Fail { cause },
        }
    }
}
