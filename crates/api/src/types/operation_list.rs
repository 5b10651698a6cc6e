//! Lists and counts of operations on the wire: which are wanted, and what is found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Operation, Phase};

/// One page of a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OperationPage {
    pub items: Vec<Operation>,
    /// Where there is more: the value of `cursor` that brings it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// How many operations were looked at for this page, where there are more that were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_at: Option<u64>,
}

/// Which operations are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// One phase or several with commas between them; may be given more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(example = "running,waiting")]
    pub phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Only operations created from this moment on, to the millisecond. RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(format = DateTime, example = "2026-01-31T12:00:00Z")]
    pub created_after: Option<String>,
    /// Only operations created before this moment, to the millisecond. RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(format = DateTime)]
    pub created_before: Option<String>,
    /// `hide` leaves out operations that serve others, such as the delivery of messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(example = "hide")]
    pub housekeeping: Option<String>,
    /// Words that must all be in the id, workflow, resource, tenant, step or reason, or the beginning of an id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// `created`, `workflow`, `phase`, `resource`, `tenant` or `duration`; with `-` in front the other way round.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(example = "-created")]
    pub sort: Option<String>,
    /// 1 to 200; 50 without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u16>,
    /// `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Only operations whose id begins or ends with these hexadecimal digits, 4 to 32 of them; hyphens are ignored. The
    /// newest 100,000 are searched for an end. There is one page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(example = "099a8057")]
    pub id: Option<String>,
}

/// Which operations are counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TotalsQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// One phase or several with commas between them; may be given more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Only operations created from this moment on, to the millisecond. RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(format = DateTime, example = "2026-01-31T12:00:00Z")]
    pub created_after: Option<String>,
    /// Only operations created before this moment, to the millisecond. RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(format = DateTime)]
    pub created_before: Option<String>,
    /// `hide` leaves out operations that serve others, such as the delivery of messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(example = "hide")]
    pub housekeeping: Option<String>,
}

/// How many operations fit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OperationTotals {
    /// By phase; a phase in which there are none is left out.
    pub phases: BTreeMap<Phase, u64>,
    /// All were counted, and not only the newest 10,000.
    pub is_complete: bool,
}

/// Failures of one workflow for one cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FailureGroup {
    pub count: u64,
    pub latest: Operation,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FailureGroups {
    pub items: Vec<FailureGroup>,
}
