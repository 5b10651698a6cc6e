//! Which passwords are good enough, and how one is made.

use std::ops::RangeInclusive;

use api::Code;
use engine::secret::{ExposeSecret, SecretString};

use crate::http::Failure;

const CHARS: RangeInclusive<usize> = 12..=128;

/// What many people choose who must choose something long.
const COMMON: [&str; 25] = [
    "000000000000",
    "111111111111",
    "123123123123",
    "123456789012",
    "1234567890123",
    "123456789123",
    "1q2w3e4r5t6y",
    "1qaz2wsx3edc",
    "abcdefghijkl",
    "administrator",
    "administrator1",
    "changeme1234",
    "changemechangeme",
    "correcthorsebatterystaple",
    "iloveyou1234",
    "letmein12345",
    "password1234",
    "password12345",
    "passwordpassword",
    "provision-engine",
    "provisionengine",
    "qwerty123456",
    "qwertyuiop12",
    "qwertyuiop123",
    "welcome12345",
];

/// Letters and digits that are not mistaken for one another, read aloud or on paper.
const READABLE: &[u8; 31] = b"abcdefghjkmnpqrstuvwxyz23456789";
const GROUPS: usize = 4;
const GROUP_CHARS: usize = 5;

/// `field` is where the request has it.
pub(super) fn check(field: &str, password: &SecretString, name: &str) -> Result<(), Failure> {
    let weakness = weakness(password.expose_secret(), name);
    weakness.map_or(Ok(()), |why| {
        Err(Failure::new(Code::WeakPassword, format!("{field}: {why}")).with("field", field))
    })
}

/// Whether it can be one at all; so much is hashed and no more.
pub(super) fn is_possible(password: &SecretString) -> bool {
    password.expose_secret().chars().take(CHARS.end() + 1).count() <= *CHARS.end()
}

fn weakness(password: &str, name: &str) -> Option<String> {
    let lower = password.to_lowercase();
    let is_one_character =
        |text: &str| text.chars().next().is_none_or(|first| text.chars().all(|c| c == first));
    if !CHARS.contains(&password.chars().count()) {
        Some(format!("a password has {} to {} characters", CHARS.start(), CHARS.end()))
    } else if lower == name.to_lowercase() {
        Some("a password is not the name of its user".to_owned())
    } else if is_one_character(&lower) || COMMON.contains(&lower.as_str()) {
        Some("this password is one that many people choose; choose another one".to_owned())
    } else {
        None
    }
}

/// Four groups of five characters, about 99 random bits.
pub(super) fn made() -> SecretString {
    let character = |_| char::from(READABLE[rand::random_range(0..READABLE.len())]);
    let group = |_| (0..GROUP_CHARS).map(character).collect::<String>();
    SecretString::from((0..GROUPS).map(group).collect::<Vec<_>>().join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_weakness(password: &str, expect: Option<&str>) {
        let found = weakness(password, "Someone.Somewhere");
        assert_eq!(found.is_some(), expect.is_some(), "{password:?}: {found:?}");
        assert!(found.unwrap_or_default().contains(expect.unwrap_or_default()), "{password:?}");
    }

    #[test]
    fn what_is_short_long_or_easy_to_guess_is_weak() {
        check_weakness("elevenchars", Some("12 to 128"));
        check_weakness("twelve chars", None);
        check_weakness("äöüäöüäöüäöü", None);
        check_weakness(&"ab".repeat(64), None);
        check_weakness(&"ab".repeat(65), Some("12 to 128"));
        check_weakness("", Some("12 to 128"));
        check_weakness("someone.SOMEWHERE", Some("name"));
        check_weakness("PasswordPassword", Some("many people"));
        check_weakness("zzzzzzzzzzzzzzz", Some("many people"));
    }

    #[test]
    fn a_made_password_is_readable_and_strong() {
        let (one, other) = (made(), made());
        let text = one.expose_secret();
        assert_ne!(text, other.expose_secret());
        let groups: Vec<&str> = text.split('-').collect();
        assert!(groups.len() == GROUPS && groups.iter().all(|group| group.len() == GROUP_CHARS), "{text}");
        assert!(!text.contains(['0', 'o', '1', 'l', 'i']), "{text}");
        assert_eq!(weakness(text, "admin"), None);
    }

    #[test]
    fn what_is_too_long_is_not_hashed() {
        assert!(is_possible(&SecretString::from("ä".repeat(128))));
        assert!(!is_possible(&SecretString::from("a".repeat(129))));
    }
}
