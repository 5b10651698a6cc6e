//! Tokens that an issuer of `OpenID` Connect signed: whose they are and which role they bring.

mod claims;
mod code_flow;
mod exchange;
mod fetch;
mod keys;
mod signatures;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use engine::{Clock, Grant, Proof, Role};

use crate::auth::{AuthError, Bearers};
use crate::principal::Principal;
use fetch::IssuerClient;
use signatures::{Signatures, refused};

pub use code_flow::{Begun, CodeFlow, CodeFlowSettings, FlowError};

const SCOPE_DEFAULT: &str = "broker:write";
const ORG_CLAIM_DEFAULT: &str = "org_id";
const NAME_PREFIX_DEFAULT: &str = "oidc:";

/// Whose tokens are good, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcSettings {
    /// Exactly as it is in the tokens.
    pub issuer: String,
    /// Tokens must be meant for this.
    pub audience: String,
    /// Who has this scope may do what a broker may; `broker:write` without it.
    pub scope: Option<String>,
    /// Which role each group brings. The highest one counts.
    pub roles: BTreeMap<String, Role>,
    /// What each group brings beyond roles, for some workflows.
    pub grants: Vec<(String, Grant)>,
    /// The claim that names the organisation of a user of the launch API.
    pub org_claim: String,
    /// What the names of all who come from this issuer begin with.
    pub name_prefix: &'static str,
}

impl OidcSettings {
    /// The same with these groups in place of those that it had. A group of two roles brings the higher one.
    #[must_use]
    pub fn with_groups(mut self, groups: impl IntoIterator<Item = (String, Role)>) -> OidcSettings {
        self.roles.clear();
        for (group, role) in groups {
            let known = self.roles.entry(group).or_insert(role);
            *known = role.max(*known);
        }
        self
    }

    /// The same with these grants of groups.
    #[must_use]
    pub fn with_grants(mut self, grants: Vec<(String, Grant)>) -> OidcSettings {
        self.grants = grants;
        self
    }

    /// With the groups `admin`, `operator`, `viewer` and `launcher`.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> OidcSettings {
        let roles = [
            ("admin", Role::Admin),
            ("operator", Role::Operator),
            ("viewer", Role::Reader),
            ("launcher", Role::Launcher),
        ];
        OidcSettings {
            issuer: issuer.into(),
            audience: audience.into(),
            scope: None,
            roles: roles.map(|(group, role)| (group.to_owned(), role)).into(),
            grants: Vec::new(),
            org_claim: ORG_CLAIM_DEFAULT.to_owned(),
            name_prefix: NAME_PREFIX_DEFAULT,
        }
    }
}

/// Checks tokens with the public keys of one issuer.
pub struct Oidc {
    settings: OidcSettings,
    scope: String,
    signatures: Signatures,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl Bearers for Oidc {
    async fn verify(&self, token: &str) -> Result<Principal, AuthError> {
        let claims = self.signatures.claims(token).await?;
        claims.check(&self.settings, self.clock.now()).map_err(refused)?;
        let mut subject = claims.subject(&self.settings);
        if subject.roles.is_empty() && claims.has_scope(&self.scope) {
            subject.roles.push(Role::Broker);
        }
        Ok(Principal::of(Proof::Bearer { expires_at: claims.expires_at() }, subject))
    }
}

impl Oidc {
    /// The error names the setting.
    pub fn new(settings: OidcSettings, clock: Arc<dyn Clock>) -> Result<Oidc, String> {
        if settings.audience.is_empty() {
            return Err("audience: must not be empty".into());
        }
        let signatures = Signatures::new(IssuerClient::new(&settings.issuer)?, Arc::clone(&clock));
        let scope = settings.scope.clone().unwrap_or_else(|| SCOPE_DEFAULT.to_owned());
        Ok(Oidc { settings, scope, signatures, clock })
    }
}
