//! Errors of clouds, sorted by what the caller can do about them.

use std::fmt;
use std::time::Duration;

use engine::Halt;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// The account does not let us.
    Permission,
    /// The account has reached a limit that a person can raise.
    Quota,
    /// The cloud has no room for this right now.
    Capacity,
    Throttle,
    /// No connection, or one that broke.
    Network,
    /// No answer in time.
    Timeout,
    /// The order makes no sense to the cloud.
    Invalid,
    NotFound,
    /// The name is taken.
    Duplicate,
    /// The token was used before, for another order.
    Mismatch,
    /// What was made with the token is gone.
    Terminated,
    /// The cloud itself is failing, or answers what we cannot read.
    Upstream,
}

impl Category {
    pub fn as_str(self) -> &'static str {
        match self {
            Category::Permission => "permission",
            Category::Quota => "quota",
            Category::Capacity => "capacity",
            Category::Throttle => "throttle",
            Category::Network => "network",
            Category::Timeout => "timeout",
            Category::Invalid => "invalid",
            Category::NotFound => "not_found",
            Category::Duplicate => "duplicate",
            Category::Mismatch => "mismatch",
            Category::Terminated => "terminated",
            Category::Upstream => "upstream",
        }
    }

    /// Whether the same call may succeed later.
    pub fn may_heal(self) -> bool {
        use Category::{Capacity, Network, Throttle, Timeout, Upstream};
        matches!(self, Capacity | Throttle | Network | Timeout | Upstream)
    }
}

/// A call to a cloud that did not bring what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudError {
    pub category: Category,
    /// The cloud's own word for it, such as `InsufficientInstanceCapacity`; empty when no answer came.
    pub code: String,
    /// For a person, bounded, without control characters and without anything secret.
    pub message: String,
    /// What the cloud asked us to wait.
    pub after: Option<Duration>,
}

impl CloudError {
    pub fn new(category: Category, code: impl Into<String>, message: impl Into<String>) -> CloudError {
        CloudError { category, code: code.into(), message: message.into(), after: None }
    }

    pub fn is(&self, category: Category) -> bool {
        self.category == category
    }

    pub fn may_heal(&self) -> bool {
        self.category.may_heal()
    }

    /// No answer came, so it is unknown whether it was carried out.
    pub fn may_have_happened(&self) -> bool {
        matches!(self.category, Category::Network | Category::Timeout | Category::Upstream)
    }
}

impl fmt::Display for CloudError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.code.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.code, self.message)
        }
    }
}

impl std::error::Error for CloudError {}

impl From<CloudError> for Halt {
    fn from(error: CloudError) -> Halt {
        let cause = error.to_string().into();
        if error.may_heal() { Halt::Retry { after: error.after, cause } } else { Halt::Fail { cause } }
    }
}
