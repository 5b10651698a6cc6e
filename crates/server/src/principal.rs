//! Who makes a request: one type for every API and for the console, made by one function.

use std::sync::Arc;

use api::Permission;
use engine::{Capability, Grant, Organisation, Proof, Role, Scope, SessionRow, Timestamp, TokenRow, UserRow};

use crate::tokens::digest;

const ORG_CHARS_MAX: usize = 64;
const OF_WORKFLOWS: [Capability; 3] = [Capability::Read, Capability::Operate, Capability::Submit];
/// Every application has permissions; these are ours.
const APPLICATION: &str = "provisioning";

/// What a permission allows to do with a kind of thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Read,
    Write,
    /// Cancels, retries and terminates, and makes nothing.
    Control,
}

impl Verb {
    pub fn as_str(self) -> &'static str {
        match self {
            Verb::Read => "read",
            Verb::Write => "write",
            Verb::Control => "control",
        }
    }
}

/// An authenticated user, token or platform: how that was proved, for which organisation, and what it may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// As the audit log has it.
    pub name: String,
    pub proof: Proof,
    pub organisation: Organisation,
    /// The number of the account, if a proxy named one.
    pub account: Option<String>,
    pub roles: Vec<Role>,
    /// Whose service instances it uses at the service broker.
    pub platform: String,
    /// What it may do beyond its roles, for some workflows.
    grants: Vec<Grant>,
    permissions: Arc<[Permission]>,
}

/// What a proof says about its bearer.
#[derive(Debug, Clone, Default)]
pub struct PrincipalSubject {
    pub name: String,
    pub roles: Vec<Role>,
    /// As an issuer or a proxy names it. A credential of this server names none.
    pub organisation: Option<String>,
    pub account: Option<String>,
    /// The platform whose credential it is; without one it is a platform of its own name.
    pub platform: Option<String>,
    pub grants: Vec<Grant>,
    /// What is granted word for word; without it the roles say it.
    pub permissions: Option<Vec<Permission>>,
}

impl Principal {
    /// The one way to a principal. An organisation whose name cannot be one counts as missing.
    pub fn of(proof: Proof, subject: PrincipalSubject) -> Principal {
        let PrincipalSubject { name, mut roles, organisation, account, platform, grants, permissions } =
            subject;
        // Who has grants alone may sign in and use them.
        if roles.is_empty() && !grants.is_empty() {
            roles.push(Role::Limited);
        }
        let organisation = match organisation.filter(|id| is_organisation(id)) {
            _ if proof.is_of_this_server() => Organisation::Server,
            Some(id) => Organisation::Named(id),
            None => Organisation::Missing,
        };
        let permissions = permissions.unwrap_or_else(|| permissions_of(&roles)).into();
        let platform = platform.unwrap_or_else(|| name.clone());
        Principal { name, proof, organisation, account, roles, platform, grants, permissions }
    }

    pub fn of_user(user: &UserRow) -> Principal {
        let subject = PrincipalSubject {
            name: user.name.clone(),
            roles: vec![user.role],
            grants: user.grants.clone(),
            ..PrincipalSubject::default()
        };
        Principal::of(Proof::Password { digest: digest(&user.hash) }, subject)
    }

    pub fn of_token(token: TokenRow) -> Principal {
        let (name, roles, platform, grants) = (token.name, vec![token.role], token.platform, token.grants);
        let subject = PrincipalSubject { name, roles, platform, grants, ..PrincipalSubject::default() };
        Principal::of(Proof::Token { digest: token.digest }, subject)
    }

    /// From the row alone, for a proof that another system gave and cannot be asked about again.
    pub fn of_session(row: &SessionRow) -> Principal {
        let organisation = match &row.organisation {
            Organisation::Named(id) => Some(id.clone()),
            Organisation::Server | Organisation::Missing => None,
        };
        let subject = PrincipalSubject {
            name: row.user.clone(),
            roles: row.roles.clone(),
            organisation,
            account: None,
            platform: None,
            grants: row.grants.clone(),
            permissions: Some(row.permissions.iter().filter_map(|text| Permission::parse(text)).collect()),
        };
        Principal::of(row.proof.clone(), subject)
    }

