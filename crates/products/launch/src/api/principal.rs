//! A principal that acts for one organisation.

use crate::model::identity::CallerIdentity;
use crate::model::params::LaunchOwner;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use engine::Proof;

use super::LaunchState;
use super::error;
use super::rights::Verb;
use server::http::Failure;
use server::principal::{Principal, permission};

#[derive(Debug, Clone)]
pub(crate) struct TenantPrincipal {
    pub(crate) owner: LaunchOwner,
    pub(crate) principal: Principal,
    /// The header that proved it, to be handed on to the Image Builder.
    pub(crate) identity: Option<CallerIdentity>,
}

impl TenantPrincipal {
    pub(crate) fn new(
        principal: Principal,
        org: String,
        identity: Option<CallerIdentity>,
    ) -> TenantPrincipal {
        let (account, user) = (principal.account.clone(), principal.name.clone());
        TenantPrincipal { owner: LaunchOwner { org, account, user }, principal, identity }
    }

    pub(crate) fn may(&self, resource: &str, verb: Verb) -> bool {
        self.principal.may(resource, verb)
    }

    pub(crate) fn must(&self, resource: &str, verb: Verb) -> Result<(), Failure> {
        if self.may(resource, verb) { Ok(()) } else { Err(error::denied(&permission(resource, verb))) }
    }

    /// The name in the audit log. A name from a header is unique in its organisation only.
    pub(crate) fn name(&self) -> String {
        match self.principal.proof {
            Proof::Header => format!("{}/{}", self.owner.tenant(), self.owner.user),
            _ => self.owner.user.clone(),
        }
    }
}

impl FromRequestParts<LaunchState> for TenantPrincipal {
    type Rejection = Failure;

    /// The guard has put it there for every route that needs one.
    async fn from_request_parts(
        parts: &mut Parts,
        _shared: &LaunchState,
    ) -> Result<TenantPrincipal, Failure> {
        parts.extensions.get::<TenantPrincipal>().cloned().ok_or_else(Failure::internal)
    }
}
