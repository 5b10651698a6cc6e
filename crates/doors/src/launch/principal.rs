//! Who asks, for which organisation, and what they may do.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use engine::Role;
use workflows::launch::params::Requester;
use workflows::launch::rbac::Permission;

use super::Desk;
use super::refused::Refused;
use super::rights::Verb;

const ORG_CHARS_MAX: usize = 64;
/// Every application has permissions; these are ours.
const APPLICATION: &str = "provisioning";

/// How somebody proved who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// Somebody in front of us says so.
    Header,
    /// An issuer signed it.
    Bearer,
    /// One of our own tokens.
    Token,
}

#[derive(Debug, Clone)]
pub(super) struct Principal {
    pub(super) requester: Requester,
    pub(super) by: By,
    permissions: Arc<[Permission]>,
}

impl Principal {
    pub(super) fn new(requester: Requester, by: By, permissions: Arc<[Permission]>) -> Principal {
        Principal { requester, by, permissions }
    }

    /// What is not granted is denied. Who may write may also cancel and retry.
    pub(super) fn may(&self, resource: &str, verb: Verb) -> bool {
        let granted = |verb: Verb| self.permissions.iter().any(|one| one.allows(resource, verb.as_str()));
        granted(verb) || (verb == Verb::Control && granted(Verb::Write))
    }

    pub(super) fn must(&self, resource: &str, verb: Verb) -> Result<(), Refused> {
        if self.may(resource, verb) { Ok(()) } else { Err(Refused::denied(&permission(resource, verb))) }
    }

    /// The name in the audit log. A name from a header is that of somebody in an organisation; one of a token is
    /// known to everybody here.
    pub(super) fn name(&self) -> String {
        match self.by {
            By::Header => format!("{}/{}", self.requester.tenant(), self.requester.user),
            By::Bearer | By::Token => self.requester.user.clone(),
        }
    }
}

impl FromRequestParts<Desk> for Principal {
    type Rejection = Refused;

    /// The guard has put it there for every route that needs one.
    async fn from_request_parts(parts: &mut Parts, _desk: &Desk) -> Result<Principal, Refused> {
        parts.extensions.get::<Principal>().cloned().ok_or_else(Refused::internal)
    }
}

/// As people write it.
pub(super) fn permission(resource: &str, verb: Verb) -> String {
    format!("{APPLICATION}:{resource}:{}", verb.as_str())
}

/// What the roles of a token are worth here, together.
pub(super) fn permissions_of(roles: &[Role]) -> Vec<Permission> {
    let worth = |role: &Role| -> &[&str] {
        match role {
            Role::Broker => &[],
            Role::Reader => &["read"],
            Role::Operator => &["read", "control"],
            Role::Launcher | Role::Admin => &["*"],
        }
    };
    let grant = |verb: &&str| Permission {
        application: APPLICATION.to_owned(),
        resource: "*".to_owned(),
        verb: (*verb).to_owned(),
    };
    roles.iter().flat_map(worth).map(grant).collect()
}

/// It becomes part of the names of records and tenants.
pub(super) fn is_org(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=ORG_CHARS_MAX).contains(&text.len()) && text.bytes().all(is_fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal(permissions: Vec<Permission>) -> Principal {
        let requester = Requester { org: "13".into(), account: None, user: "ann".into() };
        Principal::new(requester, By::Header, permissions.into())
    }

    fn of(texts: &[&str]) -> Principal {
        principal(texts.iter().filter_map(|text| Permission::parse(text)).collect())
    }

    #[test]
    fn what_is_not_granted_is_denied() {
        let nobody = of(&[]);
        assert!(!nobody.may("pubkey", Verb::Read));
        let reader = of(&["provisioning:pubkey:read", "inventory:*:*"]);
        assert!(reader.may("pubkey", Verb::Read) && !reader.may("pubkey", Verb::Write));
        assert!(!reader.may("source", Verb::Read));
        let launcher = of(&["provisioning:reservation:write"]);
        assert!(launcher.may("reservation", Verb::Write) && launcher.may("reservation", Verb::Control));
        assert!(!launcher.may("reservation.aws", Verb::Write));
        let steward = of(&["provisioning:reservation:control"]);
        assert!(steward.may("reservation", Verb::Control) && !steward.may("reservation", Verb::Write));
    }

    #[test]
    fn every_role_is_worth_what_the_guide_says() {
        for (role, expected) in [
            (Role::Broker, [false, false, false]),
            (Role::Launcher, [true, true, true]),
            (Role::Reader, [true, false, false]),
            (Role::Operator, [true, true, false]),
            (Role::Admin, [true, true, true]),
        ] {
            let who = principal(permissions_of(&[role]));
            let may = [Verb::Read, Verb::Control, Verb::Write].map(|verb| who.may("reservation.aws", verb));
            assert_eq!(may, expected, "{role}");
        }
        let both = principal(permissions_of(&[Role::Launcher, Role::Reader]));
        assert!(both.may("pubkey", Verb::Write), "a second role takes nothing away");
    }

    #[test]
    fn an_organisation_has_a_plain_name() {
        assert!(is_org("000013") && is_org("a.b_c-d"));
        for bad in ["", "a b", "a:b", "a/b", "\u{e4}", &"x".repeat(ORG_CHARS_MAX + 1)] {
            assert!(!is_org(bad), "{bad}");
        }
    }
}
