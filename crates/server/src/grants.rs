//! Which workflows and operations a principal may see and use, and which rights it may hand on.
//!
//! A grant opens its workflows and nothing else: what a principal may not see is not there for it.

use api::Code;
use engine::{Capability, Grant, OperationId, Role};

use crate::error;
use crate::guard::{forbidden, forbidden_with};
use crate::http::Failure;
use crate::principal::Principal;

/// More than a principal that is limited needs; more are a role.
const GRANTS_MAX: usize = 50;
const GRANT_CHARS_MAX: usize = 200;

/// Whether it may do this with an operation of a workflow. One that it may not see either is not there.
pub(crate) fn check_operation(
    principal: &Principal,
    needed: Capability,
    id: OperationId,
    workflow: &str,
) -> Result<(), Failure> {
    if principal.can_with(needed, workflow) {
        return Ok(());
    }
    let is_seen = principal.can_with(Capability::Read, workflow);
    Err(if is_seen { forbidden_with(principal, needed, workflow) } else { error::no_such_operation(id) })
}

/// Whether it may begin operations of a workflow, also of one that does not exist.
pub(crate) fn check_submit(principal: &Principal, workflow: &str) -> Result<(), Failure> {
    if principal.can_with(Capability::Submit, workflow) {
        return Ok(());
    }
    Err(forbidden_with(principal, Capability::Submit, workflow))
}

/// Whether it may declare a workflow or withdraw it. What is submitted to a workflow goes where its declaration says, so
/// who declares one needs all that can be granted on it.
pub(crate) fn check_declare(caller: &Principal, workflow: &str) -> Result<(), Failure> {
    let needed = [Capability::Read, Capability::Operate, Capability::Submit];
    let missing = needed.into_iter().find(|needed| !caller.can_with(*needed, workflow));
    missing.map_or(Ok(()), |needed| Err(forbidden_with(caller, needed, workflow)))
}

/// Reads the grants of a request.
pub(crate) fn read(texts: &[String]) -> Result<Vec<Grant>, Failure> {
    let wrong =
        |why: String| Failure::new(Code::InvalidBody, format!("grants: {why}")).with("field", "grants");
    if texts.len() > GRANTS_MAX {
        return Err(wrong(format!(
            "there are {} of them, and at most {GRANTS_MAX} are possible",
            texts.len()
        )));
    }
    let mut grants: Vec<Grant> = Vec::new();
    for text in texts {
        if text.chars().count() > GRANT_CHARS_MAX {
            return Err(wrong(format!("a grant has at most {GRANT_CHARS_MAX} characters")));
        }
        let grant = text.parse().map_err(wrong)?;
        if !grants.contains(&grant) {
            grants.push(grant);
        }
    }
    Ok(grants)
}

/// On the wire.
pub(crate) fn texts(grants: &[Grant]) -> Vec<String> {
    grants.iter().map(ToString::to_string).collect()
}

/// Whether a principal has all of this itself: who hands on rights, or takes over a user, gains nothing by it.
pub(crate) fn check_within(principal: &Principal, role: Role, grants: &[Grant]) -> Result<(), Failure> {
    let missing = role.capabilities().iter().find(|capability| !principal.can(**capability));
    if let Some(capability) = missing {
        return Err(forbidden(principal, *capability));
    }
    let has_verb =
        |verb: &&str| principal.roles.iter().any(|own| own.verbs().iter().any(|it| it == verb || *it == "*"));
    if !role.verbs().iter().all(has_verb) {
        let detail = format!(
            "{} cannot give the role {role}, because it may not do what that role may",
            principal.name
        );
        return Err(Failure::new(Code::Forbidden, detail).with("needs", role.as_str()));
    }
    match grants.iter().find(|grant| !principal.has_grant(grant)) {
        None => Ok(()),
        Some(grant) => {
            let detail =
                format!("{} cannot give the grant {grant}, because it has less than that", principal.name);
            Err(Failure::new(Code::Forbidden, detail).with("needs", grant.to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::Proof;

    use super::*;
    use crate::principal::PrincipalSubject;

    fn principal(role: Role, grants: &str) -> Principal {
        let grants = engine::parse_grants(grants).unwrap();
        let subject =
            PrincipalSubject { name: "ann".into(), roles: vec![role], grants, ..PrincipalSubject::default() };
        Principal::of(Proof::CodeFlow, subject)
    }

    #[test]
    fn no_one_hands_on_more_than_they_have() {
        let (admin, lead) =
            (principal(Role::Admin, ""), principal(Role::Limited, "administer:* submit:acme.* read:*"));
        for (role, grants, by_lead) in [
            (Role::Limited, "", true),
            (Role::Limited, "submit:acme.db", true),
            (Role::Limited, "submit:acme.eu.* read:acme.*", true),
            (Role::Limited, "submit:*", false),
            (Role::Limited, "submit:other.*", false),
            (Role::Limited, "operate:acme.*", false),
            (Role::Reader, "", false),
            (Role::Launcher, "", false),
            (Role::Operator, "", false),
            (Role::Broker, "", false),
            (Role::Admin, "", false),
        ] {
            let grants = engine::parse_grants(grants).unwrap();
            assert!(check_within(&admin, role, &grants).is_ok(), "{role} {grants:?}");
            assert_eq!(check_within(&lead, role, &grants).is_ok(), by_lead, "{role} {grants:?}");
        }
    }

    #[test]
    fn grants_of_a_request_are_read_once_each_and_a_wrong_one_is_named() {
        let read = |texts: &[&str]| read(&texts.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(
            texts(&read(&["submit:a.*", "submit:a.*", "read:a.b"]).unwrap()),
            ["submit:a.*", "read:a.b"]
        );
        for wrong in
            [&["submit:a.*", "fly:a.*"][..], &["submit:a.* read:a.*"], &[&"x".repeat(201)], &["submit:a"; 51]]
        {
            let error = read(wrong).unwrap_err().into_error(crate::error::fault);
            assert!(error.detail.starts_with("grants: "), "{}", error.detail);
        }
    }

    #[test]
    fn an_operation_that_may_not_be_seen_is_not_there() {
        let who = principal(Role::Limited, "read:acme.* operate:acme.db");
        let check = |needed, workflow| {
            let id = OperationId(uuid::Uuid::nil());
            check_operation(&who, needed, id, workflow)
                .map_err(|failure| failure.into_error(crate::error::fault).code.to_string())
        };
        assert_eq!(check(Capability::Operate, "acme.db"), Ok(()));
        assert_eq!(check(Capability::Operate, "acme.vm"), Err("forbidden".into()));
        assert_eq!(check(Capability::Operate, "other.db"), Err("operation-not-found".into()));
        assert_eq!(check(Capability::Read, "other.db"), Err("operation-not-found".into()));
        assert!(who.sees("acme.vm") && !who.sees("other.db") && who.sees_some());
    }
}
