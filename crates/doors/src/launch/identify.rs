//! Who asks. A header counts from a proxy that is trusted; otherwise a token does: of ours, or of an issuer.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use axum::extract::ConnectInfo;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::{AuditRow, Role};
use tokio::time::timeout;
use tracing::{debug, warn};
use workflows::launch::identity::{self, IdentityError};
use workflows::launch::params::Requester;
use workflows::launch::rbac::Permission;

use super::Counter;
use super::permissions::granted;
use super::principal::{By, Principal, is_org, permissions_of};
use super::refused::Refused;
use crate::audit;
use crate::auth::{Denied, Member, identify as identify_ours};
use crate::hall::RequestId;
use crate::inside::Vouched;
use crate::tokens::looks_like_a_token;

pub(crate) const X_RH_IDENTITY: HeaderName = HeaderName::from_static("x-rh-identity");
const X_ORG_ID: HeaderName = HeaderName::from_static("x-org-id");
/// A header that is longer holds no token of ours, and an issuer's tokens are shorter too.
const AUTHORIZATION_BYTES_MAX: usize = 16 * 1024;
/// Of whom it is remembered that they were written down.
const PEERS_MAX: usize = 1024;

/// Somebody who is not let in.
pub(super) enum Stranger {
    /// The header is not good. Clients know this as plain text.
    Header(IdentityError),
    Refused(Refused),
}

impl IntoResponse for Stranger {
    fn into_response(self) -> Response {
        match self {
            Stranger::Header(error) => {
                let plain = [(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))];
                (StatusCode::BAD_REQUEST, plain, format!("Bad Request: {error}\n")).into_response()
            }
            Stranger::Refused(refused) => refused.into_response(),
        }
    }
}

impl From<IdentityError> for Stranger {
    fn from(error: IdentityError) -> Stranger {
        Stranger::Header(error)
    }
}

impl From<Refused> for Stranger {
    fn from(refused: Refused) -> Stranger {
        Stranger::Refused(refused)
    }
}

/// Peers who sent a header that nobody believes, and were written down for it.
#[derive(Default)]
pub(super) struct Peers(Mutex<HashSet<IpAddr>>);

impl Peers {
    /// Whether this is the first time. With too many of them, nobody is new any more.
    fn is_new(&self, peer: IpAddr) -> bool {
        let mut peers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        peers.len() < PEERS_MAX && peers.insert(peer)
    }
}

pub(super) async fn identify(desk: &Counter, parts: &Parts) -> Result<Principal, Stranger> {
    let headers = &parts.headers;
    if let Some(vouched) = parts.extensions.get::<Vouched>() {
        return Ok(by_word(desk, headers, vouched)?);
    }
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
    let is_trusted = peer.is_some_and(|peer| desk.door.trusted_proxies.has(peer));
    let (has_header, has_token) = (headers.contains_key(X_RH_IDENTITY), headers.contains_key(AUTHORIZATION));
    if is_trusted && (has_header || !has_token) {
        return by_header(desk, headers).await;
    }
    if has_header {
        write_down(desk, peer, parts).await;
    }
    let token = presented(headers)?;
    Ok(by_token(desk, headers, token).await?)
}

/// Who was known before this door was reached. With an organisation it is a guest of an issuer.
fn by_word(desk: &Counter, headers: &HeaderMap, who: &Vouched) -> Result<Principal, Refused> {
    let by = if who.org.is_some() { By::Bearer } else { By::Token };
    let home = who.org.clone().unwrap_or_else(|| desk.door.default_org.clone());
    let org = chosen(headers, Some(home), who.role == Role::Admin)?;
    let requester = Requester { org, account: None, user: who.name.clone() };
    Ok(Principal::new(requester, by, permissions_of(&[who.role]).into()))
}

async fn by_header(desk: &Counter, headers: &HeaderMap) -> Result<Principal, Stranger> {
    let mut values = headers.get_all(X_RH_IDENTITY).iter();
    let value = values.next().ok_or(IdentityError::Missing)?;
    let value = value.to_str().ok().filter(|_| values.next().is_none()).ok_or(IdentityError::NotBase64)?;
    let who = identity::parse(value)?;
    let org = who.org.filter(|org| is_org(org)).ok_or(IdentityError::NoOrg)?;
    let requester = Requester { org, account: who.account, user: who.user.unwrap_or(who.kind) };
    Ok(Principal::new(requester, By::Header, granted(desk, value).await?))
}

