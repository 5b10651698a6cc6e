//! The header itself: base64 of a JSON document that a trusted proxy has checked.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use engine::secret::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Organisation;

pub const HEADER: &str = "X-Rh-Identity";

/// Entitlements make it long, but not this long.
const HEADER_BYTES_MAX: usize = 16 * 1024;
/// Becomes part of the name of a tenant.
pub const ORG_CHARS_MAX: usize = 64;
const NAME_CHARS_MAX: usize = 256;
/// The identity that the external system sees for calls without a user.
const OURSELVES: &str = "provision-engine";
/// These may come without an organisation as long as they have no account number either.
const WITHOUT_ORG: [&str; 2] = ["Associate", "X509"];

/// Why a header cannot be used. There are no other reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    #[error("the header x-rh-identity is missing")]
    Missing,
    #[error("the header x-rh-identity is not base64 of at most {HEADER_BYTES_MAX} bytes")]
    NotBase64,
    #[error("the org_id in x-rh-identity is invalid or missing")]
    NoOrg,
    #[error("the type in x-rh-identity is missing")]
    NoType,
    #[error("the header x-rh-identity does not hold JSON of an identity")]
    NotJson,
}

/// What a header says about the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityHeader {
    /// `User`, `ServiceAccount`, `System` and others.
    pub kind: String,
    /// Missing only for the kinds that need none.
    pub org: Option<String>,
    pub account: Option<String>,
    /// The name of the user or of the service account.
    pub user: Option<String>,
    pub is_org_admin: bool,
}

impl IdentityHeader {
    /// Whom to call others for. A caller without an organisation owns nothing.
    pub fn organisation(&self) -> Result<Organisation, IdentityError> {
        let org = self.org.clone().ok_or(IdentityError::NoOrg)?;
        Ok(Organisation { org, account: self.account.clone() })
    }
}

/// What is not named here is none of our business.
#[derive(Deserialize)]
struct HeaderDocument {
    identity: Identity,
}

#[derive(Deserialize)]
struct Identity {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    org_id: Option<String>,
    #[serde(default)]
    account_number: Option<String>,
    #[serde(default)]
    internal: Option<Internal>,
    #[serde(default)]
    user: Option<UserClaims>,
    #[serde(default)]
    service_account: Option<UserClaims>,
}

#[derive(Deserialize)]
struct Internal {
    #[serde(default)]
    org_id: Option<String>,
}

#[derive(Deserialize)]
struct UserClaims {
    #[serde(default)]
    username: Option<String>,
    #[serde(default)]
    is_org_admin: bool,
}

/// Reads the value of the header; an empty one is a missing one.
pub fn parse(value: &str) -> Result<IdentityHeader, IdentityError> {
    let value = value.trim();
    if value.is_empty() {
        return Err(IdentityError::Missing);
    }
    if value.len() > HEADER_BYTES_MAX {
        return Err(IdentityError::NotBase64);
    }
    let decoded = STANDARD.decode(value).map_err(|_| IdentityError::NotBase64)?;
    let HeaderDocument { identity } = serde_json::from_slice(&decoded).map_err(|_| IdentityError::NotJson)?;
    let kind = given(identity.kind);
    let account = given(identity.account_number).filter(|account| is_name(account, NAME_CHARS_MAX));
    let org = given(identity.org_id).or_else(|| given(identity.internal?.org_id));
    match &org {
        Some(org) if !is_name(org, ORG_CHARS_MAX) => return Err(IdentityError::NoOrg),
        None if !needs_no_org(kind.as_deref(), account.as_deref()) => return Err(IdentityError::NoOrg),
        _ => {}
    }
    let kind = kind.filter(|kind| is_name(kind, NAME_CHARS_MAX)).ok_or(IdentityError::NoType)?;
    let is_org_admin = identity.user.as_ref().is_some_and(|user| user.is_org_admin);
    let user_claims = identity.user.or(identity.service_account);
    let user = user_claims.and_then(|user_claims| given(user_claims.username)).filter(|user| is_text(user));
    Ok(IdentityHeader { kind, org, account, user, is_org_admin })
}

/// The value of the header for a call that no person waits for.
pub fn header(who: &Organisation) -> SecretString {
    SecretString::from(STANDARD.encode(document(who).to_string()))
}

pub(super) fn document(who: &Organisation) -> Value {
    json!({"identity": {
        "type": "User",
        "org_id": who.org,
        "account_number": who.account.as_deref().unwrap_or_default(),
        "internal": {"org_id": who.org},
        "user": {"username": OURSELVES},
    }})
}

fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

fn needs_no_org(kind: Option<&str>, account: Option<&str>) -> bool {
    kind.is_some_and(|kind| WITHOUT_ORG.contains(&kind)) && account.is_none()
}

/// Goes into names, rows and logs as it is.
fn is_name(text: &str, chars_max: usize) -> bool {
    text.len() <= chars_max && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn is_text(text: &str) -> bool {
    text.chars().count() <= NAME_CHARS_MAX && !text.chars().any(char::is_control)
}
