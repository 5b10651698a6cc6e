//! Who asks: a user of OpenNebula. This API only reads who it claims to be; OpenNebula decides.

use crate::model::NebulaCredentials;
use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use engine::Capability;

use super::{ServerlessShared, ServerlessState, error};
use server::http::Failure;
use server::principal::Principal;

/// A header that is longer holds no user and no password of OpenNebula.
const HEADER_BYTES_MAX: usize = 8 * 1024;

/// What a request shows to be let in. It is not checked yet.
pub(crate) struct BasicClaim(pub(crate) NebulaCredentials);

impl FromRequestParts<ServerlessState> for BasicClaim {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, shared: &ServerlessState) -> Result<BasicClaim, Failure> {
        match parts.extensions.get::<Principal>() {
            Some(principal) => lent(shared, principal, &parts.method).map(BasicClaim),
            None => claimed(&parts.headers).map(BasicClaim),
        }
    }
}

/// A user of ours is unknown in OpenNebula: they get the steward's name there, for what their role allows.
fn lent(shared: &ServerlessShared, who: &Principal, method: &Method) -> Result<NebulaCredentials, Failure> {
    let needed = if method.is_safe() { Capability::Read } else { Capability::Administer };
    if !who.can(needed) {
        return Err(error::role(needed.role(), who.role()));
    }
    shared.api_parts.all_users.clone().ok_or_else(error::no_all_users)
}

pub(crate) fn claimed(headers: &HeaderMap) -> Result<NebulaCredentials, Failure> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Err(error::authentication_required()) };
    if values.next().is_some() {
        return Err(error::unsupported_scheme());
    }
    let text = value.to_str().ok().filter(|text| text.len() <= HEADER_BYTES_MAX);
    let (scheme, payload) =
        text.and_then(|text| text.split_once(' ')).ok_or_else(error::unsupported_scheme)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(error::unsupported_scheme());
    }
    // The reason is not told: it could say something about the password.
    NebulaCredentials::from_basic(payload.trim()).map_err(|_| error::unsupported_scheme())
}

#[cfg(test)]
mod tests {
    use api::{Cognit, Format as _};
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    #[track_caller]
    fn check(values: &[&str], expect: Result<&str, &str>) {
        let headers = values.iter().map(|value| (AUTHORIZATION, value.parse().unwrap()));
        let headers = headers.fold(HeaderMap::new(), |mut all, (name, value)| {
            all.append(name, value);
            all
        });
        let found = claimed(&headers);
        let found = found
            .as_ref()
            .map(|found| found.user.clone())
            .map_err(|failure| failure.clone().into_error(error::fault));
        match (&found, expect) {
            (Ok(user), Ok(expected)) => assert_eq!(user, expected),
            (Err(refused), Err(expected)) => {
                assert_eq!(refused.title, expected, "{values:?}");
                let told = String::from_utf8(Cognit.write(refused)).unwrap();
                let parts = values.iter().flat_map(|value| value.split(' ')).filter(|part| part.len() > 5);
                assert!(parts.into_iter().all(|part| !told.contains(part)), "{told} repeats {values:?}");
            }
            _ => panic!("{values:?}: {found:?}"),
        }
    }

    #[test]
    fn credentials_are_read_or_refused_without_a_word_about_them() {
        let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
        let unsupported = Err("Unsupported authentication scheme");
        check(&[&basic("cognit:cognitpass")], Ok("cognit"));
        check(&[&basic("cognit:pass:word")], Ok("cognit"));
        check(&[&basic("cognit:pass").replace("Basic", "basic")], Ok("cognit"));
        check(&[], Err("Authentication required"));
        check(&[&basic("a:b"), &basic("a:b")], unsupported);
        for bad in [
            "",
            "Basic",
            "Basic ",
            "Basic !!!",
            "Bearer abcdefghi",
            "Digest username=\"hunter2\"",
            "Basic \t",
        ] {
            check(&[bad], unsupported);
        }
        for bad in [":", "", "cognit", "cognit:", ":cognitpass", "a b:c", "cognit:pass word"] {
            check(&[&basic(bad)], unsupported);
        }
        check(&[&format!("Basic {}", "QUFB".repeat(HEADER_BYTES_MAX))], unsupported);
    }
}