    /// The session that makes the same principal again, for as long as the proof holds and no longer.
    pub fn session(&self, digest: String, now: Timestamp, expires_at: Timestamp) -> SessionRow {
        SessionRow {
            digest,
            user: self.name.clone(),
            roles: self.roles.clone(),
            organisation: self.organisation.clone(),
            permissions: self.permissions.iter().map(ToString::to_string).collect(),
            grants: self.grants.clone(),
            proof: self.proof.clone(),
            created_at: now,
            seen_at: now,
            expires_at: self.proof.expires_at().map_or(expires_at, |end| end.min(expires_at)),
            device: String::new(),
            address: String::new(),
        }
    }

    /// The one of its roles that has most capabilities.
    pub fn role(&self) -> Option<Role> {
        self.roles.iter().copied().max()
    }

    /// Whether it may do this with all workflows, and with everything else that it is about.
    pub fn can(&self, capability: Capability) -> bool {
        self.has_grant(&Grant { capability, scope: Scope::All })
    }

    /// Whether it may do this with one workflow at least.
    pub fn can_with_some(&self, capability: Capability) -> bool {
        self.has(capability) || self.grants.iter().any(|grant| grant.capability == capability)
    }

    /// Whether it may do this with a workflow.
    pub fn can_with(&self, capability: Capability, workflow: &str) -> bool {
        self.has(capability) || self.grants.iter().any(|grant| grant.allows(capability, workflow))
    }

    /// Whether it may know that this workflow exists: who may do anything with it sees its plan.
    pub fn sees(&self, workflow: &str) -> bool {
        OF_WORKFLOWS.into_iter().any(|capability| self.can_with(capability, workflow))
    }

    /// Whether there is any workflow that it may see.
    pub fn sees_some(&self) -> bool {
        OF_WORKFLOWS.into_iter().any(|capability| self.can_with_some(capability))
    }

    /// Whether it has at least this.
    pub fn has_grant(&self, other: &Grant) -> bool {
        self.has(other.capability) || self.grants.iter().any(|grant| grant.includes(other))
    }

    fn has(&self, capability: Capability) -> bool {
        self.roles.iter().any(|role| role.can(capability))
    }

    /// Whether it may use a service instance of this platform. Admins use those of all; an instance of an earlier release
    /// names no platform, and all use it.
    pub fn is_of_platform(&self, platform: &str) -> bool {
        platform.is_empty() || self.platform == platform || self.has(Capability::Administer)
    }

    /// What is not granted is denied. A grant to write is also one to cancel and to retry.
    pub fn may(&self, resource: &str, verb: Verb) -> bool {
        let granted = |verb: Verb| self.permissions.iter().any(|one| one.allows(resource, verb.as_str()));
        granted(verb) || (verb == Verb::Control && granted(Verb::Write))
    }

    /// Whether there is anything that it may do with launches.
    pub fn has_permissions(&self) -> bool {
        !self.permissions.is_empty()
    }
}

/// As people write it.
pub fn permission(resource: &str, verb: Verb) -> String {
    format!("{APPLICATION}:{resource}:{}", verb.as_str())
}

/// What roles are worth where permissions count, together.
fn permissions_of(roles: &[Role]) -> Vec<Permission> {
    let grant = |verb: &&str| Permission {
        application: APPLICATION.to_owned(),
        resource: "*".to_owned(),
        verb: (*verb).to_owned(),
    };
    roles.iter().flat_map(|role| role.verbs()).map(grant).collect()
}

