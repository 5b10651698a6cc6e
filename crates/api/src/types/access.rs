//! Tokens and the audit log on the wire.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::WireTime;

/// What a token may do; each role from reader on includes the ones before it, except that only an admin may do what
/// a broker or a launcher may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Does what its grants say, and nothing else.
    Limited,
    /// Asks for service instances, as a platform does, and sees nothing else.
    Broker,
    /// Asks for instances through the launch API, and sees nothing else.
    Launcher,
    /// Looks.
    Reader,
    /// Also cancels, pauses, resumes, retries and signals.
    Operator,
    /// Also submits and manages tokens.
    Admin,
}

impl Role {
    pub const ALL: [Role; 6] =
        [Role::Limited, Role::Broker, Role::Launcher, Role::Reader, Role::Operator, Role::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Role::Limited => "limited",
            Role::Broker => "broker",
            Role::Launcher => "launcher",
            Role::Reader => "reader",
            Role::Operator => "operator",
            Role::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Role::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| {
            format!("{text:?} is not a role; the roles are {}", Role::ALL.map(Role::as_str).join(", "))
        })
    }
}

/// What is known about a token. The token itself is nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    pub name: String,
    pub role: Role,
    /// The platform whose credential it is; without it that of its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// What it may do beyond its role with some workflows, each as `submit:orders.*`: `read`, `operate` or `submit`, and
    /// the name of a workflow or what names begin with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!(["submit:orders.*", "read:orders.*"]))]
    pub grants: Vec<String>,
    pub created_at: WireTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<WireTime>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenList {
    pub items: Vec<Token>,
}

/// A token to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// 1 to 64 letters, digits, `.`, `-` and `_`; it appears in journals and in the audit log.
    pub name: String,
    pub role: Role,
    /// The platform whose credential it is, at the service broker. All credentials of a platform share its service
    /// instances. Without it the token is a platform of its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// What it may do beyond its role with some workflows, each as `submit:orders.*`: `read`, `operate` or `submit`, and
    /// the name of a workflow or what names begin with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!(["submit:orders.*", "read:orders.*"]))]
    pub grants: Vec<String>,
    /// Without it the token never expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
}

/// A new token, shown this once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IssuedToken {
    /// Keep it: it cannot be shown again.
    pub token: String,
    pub name: String,
    pub role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// What it may do beyond its role with some workflows, each as `submit:orders.*`: `read`, `operate` or `submit`, and
    /// the name of a workflow or what names begin with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!(["submit:orders.*", "read:orders.*"]))]
    pub grants: Vec<String>,
    pub created_at: WireTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<WireTime>,
}

impl fmt::Debug for IssuedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IssuedToken")
            .field("name", &self.name)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// One call that changed something, or tried to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    pub at: WireTime,
    /// The name of the token or of the user.
    pub who: String,
    #[schema(example = "operation.cancel")]
    pub action: String,
    /// What it was about: an operation, a key, a token, a user, or else the path.
    pub target: String,
    /// The status, and the code of the problem if there was one.
    #[schema(example = "409 not-now")]
    pub result: String,
    /// The request id.
    pub request: String,
}

/// Newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditLog {
    pub items: Vec<AuditEntry>,
    /// The `cursor` of the page with older entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issued_token_does_not_show_itself_in_debug() {
        let created_at = WireTime::from_unix_micros(0);
        let issued = IssuedToken {
            token: "pe_hush".into(),
            name: "ci".into(),
            role: Role::Reader,
            platform: None,
            grants: Vec::new(),
            created_at,
            expires_at: None,
        };
        assert!(!format!("{issued:?}").contains("hush"));
    }
}