/// Somebody may want to pass for somebody else: once for each of them there is a row that says so.
async fn write_down(desk: &Counter, peer: Option<IpAddr>, parts: &Parts) {
    let peer = peer.map_or(IpAddr::from([0; 4]), |peer| peer.to_canonical());
    if !desk.peers.is_new(peer) {
        debug!(%peer, "X-Rh-Identity counted for nothing again");
        return;
    }
    warn!(%peer, "X-Rh-Identity from a peer that is no trusted proxy counts for nothing");
    let id = parts.extensions.get::<RequestId>().map(|id| id.0.clone());
    let row = AuditRow {
        at: desk.hall.engine.now(),
        who: format!("peer {peer}"),
        action: "identity.untrusted".into(),
        target: X_RH_IDENTITY.as_str().into(),
        result: "ignored".into(),
        request: id.unwrap_or_default(),
    };
    audit::write(&desk.hall, row).await;
}

fn presented(headers: &HeaderMap) -> Result<&str, Refused> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Err(Refused::unauthenticated("nobody is named who asks", false));
    };
    let token = value.to_str().ok().filter(|text| text.len() <= AUTHORIZATION_BYTES_MAX).and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        let token = token.trim();
        (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
    });
    let token = token.filter(|_| values.next().is_none());
    token.ok_or_else(|| Refused::unauthenticated("the Authorization header has no bearer token", true))
}

async fn by_token(desk: &Counter, headers: &HeaderMap, token: &str) -> Result<Principal, Refused> {
    let is_ours = looks_like_a_token(token);
    let member = member(desk, token, is_ours).await.map_err(|denied| match denied {
        Denied::Refused(why) => Refused::unauthenticated(&why, true),
        Denied::Unavailable(error) => error.into(),
    })?;
    let home = if is_ours { Some(desk.door.default_org.clone()) } else { member.org };
    let org = chosen(headers, home, member.roles.contains(&Role::Admin))?;
    let claimed =
        member.permissions.map(|texts| texts.iter().filter_map(|text| Permission::parse(text)).collect());
    let permissions: Vec<Permission> = claimed.unwrap_or_else(|| permissions_of(&member.roles));
    if permissions.is_empty() {
        return Err(Refused::forbidden(format!("{} may do nothing at this door", member.name))
            .hint("use a token with the role launcher"));
    }
    let by = if is_ours { By::Token } else { By::Bearer };
    let requester = Requester { org, account: None, user: member.name };
    Ok(Principal::new(requester, by, permissions.into()))
}

async fn member(desk: &Counter, token: &str, is_ours: bool) -> Result<Member, Denied> {
    if is_ours {
        let caller = identify_ours(&desk.hall, token).await?;
        return Ok(Member { name: caller.name, roles: vec![caller.role], org: None, permissions: None });
    }
    let unknown = || Denied::Refused("this token is not known here".into());
    let asked = desk.hall.bearers.as_ref().ok_or_else(unknown)?.member(token);
    let too_slow =
        |_| Err(Denied::Unavailable(engine::store::StoreError::Unavailable("it took too long".into())));
    timeout(desk.hall.settings.request_timeout, asked).await.unwrap_or_else(too_slow)
}

/// An admin may choose an organisation; everybody else has one, and may repeat its name.
fn chosen(headers: &HeaderMap, home: Option<String>, is_admin: bool) -> Result<String, Refused> {
    let mut values = headers.get_all(X_ORG_ID).iter();
    let wanted = values.next().map(|value| {
        let text = value.to_str().ok().filter(|text| is_org(text) && values.next().is_none());
        let rule = "it must have 1 to 64 letters, digits, `.`, `-` and `_`";
        text.ok_or_else(|| Refused::invalid(X_ORG_ID.as_str(), rule))
    });
    let home = home.filter(|home| is_org(home));
    match (wanted.transpose()?, home) {
        (Some(wanted), Some(home)) if wanted == home => Ok(home),
        (Some(wanted), _) if is_admin => Ok(wanted.to_owned()),
        (Some(_), _) => {
            let cause = "only an admin may act for another organisation";
            Err(Refused::forbidden(cause).field(X_ORG_ID.as_str()))
        }
        (None, Some(home)) => Ok(home),
        (None, None) => Err(Refused::forbidden("this token names no organisation")
            .hint("its issuer must put the id of the organisation into the claim that the settings name")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_admin_chooses_an_organisation() {
        let pick = |wanted: &str, home: Option<&str>, is_admin| {
            let headers = [(X_ORG_ID, wanted)].into_iter().filter(|(_, wanted)| !wanted.is_empty());
            let headers = headers.map(|(name, wanted)| (name, wanted.parse().unwrap())).collect();
            let picked = chosen(&headers, home.map(str::to_owned), is_admin);
            picked.map_err(|refused| refused.into_inner().status.as_u16())
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
