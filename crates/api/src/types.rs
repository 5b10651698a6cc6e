//! What goes over the wire at the API of the platform, in both directions. Handlers, the description of the API, the
//! command line and the forms of the console use these types and no others.

mod access;
mod declaration;
mod diagnostics;
mod explanation;
mod journal;
mod operation;
mod operation_list;
mod people;
mod workflow;

use std::fmt;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use utoipa::ToSchema;

pub use access::{AuditEntry, AuditLog, IssuedToken, NewToken, Role, Token, TokenList};
pub use declaration::{
    AppliedWorkflow, DryRun, DryRunCall, DryRunCalls, WorkflowContent, WorkflowFileError, WorkflowSource,
    WorkflowVersion, WorkflowVersionList,
};
pub use diagnostics::{Key, KeyList, SealedValues, Setting, SettingList, System, SystemList, SystemState};
pub use explanation::{Explanation, LastError};
pub use journal::{End, JournalEntry, JournalPage, JournalQuery};
pub use operation::{
    Control, Operation, OperationDetail, PendingRequest, Phase, Progress, Step, StepState, Submit, Verb,
};
pub use operation_list::{
    FailureGroup, FailureGroups, ListQuery, OperationPage, OperationTotals, TotalsQuery,
};
pub use people::{
    ChangePassword, ChangeUser, CreatedUser, NewUser, Password, Proof, Session, SessionList, SignedOut, User,
    UserList,
};
pub use workflow::{StepCalls, StepHealth, Workflow, WorkflowCalls, WorkflowList, WorkflowStep};

/// A moment, written as RFC 3339 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct WireTime(#[serde(with = "time::serde::rfc3339")] pub OffsetDateTime);

impl WireTime {
    /// So many microseconds after 1970. A moment beyond the last year that RFC 3339 can write is in that year.
    pub fn from_unix_micros(micros: i64) -> WireTime {
        let last = time::PrimitiveDateTime::MAX.assume_utc();
        WireTime(OffsetDateTime::from_unix_timestamp_nanos(i128::from(micros) * 1000).unwrap_or(last))
    }
}

impl fmt::Display for WireTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.format(&Rfc3339).map_err(|_| fmt::Error)?;
        f.pad(&text)
    }
}

/// The answer of `/healthz` and `/readyz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// `alive` or `ready`.
    pub status: String,
}

/// What a signal did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Signalled {
    /// How many waiting operations it woke at once. With none, the signal is kept for the wait that comes.
    pub woke: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_rfc_3339_and_the_end_of_time_can_be_written() {
        let at = WireTime::from_unix_micros(1_700_000_000_123_456);
        assert_eq!(serde_json::to_string(&at).unwrap(), "\"2023-11-14T22:13:20.123456Z\"");
        assert_eq!(at.to_string(), "2023-11-14T22:13:20.123456Z");
        let last = serde_json::to_string(&WireTime::from_unix_micros(i64::MAX)).unwrap();
        assert!(last.starts_with("\"9999-12-31"), "{last}");
        assert!(serde_json::from_str::<WireTime>(&last).is_ok());
    }
}
