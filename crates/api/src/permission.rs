//! `application:resource:verb`: what an identity provider or a permission service grants.

use std::fmt;

const APPLICATION: &str = "provisioning";
const ANY: &str = "*";
const PART_CHARS_MAX: usize = 128;

/// A right to do something with a kind of thing; a star stands for all.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Permission {
    pub application: String,
    pub resource: String,
    pub verb: String,
}

impl Permission {
    /// Reads `application:resource:verb`.
    pub fn parse(text: &str) -> Option<Permission> {
        let mut parts = text.split(':');
        let (application, resource, verb) = (part(parts.next())?, part(parts.next())?, part(parts.next())?);
        parts.next().is_none().then_some(Permission { application, resource, verb })
    }

    /// Whether this alone allows it. A permission of another application allows nothing here.
    pub fn allows(&self, resource: &str, verb: &str) -> bool {
        let covers = |mine: &str, asked: &str| mine == ANY || mine == asked;
        self.application == APPLICATION && covers(&self.resource, resource) && covers(&self.verb, verb)
    }
}

fn part(text: Option<&str>) -> Option<String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"*._-".contains(&byte);
    text.filter(|text| (1..=PART_CHARS_MAX).contains(&text.len()) && text.bytes().all(is_part))
        .map(str::to_owned)
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.application, self.resource, self.verb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_every_part_but_the_application() {
        for (text, resource, verb, is_allowed) in [
            ("provisioning:pubkey:read", "pubkey", "read", true),
            ("provisioning:pubkey:read", "pubkey", "write", false),
            ("provisioning:pubkey:read", "reservation", "read", false),
            ("provisioning:pubkey:*", "pubkey", "write", true),
            ("provisioning:*:read", "reservation.aws", "read", true),
            ("provisioning:*:read", "reservation.aws", "write", false),
            ("provisioning:*:*", "reservation.aws", "write", true),
            ("provisioning:reservation:write", "reservation.aws", "write", false),
            ("inventory:*:*", "pubkey", "read", false),
            ("*:*:*", "pubkey", "read", false),
        ] {
            let permission = Permission::parse(text).unwrap();
            assert_eq!(permission.to_string(), text);
            assert_eq!(permission.allows(resource, verb), is_allowed, "{text} for {resource}:{verb}");
        }
    }

    #[test]
    fn what_has_not_three_clean_parts_is_no_permission() {
        let long = format!("provisioning:{}:read", "x".repeat(PART_CHARS_MAX + 1));
        for text in [
            "",
            "provisioning",
            "provisioning:pubkey",
            "a:b:c:d",
            "::",
            "provisioning: :read",
            "a:b\n:c",
            &long,
        ] {
            assert_eq!(Permission::parse(text), None, "{text:?}");
        }
    }
}
