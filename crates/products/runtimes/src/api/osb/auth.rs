//! Authentication at the broker: the name of a token as user and the token as password, or the token alone.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::secret::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;
use tracing::{info, warn};

use super::error;
use server::AppState;
use server::auth::{AuthError, principal_of};
use server::http::Failure;
use server::principal::Principal;

/// A header that is longer holds no credentials of ours, and an identity provider's tokens are shorter too.
const HEADER_BYTES_MAX: usize = 16 * 1024;

/// What a request shows to be let in.
struct BasicCredentials {
    /// `None` for a bearer token.
    user: Option<String>,
    token: SecretString,
}

/// Answers who it is. What they may do is another question.
pub(crate) async fn authenticate(app: &AppState, headers: &HeaderMap) -> Result<Principal, Failure> {
    let Some(credentials) = presented(headers) else {
        info!("request rejected: no readable credentials");
        return Err(error::unauthenticated());
    };
    let token = credentials.token.expose_secret();
    let caller = principal_of(app, token).await.map_err(|denied| match denied {
        AuthError::Refused(why) => {
            info!(user = shown(credentials.user.as_deref()), why, "request rejected: invalid credentials");
            error::unauthenticated()
        }
        AuthError::Unavailable(error) => error.into(),
    })?;
    let is_named = credentials.user.as_ref();
    if is_named.is_some_and(|user| !bool::from(user.as_bytes().ct_eq(caller.name.as_bytes()))) {
        warn!(
            user = shown(credentials.user.as_deref()),
            "request rejected: the token belongs to another name"
        );
        return Err(error::unauthenticated());
    }
    Ok(caller)
}

fn presented(headers: &HeaderMap) -> Option<BasicCredentials> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let text = values.next()?.to_str().ok().filter(|text| text.len() <= HEADER_BYTES_MAX)?;
    if values.next().is_some() {
        return None;
    }
    let (scheme, rest) = text.split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        let token = SecretString::from(rest);
        return (!rest.is_empty()).then_some(BasicCredentials { user: None, token });
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(rest).ok()?).ok()?;
    let (user, password) = decoded.split_once(':')?;
    Some(BasicCredentials { user: Some(user.to_owned()), token: SecretString::from(password) })
}

/// Names that could be those of a token. Anything else may be a password in the wrong place.
fn shown(user: Option<&str>) -> &str {
    let is_name = |user: &&str| {
        user.len() <= 64 && user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    user.map_or("(bearer)", |user| Some(user).filter(is_name).unwrap_or("(not a name)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Option<(Option<String>, String)> {
        let headers = HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())]);
        presented(&headers).map(|found| (found.user, found.token.expose_secret().to_owned()))
    }

    #[test]
    fn credentials_are_read_from_both_schemes() {
        let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
        assert_eq!(read(&basic("cf:pe_1")), Some((Some("cf".into()), "pe_1".into())));
        assert_eq!(read(&basic("cf:a:b")), Some((Some("cf".into()), "a:b".into())));
        assert_eq!(read("bearer pe_1"), Some((None, "pe_1".into())));
        for bad in ["", "Basic", "Basic !!!", "Bearer ", "Digest x", &basic("nocolon"), &basic("")] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(read(&format!("Bearer {}", "a".repeat(HEADER_BYTES_MAX))), None);
        let twice =
            [(AUTHORIZATION, "Bearer a".parse().unwrap()), (AUTHORIZATION, "Bearer b".parse().unwrap())];
        assert!(
            presented(&twice.into_iter().fold(HeaderMap::new(), |mut all, (name, value)| {
                all.append(name, value);
                all
            }))
            .is_none()
        );
    }

    #[test]
    fn a_password_in_the_place_of_the_name_is_not_shown() {
        assert_eq!(shown(Some("cf-1")), "cf-1");
        assert_eq!(shown(Some("hunter 2!")), "(not a name)");
        assert_eq!(shown(None), "(bearer)");
    }
}
