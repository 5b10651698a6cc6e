//! The credentials of a call.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use engine::secret::{ExposeSecret, SecretString};

const USER_CHARS_MAX: usize = 128;
/// A login token has 64, and what a driver for another directory takes is not much longer.
const SECRET_BYTES_MAX: usize = 4096;

/// A user of OpenNebula and a password or a login token.
#[derive(Clone)]
pub struct NebulaCredentials {
    pub user: String,
    secret: SecretString,
}

/// Why something cannot be credentials. Says nothing about what they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadCredentials {
    #[error("the credentials are not base64 of user:password")]
    NotAPair,
    #[error("the user name must have 1 to {USER_CHARS_MAX} characters, and no blank and no colon in them")]
    User,
    #[error("the password must not be empty, and must have no white space")]
    Secret,
}

impl NebulaCredentials {
    /// Refuses what `oned` could read in another way than it was meant.
    pub fn new(user: impl Into<String>, secret: SecretString) -> Result<NebulaCredentials, BadCredentials> {
        let user = user.into();
        let length = user.chars().count();
        if !(1..=USER_CHARS_MAX).contains(&length) || user.chars().any(|c| c == ':' || is_white(c)) {
            return Err(BadCredentials::User);
        }
        let text = secret.expose_secret();
        if !(1..=SECRET_BYTES_MAX).contains(&text.len()) || text.chars().any(is_white) {
            return Err(BadCredentials::Secret);
        }
        Ok(NebulaCredentials { user, secret })
    }

    /// From what stands after `Basic` in a header. A password may have colons.
    pub fn from_basic(payload: &str) -> Result<NebulaCredentials, BadCredentials> {
        let payload = payload.trim();
        // The pair can be longer than its parts may be, but not by much.
        if payload.len() > 2 * (SECRET_BYTES_MAX + 4 * USER_CHARS_MAX) {
            return Err(BadCredentials::NotAPair);
        }
        let bytes = STANDARD.decode(payload).or_else(|_| STANDARD_NO_PAD.decode(payload));
        let text = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
        NebulaCredentials::parse(&SecretString::from(text.ok_or(BadCredentials::NotAPair)?))
    }

    /// Reads what `text` gave.
    pub fn parse(text: &SecretString) -> Result<NebulaCredentials, BadCredentials> {
        let (user, secret) = text.expose_secret().split_once(':').ok_or(BadCredentials::NotAPair)?;
        NebulaCredentials::new(user, SecretString::from(secret))
    }

    /// The first parameter of every call to `oned`.
    pub fn session(&self) -> SecretString {
        SecretString::from(format!("{}:{}", self.user, self.secret.expose_secret()))
    }

    /// One text for both, to be sealed.
    pub fn text(&self) -> SecretString {
        self.session()
    }

    pub fn secret(&self) -> &SecretString {
        &self.secret
    }
}

impl fmt::Debug for NebulaCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

fn is_white(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> SecretString {
        SecretString::from(text)
    }

    #[test]
    fn a_password_keeps_its_colons() {
        let credentials = NebulaCredentials::from_basic(&STANDARD.encode("cognit:a:b:")).unwrap();
        assert_eq!(credentials.user, "cognit");
        assert_eq!(credentials.secret().expose_secret(), "a:b:");
        assert_eq!(credentials.session().expose_secret(), "cognit:a:b:");
    }

    #[test]
    fn what_was_sealed_is_read_back() {
        let credentials = NebulaCredentials::new("cognit", secret("a:b")).unwrap();
        let again = NebulaCredentials::parse(&credentials.text()).unwrap();
        assert_eq!((again.user.as_str(), again.secret().expose_secret()), ("cognit", "a:b"));
    }

    #[test]
    fn a_pair_with_an_empty_half_is_refused() {
        assert_eq!(NebulaCredentials::from_basic("Og==").unwrap_err(), BadCredentials::User);
        assert_eq!(NebulaCredentials::from_basic(&STANDARD.encode(":p")).unwrap_err(), BadCredentials::User);
        assert_eq!(
            NebulaCredentials::from_basic(&STANDARD.encode("u:")).unwrap_err(),
            BadCredentials::Secret
        );
        for nothing in ["", "%%%", "Y29nbml0", "/////w=="] {
            assert_eq!(
                NebulaCredentials::from_basic(nothing).unwrap_err(),
                BadCredentials::NotAPair,
                "{nothing}"
            );
        }
    }

    #[test]
    fn what_oned_would_split_in_another_place_is_refused() {
        for user in ["", "a b", "a:b", "a\n", &"x".repeat(129)] {
            assert_eq!(
                NebulaCredentials::new(user, secret("p")).unwrap_err(),
                BadCredentials::User,
                "{user:?}"
            );
        }
        for text in ["", "a b", "a\tb", "a\u{0}", &"x".repeat(SECRET_BYTES_MAX + 1)] {
            assert_eq!(
                NebulaCredentials::new("u", secret(text)).unwrap_err(),
                BadCredentials::Secret,
                "{text:?}"
            );
        }
    }

    #[test]
    fn no_one_prints_a_password() {
        let credentials = NebulaCredentials::new("cognit", secret("hush-hush")).unwrap();
        let shown = format!("{credentials:?}");
        assert!(shown.contains("cognit") && !shown.contains("hush"), "{shown}");
    }
}
