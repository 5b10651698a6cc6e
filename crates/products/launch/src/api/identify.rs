//! The principal of a request, and the organisation that it acts for. A header counts from a proxy that is trusted;
//! otherwise a token does: of this server, or of an issuer.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use crate::model::identity::{CallerIdentity, IdentityError};
use axum::extract::ConnectInfo;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::{AuditRow, Capability, Organisation, Proof};
use tracing::{debug, warn};

use super::LaunchShared;
use super::error;
use super::permissions::granted;
use super::principal::TenantPrincipal;
use server::RequestId;
use server::audit;
use server::auth::{AuthError, BearerToken, bearer_token, principal_of};
use server::http::Failure;
use server::principal::{Principal, PrincipalSubject, is_organisation};

pub(crate) const X_RH_IDENTITY: HeaderName = HeaderName::from_static("x-rh-identity");
const X_ORG_ID: HeaderName = HeaderName::from_static("x-org-id");
/// Of whom it is remembered that they were written down.
const PEERS_MAX: usize = 1024;

/// A user who is not let in.
pub(crate) enum IdentifyError {
    /// The header is not good. Clients know this as plain text.
    Header(IdentityError),
    Failure(Failure),
}

impl IntoResponse for IdentifyError {
    fn into_response(self) -> Response {
        match self {
            IdentifyError::Header(error) => {
                let plain = [(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))];
                (StatusCode::BAD_REQUEST, plain, format!("Bad Request: {error}\n")).into_response()
            }
            IdentifyError::Failure(refused) => refused.into_response(),
        }
    }
}

impl From<IdentityError> for IdentifyError {
    fn from(error: IdentityError) -> IdentifyError {
        IdentifyError::Header(error)
    }
}

impl From<Failure> for IdentifyError {
    fn from(refused: Failure) -> IdentifyError {
        IdentifyError::Failure(refused)
    }
}

/// Peers whose identity header was ignored and logged.
#[derive(Default)]
pub(crate) struct Peers(Mutex<HashSet<IpAddr>>);

impl Peers {
    /// Whether this is the first time. With too many of them, none counts as new.
    fn is_new(&self, peer: IpAddr) -> bool {
        let mut peers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        peers.len() < PEERS_MAX && peers.insert(peer)
    }
}

pub(crate) async fn identify(shared: &LaunchShared, parts: &Parts) -> Result<TenantPrincipal, IdentifyError> {
    let (principal, identity) = match parts.extensions.get::<Principal>() {
        Some(principal) => (principal.clone(), None),
        None => authenticate(shared, parts).await?,
    };
    let org = chosen(&parts.headers, &principal, &shared.api_parts.default_org)?;
    if principal.proof != Proof::Header && !principal.has_permissions() {
        let cause = format!("{} has no permission at this API", principal.name);
        return Err(error::forbidden(cause).hint("use a token with the role launcher").into());
    }
    Ok(TenantPrincipal::new(principal, org, identity))
}

/// The principal, and the header that proved it.
type Proven = (Principal, Option<CallerIdentity>);

async fn authenticate(shared: &LaunchShared, parts: &Parts) -> Result<Proven, IdentifyError> {
    let headers = &parts.headers;
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
    let is_trusted = peer.is_some_and(|peer| shared.api_parts.trusted_proxies.has(peer));
    let (has_header, has_token) = (headers.contains_key(X_RH_IDENTITY), headers.contains_key(AUTHORIZATION));
    if is_trusted && (has_header || !has_token) {
        return by_header(shared, headers).await;
    }
    if has_header {
        write_down(shared, peer, parts).await;
    }
    let token = match bearer_token(headers) {
        BearerToken::Found(token) => token,
        BearerToken::Missing => {
            return Err(error::unauthenticated("the request names no user", false).into());
        }
        BearerToken::Unreadable => {
            let cause = "the Authorization header has no bearer token";
            return Err(error::unauthenticated(cause, true).into());
        }
    };
    let found = principal_of(&shared.app, token).await.map(|principal| (principal, None));
    found.map_err(|denied| match denied {
        AuthError::Refused(why) => error::unauthenticated(&why, true).into(),
        AuthError::Unavailable(error) => Failure::from(error).into(),
    })
}

async fn by_header(shared: &LaunchShared, headers: &HeaderMap) -> Result<Proven, IdentifyError> {
    let mut values = headers.get_all(X_RH_IDENTITY).iter();
    let value = values.next().ok_or(IdentityError::Missing)?;
    let value = value.to_str().ok().filter(|_| values.next().is_none()).ok_or(IdentityError::NotBase64)?;
    let (identity, who) = CallerIdentity::forwarded(value)?;
    let org = who.org.filter(|org| is_organisation(org)).ok_or(IdentityError::NoOrg)?;
    let subject = PrincipalSubject {
        name: who.user.unwrap_or(who.kind),
        roles: Vec::new(),
        organisation: Some(org),
        account: who.account,
        platform: None,
        grants: Vec::new(),
        permissions: Some(granted(shared, value).await?.to_vec()),
    };
    Ok((Principal::of(Proof::Header, subject), Some(identity)))
}

