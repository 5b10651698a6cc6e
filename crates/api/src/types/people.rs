//! Users and sessions on the wire.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{Role, WireTime};

/// A password on its way. It does not show itself, and no error repeats it.
#[derive(Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, format = "password")]
pub struct Password(String);

impl Password {
    /// For the user who signs in.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<password>")
    }
}

impl From<Password> for SecretString {
    fn from(password: Password) -> SecretString {
        SecretString::from(password.0)
    }
}

impl From<&SecretString> for Password {
    fn from(secret: &SecretString) -> Password {
        Password(secret.expose_secret().to_owned())
    }
}

impl<'de> Deserialize<'de> for Password {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Password(text)),
            _ => Err(serde::de::Error::custom("a password is a text")),
        }
    }
}

/// A user with a password of ours. The password itself is nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct User {
    pub name: String,
    pub role: Role,
    /// What it may do beyond its role with some workflows, each as `submit:orders.*`: `read`, `operate` or `submit`, and
    /// the name of a workflow or what names begin with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!(["submit:orders.*", "read:orders.*"]))]
    pub grants: Vec<String>,
    pub created_at: WireTime,
    /// There were too many wrong passwords: none is good before then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked_until: Option<WireTime>,
}

/// By name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UserList {
    pub items: Vec<User>,
}

/// A user to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// 1 to 64 letters, digits, `.`, `-` and `_`; it appears in journals and in the audit log.
    pub name: String,
    /// Any but broker, which is for platforms.
    pub role: Role,
    /// What it may do beyond its role with some workflows, each as `submit:orders.*`: `read`, `operate` or `submit`, and
    /// the name of a workflow or what names begin with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!(["submit:orders.*", "read:orders.*"]))]
    pub grants: Vec<String>,
    /// 12 to 128 characters. Without it one is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Password>,
}

/// A new user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedUser {
    pub name: String,
    pub role: Role,
    /// What it may do beyond its role with some workflows, each as `submit:orders.*`: `read`, `operate` or `submit`, and
    /// the name of a workflow or what names begin with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(example = json!(["submit:orders.*", "read:orders.*"]))]
    pub grants: Vec<String>,
    pub created_at: WireTime,
    /// The one that was made, this once. Keep it: it cannot be shown again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Password>,
}

/// What is to become of a user; what is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeUser {
    /// Any but broker, which is for platforms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// All of them, in place of those before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(["submit:orders.*"]))]
    pub grants: Option<Vec<String>>,
    /// 12 to 128 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Password>,
}

/// One's own password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangePassword {
    pub current: Password,
    /// 12 to 128 characters.
    pub new: Password,
}

/// The result of signing a user out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SignedOut {
    /// How many sessions ended.
    pub sessions: u64,
}

/// How a user proved who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    Password,
    /// An API token, typed in by a person.
    Token,
    /// An identity provider says so.
    Oidc,
}

/// A browser in which a user is signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// Names it, and opens nothing.
    #[schema(example = "ba7816bf8f01cfea")]
    pub id: String,
    pub user: String,
    /// The highest one. A guest of an issuer may have permissions alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    pub proof: Proof,
    /// The organisation that an identity provider named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org: Option<String>,
    pub created_at: WireTime,
    /// When it was last used.
    pub seen_at: WireTime,
    pub expires_at: WireTime,
    /// The browser that it was begun with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schema(example = "Firefox on Linux")]
    pub device: String,
    /// The address that it was begun from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub address: String,
}

/// Newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionList {
    pub items: Vec<Session>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_in_neither_debug_nor_an_error() {
        let body = r#"{"name": "ann", "role": "reader", "password": "correct horse"}"#;
        let new: NewUser = serde_json::from_str(body).unwrap();
        assert_eq!(new.password.as_ref().map(Password::reveal), Some("correct horse"));
        assert!(!format!("{new:?}").contains("horse"), "{new:?}");
        for wrong in ["123456789012", "[\"secret-word\"]", "{\"secret-word\": 1}", "true"] {
            let body = format!(r#"{{"current": {wrong}, "new": ""}}"#);
            let error = serde_json::from_str::<ChangePassword>(&body).unwrap_err().to_string();
            assert!(error.starts_with("a password is a text"), "{error}");
            assert!(!error.contains("secret-word") && !error.contains("123456"), "{error}");
        }
    }
}
