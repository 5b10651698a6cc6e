//! The user of the credentials, and login tokens.

use std::time::Duration;

use engine::secret::SecretString;
use xml::Element;

use super::super::xmlrpc::{Param, XmlRpcValue};
use super::super::{NebulaCredentials, NebulaError, OpenNebula};
use super::ONED;
use super::client::Method;
use super::object::{named, number, text};

const VERSION: Method = Method::read("one.system.version", "asks for the version");
const INFO: Method = Method::read("one.user.info", "asks who it is");
const LOGIN: Method = Method::write("one.user.login", "asks for a login token");

/// The user that asks.
const MYSELF: i32 = -1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NebulaUser {
    pub id: i32,
    pub name: String,
    pub gid: i32,
    pub gname: String,
}

impl OpenNebula {
    pub async fn version(&self, who: &NebulaCredentials) -> Result<String, NebulaError> {
        match self.oned.call(who, VERSION, &[]).await? {
            XmlRpcValue::Text(version) => Ok(version),
            _ => Err(NebulaError::broken(ONED, "its version is no text")),
        }
    }

    /// The caller. This is also the cheapest way to learn whether a password is right.
    pub async fn user(&self, who: &NebulaCredentials) -> Result<NebulaUser, NebulaError> {
        let params = [Param::Integer(MYSELF), Param::Boolean(false)];
        read_user(&self.oned.element(who, INFO, &params).await?)
    }

    /// A new token that works in place of the password for that long.
    pub async fn login(&self, who: &NebulaCredentials, valid: Duration) -> Result<SecretString, NebulaError> {
        // Zero would take the tokens away, and a negative number would never expire.
        let seconds = i32::try_from(valid.as_secs()).unwrap_or(i32::MAX).max(1);
        let params = [Param::Text(&who.user), Param::Text(""), Param::Integer(seconds)];
        match self.oned.call(who, LOGIN, &params).await? {
            XmlRpcValue::Text(token) if !token.is_empty() => Ok(SecretString::from(token)),
            _ => Err(NebulaError::broken(ONED, "it gave no token")),
        }
    }
}

fn read_user(element: &Element) -> Result<NebulaUser, NebulaError> {
    let user = named(element, "USER")?;
    Ok(NebulaUser {
        id: number(user, "ID")?,
        name: text(user, "NAME"),
        gid: number(user, "GID")?,
        gname: text(user, "GNAME"),
    })
}
