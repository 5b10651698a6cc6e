//! Exit codes.

use std::process::ExitCode;

/// What the shell gets to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit(pub u8);

impl Exit {
    pub const GOOD: Exit = Exit(0);
    /// The command could not do its work.
    pub const ERROR: Exit = Exit(1);
    /// The command line is wrong; nothing was done.
    pub const USAGE: Exit = Exit(2);
    /// The command did its work, but the operation ended badly.
    pub const OPERATION_FAILED: Exit = Exit(3);
    pub const TIMED_OUT: Exit = Exit(4);
    /// Something else has the resource, or the operation is not in a phase for this.
    pub const CONFLICT: Exit = Exit(5);
    pub const DENIED: Exit = Exit(6);
    /// A check found something, such as operations that this release cannot finish.
    pub const FOUND: Exit = Exit(7);
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.0)
    }
}

/// A command line that cannot be meant, found after it was parsed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// A wait that ended before what it waited for had come.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TimedOut(pub String);
