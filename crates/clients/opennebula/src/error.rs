//! Errors of OpenNebula, sorted by what the caller can do about them.

use engine::Halt;
use http_client::shorten;

/// A call to OpenNebula that did not bring what was asked for.
///
/// The external system may have done the work all the same: `may_have_happened` tells.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NebulaError {
    /// The external system understood and said no. `message` is its own text, in one line and not too long.
    #[error("{service} refused: {message}")]
    Refused { service: &'static str, kind: NebulaErrorKind, message: String },
    /// No connection, or one that broke.
    #[error("{service} is not answering: {cause}")]
    Unreachable { service: &'static str, cause: String, was_asked: bool },
    /// Silence for too long, or no place among our own calls.
    #[error("{service} did not answer in time: {cause}")]
    TimedOut { service: &'static str, cause: String, was_asked: bool },
    /// The answer cannot be read.
    #[error("{service} is broken: {cause}")]
    Broken { service: &'static str, cause: String },
    /// The servers of the zone are choosing their leader.
    #[error("{service} has no leader at the moment: {message}")]
    Electing { service: &'static str, message: String },
}

/// Why the external system said no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NebulaErrorKind {
    /// The user or the password is wrong.
    Authentication,
    /// The user has no right to do this.
    Authorization,
    /// There is no such object.
    NotFound,
    /// The object is in the wrong state, or cannot do this.
    Action,
    /// The call itself was not right.
    Api,
    Internal,
    /// A new object cannot be made, for example because of a quota.
    Allocate,
    /// A caller holds the object with a lock.
    Locked,
    /// A code that is in no list.
    Other(i64),
}

/// Beside these words the number says nothing: elections are told as internal errors.
const ELECTION: [&str; 3] = ["cluster in election mode", "no leader found", "zone disabled"];
const REPLICATION: i64 = 0x1_0000;

impl NebulaError {
    /// The external system said no, and for this reason.
    pub fn is(&self, error_response: NebulaErrorKind) -> bool {
        matches!(self, NebulaError::Refused { kind, .. } if *kind == error_response)
    }

    /// Trying again may help.
    pub fn may_heal(&self) -> bool {
        !matches!(self, NebulaError::Refused { .. })
    }

    /// The external system may have done the work, or may be doing it still.
    pub fn may_have_happened(&self) -> bool {
        match self {
            NebulaError::Refused { .. } | NebulaError::Electing { .. } => false,
            NebulaError::Unreachable { was_asked, .. } | NebulaError::TimedOut { was_asked, .. } => {
                *was_asked
            }
            NebulaError::Broken { .. } => true,
        }
    }

    /// From the words and the number of `oned`.
    pub(super) fn told(service: &'static str, code: i64, message: &str) -> NebulaError {
        let kind = match code {
            0x0100 => NebulaErrorKind::Authentication,
            0x0200 => NebulaErrorKind::Authorization,
            0x0400 => NebulaErrorKind::NotFound,
            0x0800 => NebulaErrorKind::Action,
            0x1000 => NebulaErrorKind::Api,
            0x2000 => NebulaErrorKind::Internal,
            0x4000 => NebulaErrorKind::Allocate,
            0x8000 => NebulaErrorKind::Locked,
            REPLICATION => return NebulaError::Electing { service, message: shorten(message) },
            other => NebulaErrorKind::Other(other),
        };
        NebulaError::refused(service, kind, message)
    }

    pub(super) fn refused(service: &'static str, kind: NebulaErrorKind, message: &str) -> NebulaError {
        let lower = message.to_lowercase();
        let message = shorten(message);
        let failure = matches!(kind, NebulaErrorKind::Internal | NebulaErrorKind::Other(_));
        if failure && ELECTION.iter().any(|words| lower.contains(words)) {
            return NebulaError::Electing { service, message };
        }
        NebulaError::Refused { service, kind, message }
    }

    pub(super) fn broken(service: &'static str, cause: impl Into<String>) -> NebulaError {
        NebulaError::Broken { service, cause: cause.into() }
    }
}

impl From<NebulaError> for Halt {
    fn from(error: NebulaError) -> Halt {
        let cause = error.to_string().into();
        if error.may_heal() { Halt::Retry { after: None, cause } } else { Halt::Fail { cause } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_error_is_final() {
        let no = NebulaError::told("oned", 1024, "[one.vm.info] Error getting virtual machine [7].");
        assert!(no.is(NebulaErrorKind::NotFound) && !no.may_heal());
        let words = "oned refused: [one.vm.info] Error getting virtual machine [7].";
        assert_eq!(Halt::from(no), Halt::Fail { cause: words.into() });
        let service = "oneflow";
        let broken = NebulaError::Broken { service, cause: "status 502".into() };
        let words = "oneflow is broken: status 502";
        assert_eq!(Halt::from(broken), Halt::Retry { after: None, cause: words.into() });
    }

    #[test]
    fn an_election_is_no_error() {
        for (code, words) in [
            (8192, "[one.vm.info] oned cluster in election mode, cannot process the call"),
            (8192, "Cannot process request, no leader found"),
            (8192, "[one.document.info] Zone disabled"),
            (0x1_0000, "replication"),
        ] {
            let error = NebulaError::told("oned", code, words);
            assert!(matches!(error, NebulaError::Electing { .. }), "{error:?}");
            assert!(error.may_heal());
        }
    }

    #[test]
    fn a_name_with_the_words_of_an_election_changes_nothing() {
        let error = NebulaError::told("oned", 1024, "Error getting document \"no leader found\".");
        assert!(error.is(NebulaErrorKind::NotFound), "{error:?}");
    }

    #[test]
    fn words_of_the_external_system_fit_into_a_line() {
        let error = NebulaError::told("oned", 4096, &format!("a\nb\u{1b}[0m{}", "x".repeat(9000)));
        let NebulaError::Refused { message, kind: NebulaErrorKind::Api, .. } = error else {
            panic!("{error:?}")
        };
        assert!(message.starts_with("a b [0m") && message.chars().count() <= 500, "{message}");
    }
}
