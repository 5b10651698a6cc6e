//! Errors of external systems, sorted by what the caller can do about them.

use std::time::Duration;

use engine::Halt;

/// A call to an outside system that did not bring what was asked for.
///
/// No variant says that nothing happened in the world: after `Unreachable` and `Broken` the external system may well
/// have done the work, so the next try has to carry the same token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// No answer came: no connection, a connection that broke, or silence for too long. Try again.
    #[error("{system} is not answering: {cause}")]
    Unreachable { system: &'static str, cause: String },
    /// The external system is busy and said when to come back. Try again, but not earlier.
    #[error("{system} asks to wait for {} s", retry_after.as_secs())]
    Throttled { system: &'static str, retry_after: Duration },
    /// An answer came, and it is the external system that is failing. Try again.
    #[error("{system} is broken: {cause}")]
    Broken { system: &'static str, cause: String },
    /// The external system understood and will not do it. Trying again does not help.
    #[error("{system} refused: {message}")]
    Refused { system: &'static str, message: String },
}

impl DriverError {
    /// Trying again does not help.
    pub fn is_final(&self) -> bool {
        matches!(self, DriverError::Refused { .. })
    }
}

impl From<DriverError> for Halt {
    fn from(error: DriverError) -> Halt {
        let cause = error.to_string().into();
        match error {
            DriverError::Unreachable { .. } | DriverError::Broken { .. } => {
                Halt::Retry { after: None, cause }
            }
            DriverError::Throttled { retry_after, .. } => Halt::Retry { after: Some(retry_after), cause },
            DriverError::Refused { .. } => Halt::Fail { cause },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_error_is_final_and_only_throttling_names_a_time() {
        let system = "greeter";
        check(
            DriverError::Unreachable { system, cause: "no route".into() },
            &Halt::Retry { after: None, cause: "greeter is not answering: no route".into() },
        );
        check(
            DriverError::Broken { system, cause: "status 500".into() },
            &Halt::Retry { after: None, cause: "greeter is broken: status 500".into() },
        );
        let retry_after = Duration::from_secs(7);
        check(
            DriverError::Throttled { system, retry_after },
            &Halt::Retry { after: Some(retry_after), cause: "greeter asks to wait for 7 s".into() },
        );
        check(
            DriverError::Refused { system, message: "no such plan".into() },
            &Halt::Fail { cause: "greeter refused: no such plan".into() },
        );
    }

    #[track_caller]
    fn check(error: DriverError, expect: &Halt) {
        assert_eq!(Halt::from(error), *expect);
    }
}
