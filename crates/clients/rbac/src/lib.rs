//! RBAC: the permissions of a user, as `application:resource:verb`.

use std::time::Duration;

use api::Permission;
use http_client::{DriverError, ExternalSystem};
use identity::IdentityService;
use reqwest::Method;
use serde::Deserialize;
use serde::de::IgnoredAny;

const SYSTEM: ExternalSystem = ExternalSystem("rbac");
const APPLICATION: &str = "provisioning";
const PAGE: usize = 500;
/// What stands on later pages is not granted: too few rights are better than too many.
const PAGES_MAX: usize = 10;

/// One client, and so one pool of connections, for all calls.
#[derive(Debug, Clone)]
pub struct Rbac {
    service: IdentityService,
}

#[derive(Deserialize)]
struct AccessPage {
    data: Vec<GrantedPermissions>,
}

#[derive(Deserialize)]
struct GrantedPermissions {
    permission: String,
    /// The single objects that the grant is limited to. This server cannot tell which of its things they are, so that
    /// such a grant is none.
    #[serde(default, rename = "resourceDefinitions")]
    limits: Option<Vec<IgnoredAny>>,
}

impl GrantedPermissions {
    fn permission(&self) -> Option<Permission> {
        let is_limited = self.limits.as_ref().is_some_and(|limits| !limits.is_empty());
        if is_limited { None } else { Permission::parse(&self.permission) }
    }
}

impl Rbac {
    /// `url` ends with the version of the API, such as `/api/rbac/v1`. `timeout` limits connecting, and then every
    /// silence of the external system.
    pub fn new(url: &str, timeout: Duration) -> Result<Self, DriverError> {
        Ok(Rbac { service: IdentityService::new(SYSTEM, url, timeout)? })
    }

    /// What the caller with this identity header may do. What cannot be read as a permission is none.
    pub async fn permissions(&self, identity_header: &str) -> Result<Vec<Permission>, DriverError> {
        let mut permissions = Vec::new();
        for page in 0..PAGES_MAX {
            let call = self.service.forward(Method::GET, &["access", ""], identity_header)?;
            let call = call
                .query(&[("application", APPLICATION)])
                .query(&[("limit", PAGE), ("offset", page * PAGE)]);
            let AccessPage { data } = self.service.ask(call).await?.json("a list of permissions")?;
            let is_last = data.len() < PAGE;
            permissions.extend(data.iter().filter_map(GrantedPermissions::permission));
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
