//! Who calls: the keys that the sandbox knows, and the sessions of roles that a client took.
//!
//! | key id | secret | account |
//! |---|---|---|
//! | `AKIASANDBOX` | `sandbox-secret` | 999999999999, that of the engine |
//! | `AKIA` and twelve digits | `sandbox-secret` | these digits |
//! | `ASIA…`, from `AssumeRole` | as answered, with a session token | that of the role |
//!
//! Every role of every account can be taken. Some names have a meaning: nothing may assume `denied`, and
//! `no-launch` and `no-terminate` lack what they say.

use std::collections::HashMap;

use aws_lc_rs::rand;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use time::{Duration, OffsetDateTime};

use super::action::{AwsAction, AwsEndpoint};
use super::call_error::AwsError;
use super::ids::Ids;
use super::signature::{Arrived, SignatureClaim};

const OWN_KEY_ID: &str = "AKIASANDBOX";
const OWN_SECRET: &str = "sandbox-secret";
const OWN_ACCOUNT: &str = "999999999999";

/// Sessions that are over make room first.
const SESSIONS_MAX: usize = 100_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AwsIdentity {
    pub(super) account: String,
    pub(super) arn: String,
    pub(super) user_id: String,
    role: Option<String>,
}

impl AwsIdentity {
    fn user(account: &str, name: &str) -> Self {
        AwsIdentity {
            account: account.to_owned(),
            arn: format!("arn:aws:iam::{account}:user/{name}"),
            user_id: format!("AIDA{account}"),
            role: None,
        }
    }

    pub(super) fn require(&self, action: AwsAction) -> Result<(), AwsError> {
        let lacks = match self.role.as_deref() {
            Some("no-launch") => action == AwsAction::RunInstances,
            Some("no-terminate") => action == AwsAction::TerminateInstances,
            _ => false,
        };
        if lacks {
            let message = format!("{} has no policy that allows ec2:{}", self.arn, action.name());
            return Err(AwsError::new("UnauthorizedOperation", message));
        }
        Ok(())
    }
}

/// A role by its name for all of AWS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RoleArn {
    account: String,
    name: String,
}

impl RoleArn {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (account, path) = text.strip_prefix("arn:aws:iam::")?.split_once(":role/")?;
        let name = path.rsplit('/').next()?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
        let is_named = !name.is_empty() && name.len() <= 64 && name.chars().all(is_word);
        (is_account(account) && is_named)
            .then(|| RoleArn { account: account.to_owned(), name: name.to_owned() })
    }

    pub(super) fn is_denied(&self) -> bool {
        self.name == "denied"
    }
}

pub(super) fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What a role's taker gets. It is not for logs.
pub(super) struct AssumedSession {
    pub(super) key_id: String,
    pub(super) secret: String,
    pub(super) token: String,
    pub(super) expires_at: OffsetDateTime,
    pub(super) caller: AwsIdentity,
}

impl std::fmt::Debug for AssumedSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
pub(super) struct Identities {
    sessions: HashMap<String, AssumedSession>,
}

impl Identities {
    /// Finds out who signed the call, and that it was really them.
    pub(super) fn authenticate(
        &self,
        service: AwsEndpoint,
        claim: &SignatureClaim<'_>,
        arrived: &Arrived<'_>,
        now: OffsetDateTime,
    ) -> Result<AwsIdentity, AwsError> {
        let unknown = || match service {
            AwsEndpoint::Ec2 => AwsError::new("AuthFailure", "no account has these credentials"),
            AwsEndpoint::Sts => AwsError::new("InvalidClientTokenId", "no account has these credentials"),
        };
        if let Some(session) = self.sessions.get(claim.key_id) {
            if claim.session_token != Some(session.token.as_str()) {
                return Err(unknown());
            }
            claim.require_proof(arrived, &session.secret)?;
            if session.expires_at <= now {
                return Err(AwsError::new("ExpiredToken", "the session is over; take the role again"));
            }
            return Ok(session.caller.clone());
        }
        let caller = match claim.key_id.strip_prefix("AKIA") {
            _ if claim.key_id == OWN_KEY_ID => AwsIdentity::user(OWN_ACCOUNT, "engine"),
            Some(account) if is_account(account) => AwsIdentity::user(account, "owner"),
            _ => return Err(unknown()),
        };
        claim.require_proof(arrived, OWN_SECRET)?;
        Ok(caller)
    }

    pub(super) fn take_role(
        &mut self,
        ids: &mut Ids,
        role: &RoleArn,
        session_name: &str,
        lasts: Duration,
        now: OffsetDateTime,
    ) -> Result<&AssumedSession, AwsError> {
        if self.sessions.len() >= SESSIONS_MAX {
            self.sessions.retain(|_, session| session.expires_at > now);
        }
        if self.sessions.len() >= SESSIONS_MAX {
            return Err(AwsError::new("Throttling", "there are too many sessions"));
        }
        let RoleArn { account, name } = role;
        let key_id = ids.key_id();
        let caller = AwsIdentity {
            account: account.clone(),
            arn: format!("arn:aws:sts::{account}:assumed-role/{name}/{session_name}"),
            user_id: format!("AROA{account}:{session_name}"),
            role: Some(name.clone()),
        };
        let session = AssumedSession {
            key_id: key_id.clone(),
            secret: secret::<30>(),
            token: secret::<96>(),
            expires_at: now + lasts,
            caller,
        };
        Ok(self.sessions.entry(key_id).insert_entry(session).into_mut())
    }
}

fn secret<const LENGTH: usize>() -> String {
    let mut bytes = [0; LENGTH];
    rand::fill(&mut bytes).expect("the operating system gives random bytes");
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_has_an_account_and_a_name() {
        let role = RoleArn::parse("arn:aws:iam::123456789012:role/some/path/denied").unwrap();
        assert_eq!((role.account.as_str(), role.is_denied()), ("123456789012", true));
        for text in [
            "",
            "arn:aws:iam::12345678901:role/a",
            "arn:aws:iam::123456789012:role/",
            "arn:aws:iam::123456789012:user/a",
            "arn:aws:iam::123456789012:role/a b",
        ] {
            assert_eq!(RoleArn::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_session_never_shows_its_secrets() {
        let mut callers = Identities::default();
        let role = RoleArn::parse("arn:aws:iam::123456789012:role/a").unwrap();
        let now = OffsetDateTime::UNIX_EPOCH;
        let session = callers.take_role(&mut Ids::new(), &role, "s", Duration::HOUR, now).unwrap();
        let (secret, token) = (session.secret.clone(), session.token.clone());
        let shown = format!("{callers:?}");
        assert!(shown.contains("ASIA") && !shown.contains(&secret) && !shown.contains(&token));
    }
}
