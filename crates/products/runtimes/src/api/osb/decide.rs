//! What follows from the state of an instance or of a binding, for every kind of call: one table.

use crate::model::Status;

use super::error;
use server::http::Failure;

/// What a platform asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OsbCall {
    /// Make it, as it was asked for before.
    PutSame,
    PutDifferent,
    /// Change it, as the operation that runs does.
    PatchSame,
    PatchOther,
    Delete,
    Get,
    LastOperation,
    Bind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Begin.
    Start,
    /// Begin, and stop what runs.
    Supersede,
    /// It is being done already.
    SameOperation,
    /// It was done before.
    AsBefore,
    Show,
    /// Tell how the last operation stands.
    Report,
    /// Tell that it was deleted.
    ReportGone,
    Conflict,
    /// The id had its day.
    UsedUp,
    Busy,
    NotFound,
    Gone,
    /// Not in this state, and why.
    Refuse(&'static str),
}

const NOT_MADE: &str = "it could not be provisioned; delete it and make a new one";
const HALF_DELETED: &str = "its deletion began and failed; delete it again";
const NO_CLUSTER: &str = "it is suspended and has no cluster; activate it first";

/// `None` stands for what was never heard of.
pub(crate) fn decide(status: Option<Status>, call: OsbCall) -> Decision {
    use OsbCall::{Bind, Delete, Get, LastOperation, PatchOther, PatchSame, PutDifferent, PutSame};
    let Some(status) = status else {
        return match call {
            PutSame | PutDifferent => Decision::Start,
            Delete => Decision::Gone,
            PatchSame | PatchOther | Get | LastOperation | Bind => Decision::NotFound,
        };
    };
    match status {
        Status::Provisioning => match call {
            PutSame => Decision::SameOperation,
            PutDifferent => Decision::Conflict,
            PatchSame | PatchOther | Bind => Decision::Busy,
            Delete => Decision::Supersede,
            Get => Decision::NotFound,
            LastOperation => Decision::Report,
        },
        Status::Ready
        | Status::UpdateFailed
        | Status::Suspended
        | Status::SuspendFailed
        | Status::ResumeFailed => match call {
            PutSame => Decision::AsBefore,
            PutDifferent => Decision::Conflict,
            PatchSame | PatchOther | Delete => Decision::Start,
            Get => Decision::Show,
            LastOperation => Decision::Report,
            Bind if matches!(status, Status::Ready | Status::UpdateFailed) => Decision::Start,
            Bind => Decision::Refuse(NO_CLUSTER),
        },
        Status::Updating | Status::Suspending | Status::Resuming => match call {
            PutSame | PatchOther | Delete | Get | Bind => Decision::Busy,
            PutDifferent => Decision::Conflict,
            PatchSame => Decision::SameOperation,
            LastOperation => Decision::Report,
        },
        Status::Deprovisioning => match call {
            PutSame | PatchSame | PatchOther | Bind => Decision::Busy,
            PutDifferent => Decision::Conflict,
            Delete => Decision::SameOperation,
            Get => Decision::Show,
            LastOperation => Decision::Report,
        },
        Status::ProvisionFailed => match call {
            PutSame | PutDifferent => Decision::UsedUp,
            PatchSame | PatchOther | Bind => Decision::Refuse(NOT_MADE),
            Delete => Decision::Start,
            Get => Decision::NotFound,
            LastOperation => Decision::Report,
        },
        Status::DeprovisionFailed => match call {
            PutSame | PutDifferent => Decision::UsedUp,
            PatchSame | PatchOther | Bind => Decision::Refuse(HALF_DELETED),
            Delete => Decision::Start,
            Get => Decision::Show,
            LastOperation => Decision::Report,
        },
        Status::Gone => match call {
            PutSame | PutDifferent => Decision::UsedUp,
            Delete => Decision::Gone,
            PatchSame | PatchOther | Get | Bind => Decision::NotFound,
            LastOperation => Decision::ReportGone,
        },
    }
}

impl Decision {
    /// The refusal that it stands for. Handlers take care of the rest before.
    pub(crate) fn osb_error(self, what: &str) -> Failure {
        match self {
            Decision::Conflict => {
                error::conflict(format!("there is a {what} with this id and other attributes"))
            }
            Decision::UsedUp => error::conflict(format!(
                "the id of this {what} was used before and cannot be used again; take a new one"
            )),
            Decision::Busy => error::busy(),
            Decision::NotFound => error::not_found(format!("there is no such {what}")),
            Decision::Gone => error::gone(format!("there is no such {what}")),
            Decision::Refuse(why) => error::unprocessable(format!("this {what} cannot be used: {why}")),
            Decision::Start
            | Decision::Supersede
            | Decision::SameOperation
            | Decision::AsBefore
            | Decision::Show
            | Decision::Report
            | Decision::ReportGone => Failure::internal(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: [OsbCall; 8] = [
        OsbCall::PutSame,
        OsbCall::PutDifferent,
        OsbCall::PatchSame,
        OsbCall::PatchOther,
        OsbCall::Delete,
        OsbCall::Get,
        OsbCall::LastOperation,
        OsbCall::Bind,
    ];

    /// One row of the specification's table, in the order of `CALLS`.
    #[track_caller]
    fn row(status: Option<Status>, expect: [Decision; 8]) {
        for (call, expect) in CALLS.into_iter().zip(expect) {
            assert_eq!(decide(status, call), expect, "{status:?} {call:?}");
        }
    }

    #[test]
    fn the_table_is_that_of_the_specification_cell_by_cell() {
        use Decision::*;
        row(None, [Start, Start, NotFound, NotFound, Gone, NotFound, NotFound, NotFound]);
        row(
            Some(Status::Provisioning),
            [SameOperation, Conflict, Busy, Busy, Supersede, NotFound, Report, Busy],
        );
        for usable in [Status::Ready, Status::UpdateFailed] {
            row(Some(usable), [AsBefore, Conflict, Start, Start, Start, Show, Report, Start]);
        }
        for asleep in [Status::Suspended, Status::SuspendFailed, Status::ResumeFailed] {
            row(Some(asleep), [AsBefore, Conflict, Start, Start, Start, Show, Report, Refuse(NO_CLUSTER)]);
        }
        for changing in [Status::Updating, Status::Suspending, Status::Resuming] {
            row(Some(changing), [Busy, Conflict, SameOperation, Busy, Busy, Busy, Report, Busy]);
        }
        row(Some(Status::Deprovisioning), [Busy, Conflict, Busy, Busy, SameOperation, Show, Report, Busy]);
        let no = Refuse(NOT_MADE);
        row(Some(Status::ProvisionFailed), [UsedUp, UsedUp, no, no, Start, NotFound, Report, no]);
        let no = Refuse(HALF_DELETED);
        row(Some(Status::DeprovisionFailed), [UsedUp, UsedUp, no, no, Start, Show, Report, no]);
        row(Some(Status::Gone), [UsedUp, UsedUp, NotFound, NotFound, Gone, NotFound, ReportGone, NotFound]);
    }
}
