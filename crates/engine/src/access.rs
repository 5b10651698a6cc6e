//! API tokens, roles and the audit log.

mod capability;

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::store::StoreError;

pub use capability::{Capability, Grant, Scope, grants_text, parse_grants};

/// A set of capabilities under a name that people give to tokens, users and groups. What each of them may do is
/// [`Role::capabilities`] and [`Role::verbs`], and nothing else asks for a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Limited,
    Broker,
    Launcher,
    Reader,
    Operator,
    Admin,
}

impl Role {
    /// From the one with the least to the one with all capabilities.
    pub const ALL: [Role; 6] =
        [Role::Limited, Role::Broker, Role::Launcher, Role::Reader, Role::Operator, Role::Admin];

    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Limited => "limited",
            Role::Broker => "broker",
            Role::Launcher => "launcher",
            Role::Reader => "reader",
            Role::Operator => "operator",
            Role::Admin => "admin",
        }
    }

    /// What it is good for, in one line.
    pub const fn about(self) -> &'static str {
        match self {
            Role::Limited => "may do what its grants say, and nothing else",
            Role::Broker => "a platform that asks for service instances",
            Role::Launcher => "launches instances, and sees nothing else",
            Role::Reader => "looks at everything but secrets",
            Role::Operator => "also cancels, pauses, retries and repairs",
            Role::Admin => "may do everything",
        }
    }

    pub const fn capabilities(self) -> &'static [Capability] {
        use Capability::{Administer, Operate, Read, SignIn, Submit, UseBroker};
        match self {
            Role::Broker => &[UseBroker],
            Role::Limited | Role::Launcher => &[SignIn],
            Role::Reader => &[SignIn, Read],
            Role::Operator => &[SignIn, Read, Operate],
            Role::Admin => &[SignIn, Read, Operate, Submit, Administer, UseBroker],
        }
    }

    /// What it may do with the things of a product that has permissions: `read`, `control`, `write`, or `*` for all.
    pub const fn verbs(self) -> &'static [&'static str] {
        match self {
            Role::Limited | Role::Broker => &[],
            Role::Reader => &["read"],
            Role::Operator => &["read", "control"],
            Role::Launcher | Role::Admin => &["*"],
        }
    }

    pub fn can(self, capability: Capability) -> bool {
        self.capabilities().contains(&capability)
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

/// A token as it is kept: never the token itself, only its SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    pub name: String,
    pub role: Role,
    pub digest: String,
    /// The platform whose credential it is, at the service broker. Without one the token is a platform of its own name.
    pub platform: Option<String>,
    /// What it may do beyond its role, for some workflows.
    pub grants: Vec<Grant>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
}

/// One call that changed something, or tried to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    pub at: Timestamp,
    pub who: String,
    pub action: String,
    pub target: String,
    pub result: String,
    pub request: String,
}

/// What became of a change that could take the last admin away. Stores decide it in the transaction of the change, so
/// that it holds for all replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminChange {
    Done,
    /// There is no such user or token.
    Missing,
    /// Nothing was changed: it is the last admin.
    LastAdmin,
}

impl AdminChange {
    pub fn is_done(self) -> bool {
        self == AdminChange::Done
    }
}

/// The part of a store that the APIs need for themselves.
#[async_trait]
pub trait AccessStore: Send + Sync + 'static {
    /// Adds a token; `false` when the name is taken.
    async fn add_token(&self, token: &TokenRow) -> Result<bool, StoreError>;
    async fn find_token(&self, digest: &str) -> Result<Option<TokenRow>, StoreError>;
    async fn tokens(&self) -> Result<Vec<TokenRow>, StoreError>;
    /// Removes a token by name, unless it is the last token of an admin that has not expired.
    async fn remove_token(&self, name: &str, now: Timestamp) -> Result<AdminChange, StoreError>;
    /// A small value that all nodes share, such as the sealed key ring.
    async fn shared(&self, name: &str) -> Result<Option<String>, StoreError>;
    /// Sets a shared value if it still is what it was `before`; `false` when another request was faster.
    async fn share(&self, name: &str, before: Option<&str>, value: &str) -> Result<bool, StoreError>;
    async fn audit(&self, row: &AuditRow) -> Result<(), StoreError>;
    /// Rows with their numbers, newest first, of those below a number.
    async fn audit_page(&self, below: Option<i64>, limit: usize) -> Result<Vec<(i64, AuditRow)>, StoreError>;

    /// The newest rows, newest first.
    async fn audit_log(&self, limit: usize) -> Result<Vec<AuditRow>, StoreError> {
        Ok(self.audit_page(None, limit).await?.into_iter().map(|(_, row)| row).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::store::MemoryStore;

    #[test]
    fn roles_read_back_and_are_named_in_errors() {
        for role in Role::ALL {
            assert_eq!(role.to_string().parse::<Role>(), Ok(role));
        }
        assert!(
            "king"
                .parse::<Role>()
                .unwrap_err()
                .contains("limited, broker, launcher, reader, operator, admin")
        );
    }

    #[test]
    fn each_role_has_these_capabilities_and_verbs_and_a_line_of_its_own() {
        let table = [
            (Role::Broker, "use-broker", ""),
            (Role::Launcher, "sign-in", "*"),
            (Role::Reader, "sign-in read", "read"),
            (Role::Operator, "sign-in read operate", "read control"),
            (Role::Admin, "sign-in read operate submit administer use-broker", "*"),
        ];
        for (role, capabilities, verbs) in table {
            let may: Vec<&str> =
                Capability::ALL.into_iter().filter(|one| role.can(*one)).map(Capability::as_str).collect();
            assert_eq!(
                (may.join(" ").as_str(), role.verbs().join(" ").as_str()),
                (capabilities, verbs),
                "{role}"
            );
        }
        let lines: BTreeSet<&str> = Role::ALL.map(Role::about).into();
        assert!(lines.len() == Role::ALL.len() && lines.iter().all(|line| line.contains(' ')), "{lines:?}");
    }

    #[tokio::test]
    async fn the_audit_log_has_the_newest_rows_first_and_only_what_is_done_is_done() {
        let store = MemoryStore::new();
        for who in ["ann", "bob", "eve"] {
            let empty = String::new;
            let (at, who) = (Timestamp(0), who.to_owned());
            let row =
                AuditRow { at, who, action: empty(), target: empty(), result: empty(), request: empty() };
            store.audit(&row).await.unwrap();
        }
        let log = store.audit_log(2).await.unwrap();
        assert_eq!(log.iter().map(|row| row.who.as_str()).collect::<Vec<_>>(), ["eve", "bob"]);
        let done =
            [AdminChange::Done, AdminChange::Missing, AdminChange::LastAdmin].map(AdminChange::is_done);
        assert_eq!(done, [true, false, false]);
    }
}
