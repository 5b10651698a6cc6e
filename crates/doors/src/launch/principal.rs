//! A principal that acts for one organisation.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use engine::Proof;
use workflows::launch::identity::CallerIdentity;
use workflows::launch::params::Requester;

use super::Desk;
use super::error;
use super::rights::Verb;
use crate::http::Failure;
use crate::principal::{Principal, permission};

#[derive(Debug, Clone)]
pub(super) struct TenantPrincipal {
    pub(super) requester: Requester,
    pub(super) principal: Principal,
    /// The header that proved it, to be handed on to the Image Builder.
    pub(super) identity: Option<CallerIdentity>,
}

impl TenantPrincipal {
    pub(super) fn new(
        principal: Principal,
        org: String,
        identity: Option<CallerIdentity>,
    ) -> TenantPrincipal {
        let (account, user) = (principal.account.clone(), principal.name.clone());
        TenantPrincipal { requester: Requester { org, account, user }, principal, identity }
    }

    pub(super) fn may(&self, resource: &str, verb: Verb) -> bool {
        self.principal.may(resource, verb)
    }

    pub(super) fn must(&self, resource: &str, verb: Verb) -> Result<(), Failure> {
        if self.may(resource, verb) { Ok(()) } else { Err(error::denied(&permission(resource, verb))) }
    }

    /// The name in the audit log. A name from a header is unique in its organisation only.
    pub(super) fn name(&self) -> String {
        match self.principal.proof {
            Proof::Header => format!("{}/{}", self.requester.tenant(), self.requester.user),
            _ => self.requester.user.clone(),
        }
    }
}

impl FromRequestParts<Desk> for TenantPrincipal {
    type Rejection = Failure;

    /// The guard has put it there for every route that needs one.
    async fn from_request_parts(parts: &mut Parts, _desk: &Desk) -> Result<TenantPrincipal, Failure> {
        parts.extensions.get::<TenantPrincipal>().cloned().ok_or_else(Failure::internal)
    }
}
