//! The external id that the engine sends when it takes a role. A trust policy that demands it keeps one organisation
//! from having the engine take the role of another.

use engine::secret::{ExposeSecret, SecretString};

use super::{Access, Account, Category, CloudError};

/// External ids that begin like this are derived from the organisation and never taken from what a tenant wrote.
pub const EXTERNAL_ID_PREFIX: &str = "provision-engine:";

const FOREIGN: &str = "ForeignExternalId";

/// The external id for a role of this organisation: what the source says, or the organisation's own.
pub fn external_id(org: &str, given: Option<&SecretString>) -> Result<SecretString, CloudError> {
    let own = format!("{EXTERNAL_ID_PREFIX}{org}");
    let Some(given) = given.filter(|given| !given.expose_secret().is_empty()) else { return Ok(own.into()) };
    let text = given.expose_secret();
    // A trust policy may ignore the case (StringEqualsIgnoreCase).
    let is_reserved = text
        .get(..EXTERNAL_ID_PREFIX.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(EXTERNAL_ID_PREFIX));
    if is_reserved && text != own {
        let message = format!(
            "the external id of the source begins with {EXTERNAL_ID_PREFIX} and is not the one of this \
             organisation: remove it from the source"
        );
        return Err(CloudError::new(Category::Permission, FOREIGN, message));
    }
    Ok(given.clone())
}

impl Account {
    /// The role of the account with the external id to take it with. `None` where no role leads there.
    pub fn role(&self) -> Result<Option<(&str, SecretString)>, CloudError> {
        let Access::Role { arn, external_id: given } = &self.access else { return Ok(None) };
        Ok(Some((arn, external_id(&self.org, given.as_ref())?)))
    }
}