/// A client may pretend to be a proxy: the log has one line for each address.
async fn write_down(shared: &LaunchShared, peer: Option<IpAddr>, parts: &Parts) {
    let peer = peer.map_or(IpAddr::from([0; 4]), |peer| peer.to_canonical());
    if !shared.peers.is_new(peer) {
        debug!(%peer, "X-Rh-Identity ignored again");
        return;
    }
    warn!(%peer, "X-Rh-Identity ignored: the peer is not a trusted proxy");
    let id = parts.extensions.get::<RequestId>().map(|id| id.0.clone());
    let row = AuditRow {
        at: shared.app.engine.now(),
        who: format!("peer {peer}"),
        action: "identity.untrusted".into(),
        target: X_RH_IDENTITY.as_str().into(),
        result: "ignored".into(),
        request: id.unwrap_or_default(),
    };
    audit::write(&shared.app, row).await;
}

/// An admin may choose an organisation; every other principal has one, and may repeat its name. A proxy says it all in
/// its own header.
fn chosen(headers: &HeaderMap, principal: &Principal, default_org: &str) -> Result<String, Failure> {
    let mut values = headers.get_all(X_ORG_ID).iter().filter(|_| principal.proof != Proof::Header);
    let wanted = values.next().map(|value| {
        let text = value.to_str().ok().filter(|text| is_organisation(text) && values.next().is_none());
        let rule = "it must have 1 to 64 letters, digits, `.`, `-` and `_`";
        text.ok_or_else(|| error::invalid(X_ORG_ID.as_str(), rule))
    });
    let home = match &principal.organisation {
        Organisation::Server => Some(default_org),
        Organisation::Named(id) => Some(id.as_str()),
        Organisation::Missing => None,
    };
    match (wanted.transpose()?, home) {
        (Some(wanted), Some(home)) if wanted == home => Ok(home.to_owned()),
        (Some(wanted), _) if principal.can(Capability::Administer) => Ok(wanted.to_owned()),
        (Some(_), _) => {
            let cause = "only an admin may act for another organisation";
            Err(error::forbidden(cause).field(X_ORG_ID.as_str()))
        }
        (None, Some(home)) => Ok(home.to_owned()),
        (None, None) => Err(error::forbidden("this token names no organisation")
            .hint("its issuer must put the id of the organisation into the claim that the settings name")),
    }
}

#[cfg(test)]
mod tests {
    use engine::Role;

    use super::*;

    #[test]
    fn only_an_admin_chooses_an_organisation() {
        let pick = |wanted: &str, home: Option<&str>, is_admin: bool| {
            let headers = [(X_ORG_ID, wanted)].into_iter().filter(|(_, wanted)| !wanted.is_empty());
            let headers = headers.map(|(name, wanted)| (name, wanted.parse().unwrap())).collect();
            let roles = if is_admin { vec![Role::Admin] } else { vec![] };
            let organisation = home.map(str::to_owned);
            let subject = PrincipalSubject { roles, organisation, ..PrincipalSubject::default() };
            let picked = chosen(&headers, &Principal::of(Proof::CodeFlow, subject), "ours");
            picked.map_err(|refused| refused.into_error(error::fault).status.as_u16())
        };
        assert_eq!(pick("", Some("13"), false), Ok("13".into()));
        assert_eq!(pick("13", Some("13"), false), Ok("13".into()));
        assert_eq!(pick("14", Some("13"), false), Err(403));
        assert_eq!(pick("14", Some("13"), true), Ok("14".into()));
        assert_eq!(pick("14", None, true), Ok("14".into()));
        assert_eq!(pick("14", None, false), Err(403));
        assert_eq!(pick("a:b", Some("13"), true), Err(400));
        assert_eq!(pick("", None, true), Err(403));
        assert_eq!(pick("", Some("a b"), false), Err(403), "a claim that is no name");
        let own = Principal::of(Proof::Token { digest: "d".into() }, PrincipalSubject::default());
        assert_eq!(chosen(&HeaderMap::new(), &own, "ours").ok().as_deref(), Some("ours"));
    }

    #[test]
    fn a_peer_is_new_once_and_a_crowd_never() {
        let peers = Peers::default();
        assert!(peers.is_new([10, 0, 0, 1].into()));
        assert!(!peers.is_new([10, 0, 0, 1].into()));
        for number in 0..u32::try_from(PEERS_MAX).unwrap() * 2 {
            peers.is_new(std::net::Ipv4Addr::from_bits(number).into());
        }
        assert!(!peers.is_new([192, 0, 2, 1].into()));
        assert_eq!(peers.0.lock().unwrap().len(), PEERS_MAX);
    }
}