/// It becomes part of the names of records and tenants.
pub fn is_organisation(text: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=ORG_CHARS_MAX).contains(&text.len()) && text.bytes().all(is_fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal(roles: &[Role], permissions: Option<&[&str]>) -> Principal {
        let parsed = |texts: &[&str]| texts.iter().filter_map(|text| Permission::parse(text)).collect();
        let subject = PrincipalSubject {
            name: "ann".into(),
            roles: roles.to_vec(),
            organisation: Some("13".into()),
            account: None,
            platform: None,
            grants: Vec::new(),
            permissions: permissions.map(parsed),
        };
        Principal::of(Proof::CodeFlow, subject)
    }

    #[test]
    fn what_is_not_granted_is_denied() {
        let nothing = principal(&[Role::Admin], Some(&[]));
        assert!(!nothing.may("pubkey", Verb::Read) && !nothing.has_permissions());
        let reader = principal(&[], Some(&["provisioning:pubkey:read", "inventory:*:*"]));
        assert!(reader.may("pubkey", Verb::Read) && !reader.may("pubkey", Verb::Write));
        assert!(!reader.may("source", Verb::Read));
        let launcher = principal(&[], Some(&["provisioning:reservation:write"]));
        assert!(launcher.may("reservation", Verb::Write) && launcher.may("reservation", Verb::Control));
        assert!(!launcher.may("reservation.aws", Verb::Write));
        let operator = principal(&[], Some(&["provisioning:reservation:control"]));
        assert!(operator.may("reservation", Verb::Control) && !operator.may("reservation", Verb::Write));
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
            let who = principal(&[role], None);
            let may = [Verb::Read, Verb::Control, Verb::Write].map(|verb| who.may("reservation.aws", verb));
            assert_eq!(may, expected, "{role}");
        }
        let both = principal(&[Role::Launcher, Role::Reader], None);
        assert!(both.may("pubkey", Verb::Write), "a second role takes nothing away");
        assert!(both.can(Capability::Read) && !both.can(Capability::Operate));
    }

    #[test]
    fn a_grant_adds_its_workflows_to_the_role() {
        let subject = |grants: &[&str]| PrincipalSubject {
            roles: vec![Role::Reader],
            grants: grants.iter().map(|text| text.parse().unwrap()).collect(),
            ..PrincipalSubject::default()
        };
        let may = |grants: &[&str], workflow: &str| {
            let who = Principal::of(Proof::CodeFlow, subject(grants));
            (who.can_with_some(Capability::Submit), who.can_with(Capability::Submit, workflow))
        };
        assert_eq!(may(&[], "orders.create"), (false, false));
        assert_eq!(may(&["submit:orders.*"], "orders.create"), (true, true));
        assert_eq!(may(&["submit:orders.*"], "runtime.provision"), (true, false));
        assert_eq!(may(&["operate:orders.*"], "orders.create"), (false, false));
        let some = Principal::of(Proof::CodeFlow, subject(&["submit:orders.*"]));
        let all = Principal::of(Proof::CodeFlow, subject(&["submit:*"]));
        assert!(!some.can(Capability::Submit) && all.can(Capability::Submit));
        let alone = PrincipalSubject { roles: Vec::new(), ..subject(&["submit:orders.*"]) };
        assert_eq!(Principal::of(Proof::CodeFlow, alone).roles, [Role::Limited]);
    }

    #[test]
    fn only_credentials_of_this_server_act_for_its_organisation() {
        let subject = |organisation: Option<&str>| PrincipalSubject {
            organisation: organisation.map(str::to_owned),
            ..PrincipalSubject::default()
        };
        let own = [Proof::Password { digest: "d".into() }, Proof::Token { digest: "d".into() }];
        let others = [Proof::Bearer { expires_at: Timestamp(1) }, Proof::CodeFlow, Proof::Header];
        for proof in own {
            for claimed in [None, Some("13")] {
                let made = Principal::of(proof.clone(), subject(claimed)).organisation;
                assert_eq!(made, Organisation::Server, "{proof:?}");
            }
        }
        for proof in others {
            let made = |claimed| Principal::of(proof.clone(), subject(claimed)).organisation;
            assert_eq!(made(Some("13")), Organisation::Named("13".into()), "{proof:?}");
            for bad in [None, Some(""), Some("a b"), Some("a:b")] {
                assert_eq!(made(bad), Organisation::Missing, "{proof:?} {bad:?}");
            }
        }
    }

    #[test]
    fn a_session_makes_the_same_principal_and_ends_with_the_proof() {
        let (now, later) = (Timestamp(1), Timestamp(9));
        for permissions in [None, Some(&[][..]), Some(&["provisioning:pubkey:read"][..])] {
            for proof in [Proof::Bearer { expires_at: Timestamp(5) }, Proof::CodeFlow] {
                let grants = engine::parse_grants("submit:orders.*").unwrap();
                let roles = [Role::Launcher, Role::Reader];
                let before = Principal { proof, grants, ..principal(&roles, permissions) };
                let row = before.session("d".into(), now, later);
                assert_eq!(Principal::of_session(&row), before);
                let end = if before.proof == Proof::CodeFlow { later } else { Timestamp(5) };
                assert_eq!(row.expires_at, end);
            }
        }
    }

    #[test]
    fn an_organisation_has_a_plain_name() {
        assert!(is_organisation("000013") && is_organisation("a.b_c-d"));
        for bad in ["", "a b", "a:b", "a/b", "\u{e4}", &"x".repeat(ORG_CHARS_MAX + 1)] {
            assert!(!is_organisation(bad), "{bad}");
        }
    }
}
