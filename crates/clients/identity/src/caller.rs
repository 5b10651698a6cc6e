//! What a hosted service sees of the caller: the caller's own header, or one that is made for an organisation.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use engine::secret::{ExposeSecret, SecretString};
use reqwest::header::HeaderValue;
use serde_json::{Map, Value, json};

use super::header::{IdentityError, document, header, parse};
use super::{IdentityHeader, Organisation};

/// The value of the identity header, as it is sent. It may hold names and addresses of people, so that it is a secret.
#[derive(Clone)]
pub struct CallerIdentity(SecretString);

impl CallerIdentity {
    /// The header of a caller, to be handed on unchanged. It must be readable, and not too long.
    pub fn forwarded(value: &str) -> Result<(CallerIdentity, IdentityHeader), IdentityError> {
        let read = parse(value)?;
        Ok((CallerIdentity(SecretString::from(value)), read))
    }

    pub(super) fn header_value(&self) -> HeaderValue {
        let value = HeaderValue::from_str(self.0.expose_secret());
        let mut value = value.expect("base64 has no character that a header cannot carry");
        value.set_sensitive(true);
        value
    }
}

impl ExposeSecret<str> for CallerIdentity {
    fn expose_secret(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for CallerIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallerIdentity(…)")
    }
}

/// An organisation and its account number, and no entitlement.
impl From<&Organisation> for CallerIdentity {
    fn from(who: &Organisation) -> CallerIdentity {
        CallerIdentity(header(who))
    }
}

/// What an organisation is at hosted services whose callers here have no identity header: the operator says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceIdentity {
    /// Nothing means the name that the organisation has here.
    pub org_id: Option<String>,
    pub account_number: Option<String>,
    /// Such as `rhel`.
    pub entitlements: Vec<String>,
}

impl ServiceIdentity {
    /// The org id at the hosted services of an organisation with this name here.
    pub fn org_id<'a>(&'a self, organisation: &'a str) -> &'a str {
        self.org_id.as_deref().unwrap_or(organisation)
    }

    pub fn identity(&self, organisation: &str) -> CallerIdentity {
        let org = self.org_id(organisation).to_owned();
        let mut document = document(&Organisation { org, account: self.account_number.clone() });
        if !self.entitlements.is_empty() {
            let granted = json!({"is_entitled": true, "is_trial": false});
            let entitlements: Map<String, Value> =
                self.entitlements.iter().map(|name| (name.clone(), granted.clone())).collect();
            document["entitlements"] = entitlements.into();
        }
        CallerIdentity(SecretString::from(STANDARD.encode(document.to_string())))
    }
}
