//! RBAC: what a person may do, in words of three parts.

use std::fmt;
use std::time::Duration;

use http_client::{DriverError, System};
use identity::Service;
use reqwest::Method;
use serde::Deserialize;
use serde::de::IgnoredAny;

const SYSTEM: System = System("rbac");
const APPLICATION: &str = "provisioning";
const ANY: &str = "*";
const PAGE: usize = 500;
/// What stands on later pages is not granted: too few rights are better than too many.
const PAGES_MAX: usize = 10;
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

    /// Whether this alone lets somebody do it. Rights of other applications are rights there only.
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

/// One client, and so one pool of connections, for all calls.
#[derive(Debug, Clone)]
pub struct Rbac {
    service: Service,
}

#[derive(Deserialize)]
struct Page {
    data: Vec<Granted>,
}

#[derive(Deserialize)]
struct Granted {
    permission: String,
    /// The single objects that the grant is limited to. This server cannot tell which of its things they are, so that
    /// such a grant is none.
    #[serde(default, rename = "resourceDefinitions")]
    limits: Option<Vec<IgnoredAny>>,
}

impl Granted {
    fn permission(&self) -> Option<Permission> {
        let is_limited = self.limits.as_ref().is_some_and(|limits| !limits.is_empty());
        if is_limited { None } else { Permission::parse(&self.permission) }
    }
}

impl Rbac {
    /// `url` ends with the version of the API, such as `/api/rbac/v1`. `timeout` limits connecting, and then every
    /// silence of the far side.
    pub fn new(url: &str, timeout: Duration) -> Result<Self, DriverError> {
        Ok(Rbac { service: Service::new(SYSTEM, url, timeout)? })
    }

    /// What the caller with this identity header may do. What cannot be read as a permission is none.
    pub async fn permissions(&self, identity_header: &str) -> Result<Vec<Permission>, DriverError> {
        let mut permissions = Vec::new();
        for page in 0..PAGES_MAX {
            let call = self.service.forward(Method::GET, &["access", ""], identity_header)?;
            let call = call
                .query(&[("application", APPLICATION)])
                .query(&[("limit", PAGE), ("offset", page * PAGE)]);
            let Page { data } = self.service.ask(call).await?.json("a list of permissions")?;
            let is_last = data.len() < PAGE;
            permissions.extend(data.iter().filter_map(Granted::permission));
            if is_last {
                break;
            }
        }
        Ok(permissions)
    }

    /// Whether it takes calls at all. Changes nothing.
    pub async fn ready(&self, identity_header: &str) -> Result<(), DriverError> {
        let call = self.service.forward(Method::GET, &["status", ""], identity_header)?;
        self.service.ask(call).await.map(|_| ())
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
