//! Who a call is made for: the header that the hosted services and our own API read.

mod caller;
mod header;
mod service;

pub use self::caller::{CallerIdentity, ServiceIdentity};
pub use self::header::{HEADER, IdentityError, IdentityHeader, ORG_CHARS_MAX, header, parse};
pub use self::service::{IdentityService, error_body};
use serde::{Deserialize, Serialize};

/// The organisation on whose behalf we call. What it owns is scoped by `org`; the account number is an older
/// name of the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Organisation {
    pub org: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
}
